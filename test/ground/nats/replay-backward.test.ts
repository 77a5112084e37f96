/** Reading a stream from its newest message to its oldest: over gaps, before a sequence or a time. */
import t from 'tap'
import { replayBackward } from '../../../src/ground/nats/stream-replay.js'
import { range, streamOf } from './stored-stream.js'

const cases = [
  { name: 'everything', sequences: range(1, 40), want: range(1, 40) },
  { name: 'the beginning is gone', sequences: range(50, 60), want: range(50, 60) },
  { name: 'before a sequence', sequences: range(1, 40), before: { sequence: 30 }, want: range(1, 29) },
  { name: 'before a time', sequences: range(1, 40), before: { ms: 20_500 }, want: range(1, 20) },
  { name: 'before both', sequences: range(1, 40), before: { sequence: 7, ms: 20_500 }, want: range(1, 6) },
  { name: 'a sequence beyond the end', sequences: [1, 2], before: { sequence: 99 }, want: [1, 2] },
  { name: 'single gaps', sequences: [1, 3, 4, 9, 11], want: [1, 3, 4, 9, 11] },
  {
    name: 'long gaps',
    sequences: [1, 2, 5_000, 5_001, 900_000, 1_000_000],
    want: [1, 2, 5_000, 5_001, 900_000, 1_000_000],
  },
  { name: 'an empty stream', sequences: [], want: [] },
]

for (const { name, sequences, before = {}, want } of cases) {
  t.test(name, async (t) => {
    const stream = streamOf(sequences)
    const got: number[] = []
    for await (const { sequence } of replayBackward(stream, before, 4)) got.push(sequence)
    t.strictSame(got, want.toReversed())
    t.ok(stream.asked.length <= want.length + 40, 'a gap is skipped, not walked through')
    t.ok(stream.asked.length + stream.looked.length <= 4 * want.length + 200)
  })
}
