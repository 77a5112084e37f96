/** Delivery status of an event destination; not part of the stored resource. */
import { objectOf, orNull, type Static, Type } from '../core/schema.js'
import type { FaultClass } from '../deliver/destination.js'

const count = Type.Integer({ minimum: 0 })

const instant = orNull(Type.String({ format: 'date-time' }))

export const deliveryStatusSchema = objectOf(
  {
    state: Type.Enum(['healthy', 'throttled', 'failing', 'paused']),
    cause: orNull(Type.String()),
    since: instant,
    as_of: orNull(
      Type.String({
        format: 'date-time',
        description:
          'When a deliverer last reported the state: now, or earlier while deliverers are slow to answer; null if none ever did.',
      }),
    ),
    backlog: objectOf({ events: count, oldest_at: instant }),
    last_success_at: instant,
    last_error: orNull(
      objectOf({ at: Type.String({ format: 'date-time' }), code: Type.String(), msg: Type.String() }),
    ),
    counts: objectOf({
      produced: count,
      filtered: count,
      delivered: count,
      dead_lettered: count,
      retried: count,
    }),
  },
  {
    title: 'DeliveryStatus',
    description: 'State and counters of delivery.',
    examples: [
      {
        state: 'throttled',
        cause: 'throttle' satisfies FaultClass,
        since: '2026-11-20T10:00:00.000Z',
        as_of: '2026-11-20T10:00:03.000Z',
        backlog: { events: 1200, oldest_at: '2026-11-20T09:59:58.000Z' },
        last_success_at: '2026-11-20T10:00:01.000Z',
        last_error: {
          at: '2026-11-20T10:00:02.000Z',
          code: 'ProvisionedThroughputExceededException',
          msg: 'Rate exceeded for shard shardId-000000000000.',
        },
        counts: { produced: 91_200, filtered: 310, delivered: 90_000, dead_lettered: 0, retried: 2400 },
      },
    ],
  },
)

export type DeliveryStatus = Static<typeof deliveryStatusSchema>

export const testEventSchema = objectOf(
  { event_id: Type.String() },
  {
    title: 'TestEventAnswer',
    description: 'The destination accepted the event.',
    examples: [{ event_id: 'ev_01K0A1B2C3D4E5F6G7H8J9K0M1' }],
  },
)
