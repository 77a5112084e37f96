/** A request to a destination, as the API shows it. */

import type { DeliveryAttempt } from '../../delivery/wire/delivery-attempts.js'
import { objectOf, oneOf, orNull, Type } from '../../ground/core/schema.js'

export const deliveryAttemptExample: DeliveryAttempt = {
  at: '2026-11-20T10:00:02.117Z',
  took_ms: 41,
  outcome: 'partial',
  events: 500,
  accepted: 380,
  bytes: 256_410,
  request_id: 'c0ffee00-1234-5678-9abc-def012345678',
  error: {
    code: 'ProvisionedThroughputExceededException',
    msg: 'Rate exceeded for shard shardId-000000000000.',
  },
}

const count = (description: string) => Type.Integer({ minimum: 0, description })

export const deliveryAttemptSchema = objectOf(
  {
    at: Type.String({ format: 'date-time', description: 'When the request was answered, or failed.' }),
    took_ms: count('Milliseconds.'),
    outcome: oneOf(
      ['delivered', 'partial', 'failed'],
      'partial: the service accepted some of the events. What failed is sent again, or given up.',
    ),
    events: count('Events in the request.'),
    accepted: count('Those of them that the service accepted.'),
    bytes: count('Bytes of the events.'),
    request_id: orNull(Type.String(), { description: "AWS's; null if the request was not answered." }),
    error: orNull(objectOf({ code: Type.String(), msg: Type.String() })),
  },
  {
    title: 'DeliveryAttempt',
    description: 'A request to a destination.',
    examples: [deliveryAttemptExample],
  },
)
