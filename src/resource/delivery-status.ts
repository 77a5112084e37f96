/** What is told of delivery to an event destination, beyond its resource. */
import { type Static, Type } from '../core/schema.js'

const instant = Type.Union([Type.String({ format: 'date-time' }), Type.Null()])

export const deliveryStatusSchema = Type.Object(
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

export type DeliveryStatus = Static<typeof deliveryStatusSchema>

export const testEventSchema = Type.Object(
  { event_id: Type.String() },
  { description: 'The destination accepted the event.' },
)
