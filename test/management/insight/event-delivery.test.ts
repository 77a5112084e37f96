/** The delivery of an event to one destination, by the attempts in the log. */
import t from 'tap'
import { deliveryOf } from '../../../src/management/insight/event-delivery.js'
import type { Attempt } from '../../../src/management/store/logs/delivery-reader.js'
import { requestsShownMax } from '../../../src/words/shape/traced-record.js'

const attempt = (outcome: Attempt['outcome'], second: number, more: Partial<Attempt> = {}): Attempt => ({
  destinationId: 'ed_1',
  at: Date.parse('2026-11-20T10:00:00Z') + second * 1_000,
  tookMs: 12,
  outcome,
  requestId: `r-${second}`,
  shard: '',
  receipt: '',
  errorCode: outcome === 'delivered' ? '' : 'Throttled',
  error: outcome === 'delivered' ? '' : 'Slow down.',
  includes: () => true,
  ...more,
})

const usual = { isKnown: true, isLogComplete: true }
const failure = (second: number) => ({
  at: `2026-11-20T10:00:0${second}.000Z`,
  code: 'Throttled',
  msg: 'Slow down.',
})

const cases = [
  {
    name: 'nothing is known',
    attempts: [],
    want: { state: 'pending', at: null, attempts: 0, last_error: null },
  },
  {
    name: 'it failed, and will be sent again',
    attempts: [attempt('failed', 1), attempt('failed', 2)],
    want: { state: 'retrying', request_id: 'r-2', attempts: 2, last_error: failure(2) },
  },
  {
    name: 'it was delivered at last',
    attempts: [attempt('failed', 1), attempt('delivered', 2, { receipt: '49', shard: 's-1' })],
    want: {
      state: 'delivered',
      request_id: 'r-2',
      receipt: '49',
      shard: 's-1',
      attempts: 2,
      last_error: failure(1),
      requests: [
        { at: '2026-11-20T10:00:02.000Z', took_ms: 12, outcome: 'delivered', request_id: 'r-2', error: null },
        { outcome: 'failed', request_id: 'r-1', error: { code: 'Throttled', msg: 'Slow down.' } },
      ],
    },
  },
  {
    name: 'it was sent again after it was delivered',
    attempts: [attempt('delivered', 1), attempt('failed', 2), attempt('delivered', 3)],
    want: { state: 'delivered', request_id: 'r-1', at: '2026-11-20T10:00:01.000Z', attempts: 3 },
  },
  {
    name: 'it was given up',
    attempts: [attempt('failed', 1), attempt('dead_lettered', 2, { requestId: '' })],
    want: {
      state: 'dead_lettered',
      at: '2026-11-20T10:00:02.000Z',
      request_id: null,
      attempts: 1,
      last_error: failure(2),
    },
  },
  {
    name: 'its destination was deleted before',
    attempts: [attempt('failed', 1)],
    circumstances: { isKnown: false },
    want: { state: 'dropped', attempts: 1 },
  },
  {
    name: 'it was delivered before its destination was deleted',
    attempts: [attempt('delivered', 1)],
    circumstances: { isKnown: false },
    want: { state: 'delivered' },
  },
  ...[true, false].map((isKnown) => ({
    name: `the log has only attempts that failed, destination ${isKnown ? 'there' : 'deleted'}`,
    attempts: [attempt('failed', 1)],
    circumstances: { isLogComplete: false, isKnown },
    want: { state: 'unknown', attempts: 1 },
  })),
]

t.test('of many requests, the last ones are shown', async (t) => {
  const attempts = Array.from({ length: requestsShownMax + 1 }, (_, second) => attempt('failed', second))
  const { requests } = deliveryOf('ed_1', attempts, usual)
  t.equal(requests.length, requestsShownMax)
  t.equal(requests[0]?.request_id, `r-${requestsShownMax}`)
})

for (const { name, attempts, circumstances, want } of cases)
  t.test(name, async (t) => {
    t.match(deliveryOf('ed_1', attempts, { ...usual, ...circumstances }), { destination_id: 'ed_1', ...want })
  })
