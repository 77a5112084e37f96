/** The status of a destination, and a check of it. */
import type { DestinationOperations } from '../../src/management/operate/destination-operations.js'
import type { DeliveryStatus, DestinationCheck } from '../../src/words/shape/delivery-status.js'

/** The status of a destination that no event was sent to. */
export const idleStatus: DeliveryStatus = {
  kind: 'kinesis',
  description: null,
  rate: 0,
  state: 'healthy',
  cause: null,
  advice: null,
  actions: [],
  since: null,
  as_of: null,
  backlog: { events: 0, oldest_at: null, expires_at: null },
  dropped: [],
  behind: null,
  last_success_at: null,
  last_error: null,
  counts: { produced: 0, filtered: 0, delivered: 0, dead_lettered: 0, dropped: 0, retried: 0 },
  billing: null,
}

export const passedCheck: DestinationCheck = {
  result: 'passed',
  proved: ['It works.'],
  not_proved: [],
  error: null,
  advice: null,
  actions: [],
}

/** Destinations that no event was sent to, and that are not asked. */
export const idleDestinations: DestinationOperations = {
  sendTestEvent: async () => ({ refusal: 'There are no destinations in this test.' }),
  testTarget: async () => ({
    result: 'accepted',
    event: {},
    took_ms: 1,
    request_id: null,
    receipt: null,
    error: null,
    advice: null,
  }),
  check: async () => passedCheck,
  status: async () => idleStatus,
  statuses: async (rows) =>
    rows.map(({ id }) => ({ destination_id: id, description: null, status: idleStatus })),
  worst: async (rows, max) => rows.slice(0, max),
  losses: () => [],
  sourceCounts: () => [],
  tryNow: async () => undefined,
  attempts: async () => [],
  backlog: () => ({ since: '2026-11-20T10:00:00Z', until: '2026-11-20T10:01:00Z', points: [] }),
}
