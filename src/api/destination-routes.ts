/** Routes of an event destination beyond its resource: send a test event, get the delivery status. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { WeirError } from '../core/errors.js'
import { pluralOf } from '../core/plural.js'
import { anyResource, type Row } from '../resource/define.js'
import { deliveryStatusSchema, testEventSchema } from '../resource/delivery-status.js'
import { eventDestination } from '../resource/event-destination.js'
import { type ApiContext, queryOf, requestBody, rowAt, sendJson } from './context.js'
import { checkNames } from './input.js'
import { describe, idempotencyHeaders, routePath } from './openapi.js'
import { actionHandler } from './write-handlers.js'

const destination = anyResource(eventDestination)

export interface DestinationOperations {
  /** Sends an event of the type `test.v0`; the reason if the destination did not accept it in time. */
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
  const rowFor = (request: FastifyRequest): Row => rowAt(context, request, destination)
  const testing = describe({
    operationId: 'send_test_event',
    summary: 'Send a test event to an event destination',
    tag,
    path: single,
    success: [200, testEventSchema],
    headers: idempotencyHeaders,
  })
  const status = describe({
    operationId: 'get_event_destination_status',
    summary: 'Get the delivery status of an event destination',
    tag,
    path: single,
    success: [200, deliveryStatusSchema],
  })

  const sendTestEvent = actionHandler(context, async (request) => {
    const row = rowFor(request)
    checkNames(requestBody(request), [], 'test event')
    const sent = await operations.sendTestEvent(row)
    if ('refusal' in sent) throw new WeirError('ERR_DESTINATION_REFUSED', asSentence(sent.refusal))
    return { status: 200, body: { event_id: sent.eventId } }
  })
  app.post(`${single}/send_test_event`, testing, sendTestEvent)

  app.get(`${single}/status`, status, async (request, reply) => {
    queryOf(request)
    return sendJson(reply, await operations.status(rowFor(request)))
  })
}

/** Reasons from AWS can contain line breaks, and may or may not end with a full stop. */
const asSentence = (reason: string): string => `${reason.replaceAll(/\s+/g, ' ').replace(/[.\s]+$/, '')}.`
