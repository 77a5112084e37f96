/** Delivery status of an event destination; not part of the stored resource. */
import { dropReasons } from '../../delivery/books/dropped.js'
import type { FaultClass } from '../../delivery/outgoing/fault-class.js'
import { objectOf, orNull, type Static, Type } from '../../ground/core/schema.js'
import { operatorAction, operatorActionsSchema } from '../event/operator-actions.js'
import { exampleId } from '../resource/kind/examples.js'
import { billingExample, billingSchema } from './billing.js'

const count = Type.Integer({ minimum: 0 })

const instant = orNull(Type.String({ format: 'date-time' }))

const behindSchema = objectOf(
  {
    since: Type.String({ format: 'date-time' }),
    messages: Type.Integer({
      minimum: 1,
      description: 'Messages of records whose events it gets when it works again.',
    }),
    missed: Type.Integer({
      minimum: 0,
      description: 'Messages of records that were removed before it got their events.',
    }),
    expires_at: orNull(
      Type.String({
        format: 'date-time',
        description:
          'When the oldest of the messages is removed, or with on_expiry block publishes are refused, if nothing changes: an estimate.',
      }),
    ),
  },
  {
    title: 'BehindStatus',
    description:
      'Its backlog has filled its share of the storage, so later records wait for it; null if none do.',
  },
)

export type BehindStatus = Static<typeof behindSchema>

const deliveryStatusExample = {
  kind: 'kinesis',
  description: 'the audit trail',
  state: 'throttled',
  cause: 'throttle' satisfies FaultClass,
  advice:
    'The service accepts fewer events than there are. If the backlog grows, add shards or raise the quota, or let a filter keep events back. Weir sends as much as is accepted, and loses nothing.',
  actions: [],
  since: '2026-11-20T10:00:00.000Z',
  as_of: '2026-11-20T10:00:03.000Z',
  rate: 412.5,
  backlog: {
    events: 1200,
    oldest_at: '2026-11-20T09:59:58.000Z',
    expires_at: '2026-11-23T09:59:58.000Z',
  },
  dropped: [],
  behind: null,
  last_success_at: '2026-11-20T10:00:01.000Z',
  last_error: {
    at: '2026-11-20T10:00:02.000Z',
    code: 'ProvisionedThroughputExceededException',
    msg: 'Rate exceeded for shard shardId-000000000000.',
  },
  counts: { produced: 91_200, filtered: 310, delivered: 90_000, dead_lettered: 0, dropped: 0, retried: 2400 },
  billing: billingExample,
}

export const deliveryStatusSchema = objectOf(
  {
    kind: Type.String({ description: 'The kind of its target, such as `kinesis` or `http`.' }),
    description: orNull(Type.String()),
    state: Type.Enum(['healthy', 'throttled', 'failing', 'paused']),
    cause: orNull(Type.String()),
    advice: orNull(Type.String(), { description: 'What the cause means and what to do, for a person.' }),
    actions: operatorActionsSchema,
    since: instant,
    as_of: orNull(
      Type.String({
        format: 'date-time',
        description:
          'When a deliverer last reported the state: now, or earlier while deliverers are slow to answer; null if none ever did.',
      }),
    ),
    rate: orNull(Type.Number({ minimum: 0 }), {
      description:
        'Events that the service accepted per second over about the last minute, or since deliverers know the destination; null if no deliverer answers.',
    }),
    backlog: objectOf({
      events: count,
      oldest_at: instant,
      expires_at: orNull(
        Type.String({
          format: 'date-time',
          description:
            'When the oldest events are dropped for their age, unless the destination accepts them before; null if nothing waits, or with on_expiry block.',
        }),
      ),
    }),
    dropped: Type.Array(
      objectOf({
        type: Type.String({ description: 'The kind of these events.' }),
        reason: Type.Enum([...dropReasons], {
          description: 'age: older than the retention. vanished: their messages left WEIR_DELIVERIES.',
        }),
        events: count,
      }),
      { description: 'Events that were dropped, by type and reason.' },
    ),
    behind: orNull(behindSchema),
    last_success_at: instant,
    last_error: orNull(
      objectOf({ at: Type.String({ format: 'date-time' }), code: Type.String(), msg: Type.String() }),
    ),
    counts: objectOf({
      produced: count,
      filtered: count,
      delivered: count,
      dead_lettered: count,
      dropped: count,
      retried: count,
    }),
    billing: billingSchema,
  },
  {
    title: 'DeliveryStatus',
    description: 'State and counters of delivery.',
    examples: [deliveryStatusExample],
  },
)

export type DeliveryStatus = Static<typeof deliveryStatusSchema>

export const destinationStatusExample = {
  destination_id: exampleId('ed_'),
  description: 'the audit trail',
  status: deliveryStatusExample,
}

export const destinationStatusSchema = objectOf(
  {
    destination_id: Type.String(),
    description: orNull(Type.String()),
    status: deliveryStatusSchema,
  },
  { title: 'DestinationStatus' },
)

export type DestinationStatus = Static<typeof destinationStatusSchema>

export const destinationCheckSchema = objectOf(
  {
    result: Type.Enum(['passed', 'unproved', 'failed'], {
      description:
        'passed: the service would accept an event now. unproved: nothing is wrong, but the service proves the right to write only by a write, such as a test event. failed: events cannot be delivered.',
    }),
    proved: Type.Array(Type.String(), { description: 'Sentences about what works.' }),
    not_proved: Type.Array(Type.String(), { description: 'Sentences about what was not looked at.' }),
    error: orNull(objectOf({ code: Type.String(), msg: Type.String() })),
    advice: orNull(Type.String(), { description: 'What the error means and what to do, for a person.' }),
    actions: operatorActionsSchema,
  },
  {
    title: 'DestinationCheck',
    description: 'What the check proved.',
    examples: [
      {
        result: 'failed',
        proved: [],
        not_proved: [],
        error: {
          code: 'ResourceNotFoundException',
          msg: 'Stream events under account 123456789012 not found.',
        },
        advice:
          'The stream does not exist in this account and region. Create it, or correct the ARN. Weir tries again every 15 to 30 s and continues by itself.',
        actions: [operatorAction('edit_target', exampleId('ed_'))],
      },
    ],
  },
)

export type DestinationCheck = Static<typeof destinationCheckSchema>

export const testEventSchema = objectOf(
  { event_id: Type.String() },
  {
    title: 'TestEventAnswer',
    description: 'The destination accepted the event.',
    examples: [{ event_id: 'ev_01K0A1B2C3D4E5F6G7H8J9K0M1' }],
  },
)
