/** A record and what became of it, as the API shows it. */
import { objectOf, oneOf, orNull, type Static, Type } from '../../ground/core/schema.js'
import { exampleId } from '../resource/kind/examples.js'
import { decisionSchema } from './decisions/decision.js'
import { loggedDecisionExample, loggedDecisionSchema } from './decisions/logged-decision.js'

const nullable = (description?: string) =>
  orNull(Type.String(), description === undefined ? {} : { description })

const deliveryStates = ['delivered', 'dead_lettered', 'retrying', 'pending', 'dropped', 'unknown'] as const

/** An event that fails for days has many; the last ones say what is wrong. */
export const requestsShownMax = 20

const deliveryRequest = objectOf(
  {
    at: Type.String({ description: 'When it was answered, or failed: RFC 3339 in UTC, with milliseconds.' }),
    took_ms: Type.Integer({ minimum: 0 }),
    outcome: oneOf(
      ['delivered', 'failed', 'dead_lettered'],
      'What became of the event: failed: it is sent again. dead_lettered: it was given up.',
    ),
    request_id: nullable("AWS's."),
    error: orNull(objectOf({ code: Type.String(), msg: Type.String() })),
  },
  { title: 'EventRequest' },
)

const delivery = objectOf(
  {
    destination_id: Type.String(),
    state: oneOf(
      deliveryStates,
      'retrying: it was sent, and will be sent again. pending: no attempt is in the log. dropped: its destination was deleted before. unknown: the log has only attempts that failed.',
    ),
    at: nullable('When that became known: RFC 3339 in UTC, with milliseconds.'),
    request_id: nullable("AWS's, of the last attempt."),
    receipt: nullable(
      'Of the first event that the request delivered. Kinesis: its sequence number. Firehose: its record id. S3: the key of its object. SQS and EventBridge: the id that they gave it.',
    ),
    shard: nullable('Kinesis: of that event.'),
    attempts: Type.Integer({ minimum: 0, description: 'Requests in the log that had the event.' }),
    last_error: orNull(objectOf({ at: Type.String(), code: Type.String(), msg: Type.String() }), {
      description: 'Why the last attempt that failed did, or why the event was given up.',
    }),
    requests: Type.Array(deliveryRequest, {
      maxItems: requestsShownMax,
      description: `The last ${requestsShownMax} requests in the log that had the event, newest first, and that it was given up.`,
    }),
  },
  { title: 'EventDelivery' },
)

const subscriptionId = Type.String({ description: 'The event subscription.' })
const eventType = Type.String({ description: 'The kind of the event.' })

const tracedEvent = objectOf(
  {
    id: Type.String(),
    type: eventType,
    subscription_id: subscriptionId,
    deliveries: Type.Array(delivery, { description: 'By destination.' }),
  },
  { title: 'TracedEvent' },
)

const publication = objectOf(
  {
    decision: loggedDecisionSchema,
    record: orNull(Type.Record(Type.String(), Type.Unknown()), {
      description: 'As it was published; null if it is no longer stored.',
    }),
    explained: orNull(decisionSchema, {
      description: 'What is decided about it with the configuration of that revision, and why.',
    }),
    events: orNull(Type.Array(tracedEvent), {
      description: 'Produced again, with the subscriptions of then.',
    }),
    filtered: Type.Array(objectOf({ type: eventType, subscription_id: subscriptionId }), {
      description: 'Sources of subscriptions whose filter made no event of it.',
    }),
    missing: nullable('Why something is null.'),
  },
  { title: 'PublishedRecord', description: 'A record that was published, and what became of it.' },
)

const question = objectOf(
  {
    decision: loggedDecisionSchema,
    explained: orNull(decisionSchema, {
      description:
        'What is decided with the configuration of that revision, and why: from the client, endpoint, edge and route of the question, which the log has.',
    }),
    missing: nullable('Why there is no explanation, or not the whole one.'),
  },
  { title: 'AskedDecision', description: 'A decision that an ingress node or a proxy asked for.' },
)

const [subscription, destination] = [exampleId('es_'), exampleId('ed_')]
const eventId = 'ev_9f2d1c0b8a7e6f5d4c3b2a190817263545f6e7d8c9b0a1f2'

export const tracedRecordSchema = objectOf(
  {
    record_id: Type.String(),
    publications: Type.Array(publication, { description: 'Newest first.' }),
    publications_left_out: Type.Boolean({
      description: 'Was it published more often? The others are in `GET /decisions?record_id=`.',
    }),
    asked: Type.Array(question, {
      description: 'Questions with this record id, newest first: asked before the connection was let in.',
    }),
    asked_left_out: Type.Boolean({ description: 'Was it asked more often?' }),
  },
  {
    title: 'TracedRecord',
    description: 'What was decided about a record, and what became of the events that it made.',
    examples: [
      {
        record_id: loggedDecisionExample.record_id,
        publications: [
          {
            decision: loggedDecisionExample,
            record: {
              record_id: loggedDecisionExample.record_id,
              type: 'tcp_connection',
              conn: { client_ip: '203.0.113.66', server_name: 'ssh.example.com', server_port: 22 },
            },
            explained: {
              decision: 'block',
              ip_policy: { decision: 'block', policy_ids: [exampleId('ipp_')] },
              policy: null,
              served: true,
              revision: 42,
              warnings: [],
            },
            events: [
              {
                id: eventId,
                type: 'tcp_connection_closed.v0',
                subscription_id: subscription,
                deliveries: [
                  {
                    destination_id: destination,
                    state: 'delivered',
                    at: '2026-11-20T10:00:00.911Z',
                    request_id: 'c0ffee00-1234-5678-9abc-def012345678',
                    receipt: '49590338271490256608559692538361571095921575989136588898',
                    shard: 'shardId-000000000001',
                    attempts: 1,
                    last_error: null,
                    requests: [
                      {
                        at: '2026-11-20T10:00:00.911Z',
                        took_ms: 31,
                        outcome: 'delivered',
                        request_id: 'c0ffee00-1234-5678-9abc-def012345678',
                        error: null,
                      },
                    ],
                  },
                ],
              },
            ],
            filtered: [],
            missing: null,
          },
        ],
        publications_left_out: false,
        asked: [],
        asked_left_out: false,
      },
    ],
  },
)

export type TracedRecord = Static<typeof tracedRecordSchema>
export type PublishedRecord = Static<typeof publication>
export type AskedDecision = Static<typeof question>
export type TracedEvent = Static<typeof tracedEvent>
export type EventDelivery = Static<typeof delivery>
export type EventRequest = Static<typeof deliveryRequest>
