/** What an event destination has beyond its resource: a test event, and how its delivery stands. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { WeirError } from '../core/errors.js'
import { pluralOf } from '../core/plural.js'
import { Type } from '../core/schema.js'
import { anyResource, type Row } from '../resource/define.js'
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

const instant = Type.Union([Type.String({ format: 'date-time' }), Type.Null()])

const statusSchema = Type.Object(
  {
    state: Type.Enum(['healthy', 'throttled', 'failing', 'paused']),
    cause: Type.Union([Type.String(), Type.Null()]),
    since: instant,
    backlog: Type.Object({ events: Type.Integer(), oldest_at: instant }),
    last_success_at: instant,
    last_error: Type.Union([
      Type.Object({ at: Type.String(), code: Type.String(), msg: Type.String() }),
      Type.Null(),
    ]),
    counts: Type.Object({
      produced: Type.Integer(),
      filtered: Type.Integer(),
      delivered: Type.Integer(),
      dead_lettered: Type.Integer(),
      retried: Type.Integer(),
    }),
  },
  { description: 'How delivery stands.' },
)

const accepted = Type.Object(
  { event_id: Type.String() },
  { description: 'The destination accepted the event.' },
)

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
    success: [200, accepted],
    headers: idempotencyHeaders,
  })
  const telling = describe({
    operationId: 'get_event_destination_status',
    summary: 'Get how delivery to an event destination stands',
    tag,
    path: single,
    success: [200, statusSchema],
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
