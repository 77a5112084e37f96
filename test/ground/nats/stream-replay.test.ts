/** Reading a stream again: from a time on, over gaps, without a consumer. */
import t from 'tap'
import { countSince, inOrder, keptFrom, replay } from '../../../src/ground/nats/stream-replay.js'
import { range, streamOf } from './stored-stream.js'

const cases = [
  { name: 'everything', sequences: range(1, 9), sinceMs: 0, want: range(1, 9) },
  { name: 'from a time on', sequences: range(1, 100), sinceMs: 90_500, want: range(91, 100) },
  { name: 'from the time of a message', sequences: range(5, 20), sinceMs: 12_000, want: range(12, 20) },
  { name: 'the beginning is gone', sequences: range(50, 60), sinceMs: 0, want: range(50, 60) },
  {
    name: 'a gap in the middle, and single ones',
    sequences: [1, 2, 1000, 1002, 1003],
    sinceMs: 0,
    want: [1, 2, 1000, 1002, 1003],
  },
  { name: 'a time within a gap', sequences: [1, 2, 1000, 1001], sinceMs: 500_000, want: [1000, 1001] },
  { name: 'nothing since then', sequences: range(1, 9), sinceMs: 9_001, want: [] },
  { name: 'an empty stream', sequences: [], sinceMs: 0, want: [] },
]

for (const { name, sequences, sinceMs, want } of cases) {
  t.test(name, async (t) => {
    const stream = streamOf(sequences)
    const got: number[] = []
    for await (const { sequence } of replay(stream, sinceMs, 4)) got.push(sequence)
    t.strictSame(got, want)
    t.ok(stream.asked.length <= want.length + 12, 'a gap is skipped, not walked through')
  })
}

t.test('what is asked for ahead and fails is an error only once it is its turn', async (t) => {
  const stream = { ...streamOf(range(1, 9)) }
  const at = stream.at
  stream.at = async (sequence) => {
    if (sequence === 3) throw new Error('NATS is away.')
    return at(sequence)
  }
  const got: number[] = []
  await t.rejects(
    (async () => {
      for await (const { sequence } of replay(stream, 0, 8)) got.push(sequence)
    })(),
    { message: 'NATS is away.' },
  )
  t.strictSame(got, [1, 2])
})

t.test('messages of several streams come in the order of their times', async (t) => {
  const sequences = [[1, 4, 9, 10], [], [2, 3, 4, 20], [4]]
  const merged = inOrder(sequences.map((each) => replay(streamOf(each), 2_000, 2)))
  const got: number[] = []
  for await (const { sequence } of merged) got.push(sequence)
  t.strictSame(got, [2, 3, 4, 4, 4, 9, 10, 20])
})

t.test('a stream of several that fails ends them all', async (t) => {
  const broken = { ...streamOf([1, 2, 3]), at: () => Promise.reject(new Error('lost')) }
  const merged = inOrder([replay(streamOf([1]), 0, 2), replay(broken, 0, 2)])
  await t.rejects(merged.next(), { message: 'lost' })
})

t.test('no stream has no messages', async (t) => {
  t.match(await inOrder([]).next(), { done: true })
})

t.test('from when on all is kept: the latest of the oldest messages', async (t) => {
  const cases: [name: string, streams: number[][], keptFromMs: number | undefined][] = [
    ['no message', [[], []], undefined],
    ['one stream, whose beginning is gone', [[5, 6]], 5_000],
    ['several, one of which is empty', [[2, 9], [], [4]], 4_000],
  ]
  for (const [name, streams, keptFromMs] of cases)
    t.equal(await keptFrom(streams.map((sequences) => streamOf(sequences))), keptFromMs, name)
})

t.test('how many messages there are from a time on, over several streams', async (t) => {
  const streams = [[1, 4, 9, 10], [], [2, 3, 4, 20]].map((sequences) => streamOf(sequences))
  // Of the first, those after 1; of the last, those after 3. Gaps count.
  t.equal(await countSince(streams, 3_500), 9 + 17)
  t.equal(await countSince(streams, 30_000), 0)
  t.equal(await countSince([], 0), 0)
})
