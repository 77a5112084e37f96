/** Members of `GET /live`, for those who watch a destination or dead letters. */

import { deadLetterTypes } from '../../delivery/wire/dead-letter.js'
import { objectOf, oneOf, orNull, type Static, Type } from '../../ground/core/schema.js'
import { exampleId } from '../resource/kind/examples.js'

const eventId = 'ev_9f2d1c0b8a7e6f5d4c3b2a190817263545f6e7d8c9b0a1f2'

const liveDeliveryExample = {
  at: '2026-11-20T10:00:00.911Z',
  destination_id: exampleId('ed_'),
  outcome: 'delivered',
  attempt: 1,
  request_id: 'c0ffee00-1234-5678-9abc-def012345678',
  error: null,
  event_id: eventId,
  event_type: 'tcp_connection_closed.v0',
  event_timestamp: '2026-11-20T10:00:00.250Z',
  event: {
    event_id: eventId,
    event_type: 'tcp_connection_closed.v0',
    event_timestamp: '2026-11-20T10:00:00.250Z',
    object: { conn: { client_ip: '203.0.113.66' } },
  },
}

/** An event as it is delivered, for those who watch a destination. */
export const liveDeliverySchema = objectOf(
  {
    at: Type.String({ description: 'When the request was answered: RFC 3339 in UTC, with milliseconds.' }),
    destination_id: Type.String(),
    outcome: oneOf(
      ['delivered', 'failed', 'dead_lettered'],
      'failed: it will be sent again, or given up. dead_lettered: it was given up.',
    ),
    attempt: Type.Integer({ minimum: 0 }),
    request_id: orNull(Type.String(), { description: "AWS's." }),
    error: orNull(objectOf({ code: Type.String(), msg: Type.String() })),
    event_id: Type.String(),
    event_type: Type.String({ description: 'The kind of the event.' }),
    event_timestamp: Type.String(),
    event: Type.Unknown({ description: 'The whole event, as it was sent.' }),
  },
  {
    title: 'LiveDelivery',
    description: 'An event that was sent to a destination, and the outcome.',
    examples: [liveDeliveryExample],
  },
)

export type LiveDelivery = Static<typeof liveDeliverySchema>

/** A dead letter as it arrives, as `GET /live?dead=true` shows it. */
export const liveDeadLetterSchema = objectOf(
  {
    at: Type.String({ description: 'When the API heard of it: RFC 3339 in UTC, with milliseconds.' }),
    kind: oneOf(deadLetterTypes),
    reason: Type.String(),
    sequence: orNull(Type.Integer(), {
      description: 'Of a record or an audit event: its message in `WEIR_RECORDS` or `WEIR_AUDIT_IN`.',
    }),
    line: orNull(Type.Integer(), { description: 'Of a record: its line in the message, from 1.' }),
    subject: orNull(Type.String(), { description: 'Of an audit event: where it was published.' }),
    destination_id: orNull(Type.String(), { description: 'Of an event.' }),
    event_id: orNull(Type.String()),
    text: Type.String({ description: 'The first 1,024 bytes, as UTF-8.' }),
    size: Type.Integer({ minimum: 0, description: 'Of the whole, in bytes.' }),
  },
  {
    title: 'LiveDeadLetter',
    description: 'A record, an event or an audit event of another service that was set aside, and why.',
    examples: [
      {
        at: '2026-11-20T10:00:00.911Z',
        kind: 'event',
        reason: 'ValidationException: The record is too large.',
        sequence: null,
        line: null,
        subject: null,
        destination_id: exampleId('ed_'),
        event_id: 'ev_9f2d1c0b8a7e6f5d4c3b2a190817263545f6e7d8c9b0a1f2',
        text: '{"event_id":"ev_9f2d1c0b8a7e6f5d4c3b2a190817263545f6e7d8c9b0a1f2"}',
        size: 66,
      },
    ],
  },
)

export type LiveDeadLetter = Static<typeof liveDeadLetterSchema>
