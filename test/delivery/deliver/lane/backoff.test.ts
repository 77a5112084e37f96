import t from 'tap'
import { backoffMs, backoffs } from '../../../../src/delivery/deliver/lane/backoff.js'

const { throttle, transient } = backoffs

const cases = [
  { name: 'the first wait after throttling', backoff: throttle, attempt: 1, fraction: 0.5, want: 500 },
  { name: 'doubled', backoff: throttle, attempt: 3, fraction: 0.5, want: 2_000 },
  { name: 'capped', backoff: throttle, attempt: 6, fraction: 0.5, want: 15_000 },
  {
    name: 'still capped after very many attempts',
    backoff: throttle,
    attempt: 5_000,
    fraction: 0.5,
    want: 15_000,
  },
  { name: 'the first wait after a passing fault', backoff: transient, attempt: 1, fraction: 0.999, want: 99 },
  { name: 'still below the cap', backoff: transient, attempt: 9, fraction: 0.999, want: 25_574 },
  { name: 'full jitter begins at nothing', backoff: transient, attempt: 9, fraction: 0, want: 0 },
]
for (const { name, backoff, attempt, fraction, want } of cases) {
  t.equal(backoffMs(backoff, attempt, fraction), want, name)
}
