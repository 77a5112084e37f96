/** The parts of a replay, one for each partition. */
import t from 'tap'
import { replayedParts, type StoredReplay, withParts } from '../../../src/delivery/wire/replays.js'

const about = {
  id: 'rp_1',
  account_id: 'ac_1',
  destination_id: 'ed_1',
  from: '2026-11-27T00:00:00.000Z',
  to: '2026-11-27T01:00:00.000Z',
  filter: null,
  state: 'running' as const,
  created_at: '2026-11-27T02:00:00.000Z',
  ended_at: null,
  error: null,
}
const partOf = (partition: number) => ({
  partition,
  stream: `s${partition}`,
  first: 10 + partition,
  last: 20 + partition,
  done: 9 + partition,
})

t.test('parts that are written are read again', async (t) => {
  for (const parts of [[0], [0, 1, 2], [0, 3]].map((numbers) => numbers.map(partOf)))
    t.strictSame(replayedParts(withParts(about, parts)), parts)
})

t.test('with one partition, a replay is written as it was before there were several', async (t) => {
  const { partition: _, ...own } = partOf(0)
  const before: StoredReplay = { ...about, ...own }
  t.strictSame(withParts(about, [partOf(0)]), before)
  t.strictSame(replayedParts(before), [partOf(0)])
})

t.test('parts replace those that were there', async (t) => {
  const replay = withParts(about, [0, 1].map(partOf))
  const moved = replayedParts(replay).map((part) => ({ ...part, done: part.last }))
  const { more, done, last } = withParts(replay, moved)
  t.equal(done, last)
  t.match(more, [{ partition: 1, done: 21 }])
})
