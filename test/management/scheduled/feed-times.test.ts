import t from 'tap'
import { newState, nextFetchMs } from '../../../src/management/scheduled/feeds/feed-status.js'
import type { IpListSource } from '../../../src/words/resource/fields/ip-list-source.js'

const source = {
  url: 'https://lists.example/',
  format: 'text',
  refresh_seconds: 3_600,
} as unknown as IpListSource

t.test('a list waits for its next fetch, but not until a time of a clock that was ahead', (t) => {
  const nowMs = 1_000_000_000
  const next = (next_ms: number) => nextFetchMs({ ...newState(source, nowMs), next_ms }, source, nowMs)
  t.equal(next(nowMs + 3_600_000), nowMs + 3_600_000, 'a period')
  t.equal(next(nowMs - 5), nowMs - 5, 'due')
  t.equal(next(nowMs + 7_200_000), nowMs, 'the clock was two hours ahead')
  t.end()
})
