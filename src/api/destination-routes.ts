/** What an event destination has beyond its resource: a test event, and how its delivery stands. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { WeirError } from '../core/errors.js'
import { pluralOf } from '../core/plural.js'
import { anyResource, type Row } from '../resource/define.js'
import { deliveryStatusSchema, testEventSchema } from '../resource/delivery-status.js'
import { eventDestination } from '../resource/event-destination.js'
import { type ApiContext, bodyOf, json, pathParams, queryOf, rowAt } from './context.js'
import { checkNames } from './input.js'
import { describe, idempotencyHeaders, routePath } from './openapi.js'
import { acting } from './writing.js'

const destination = anyResource(eventDestination)

export interface DestinationOperations {
  /** Sends an event of the type `test.v0`; the reason where the destination did not accept it in time. */
  sendTestEvent(row: Row): Promise<{ eventId: string } | { refusal: string }>
  status(row: Row): Promise<object>
}

export function registerDestinationOperations(
  app: FastifyInstance,
  context: ApiContext,
  operations: DestinationOperations,
): void {
  const single = `${routePath(destination.path)}/:id`
  const tag = pluralOf(destination.title)
  const rowFor = (request: FastifyRequest): Row =>
    rowAt(context, request, destination, pathParams(request)['id'] ?? '')
  const testing = describe({
    operationId: 'send_test_event',
    summary: 'Send a test event to an event destination',
    tag,
    path: single,
    success: [200, testEventSchema],
    headers: idempotencyHeaders,
  })
  const telling = describe({
    operationId: 'get_event_destination_status',
    summary: 'Get how delivery to an event destination stands',
    tag,
    path: single,
    success: [200, deliveryStatusSchema],
  })

  const sendTestEvent = acting(context, async (request) => {
    const row = rowFor(request)
    checkNames(bodyOf(request), [], 'test event')
    const sent = await operations.sendTestEvent(row)
    if ('refusal' in sent) throw new WeirError('ERR_DESTINATION_REFUSED', asSentence(sent.refusal))
    return { status: 200, body: { event_id: sent.eventId } }
  })
  app.post(`${single}/send_test_event`, testing, sendTestEvent)

  app.get(`${single}/status`, telling, async (request, reply) => {
    queryOf(request)
    return reply.type(json).send(JSON.stringify(await operations.status(rowFor(request))))
  })
}

/** Reasons of AWS come with line breaks, and with a full stop or without. */
const asSentence = (reason: string): string => `${reason.replaceAll(/\s+/g, ' ').replace(/[.\s]+$/, '')}.`
