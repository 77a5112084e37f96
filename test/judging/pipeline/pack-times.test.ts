/** How far apart the packs of a destination are, and how old they get. */
import t from 'tap'
import { packAgeMs, packSpacingMs } from '../../../src/judging/pipeline/pack-times.js'

t.test('without a backlog: by the number of destinations, at most a second', async (t) => {
  const spacing = [1, 150, 400, 1_000, 100_000].map((destinations) => packSpacingMs(1, destinations))
  t.strictSame(spacing, [150, 150, 400, 1_000, 1_000])
})

t.test('with a backlog: five times as long, from 400 milliseconds to five seconds', async (t) => {
  const age = (destinations: number, messages: number) =>
    packAgeMs(packSpacingMs(1, destinations), destinations, messages)
  t.strictSame(
    [1, 80, 400, 1_000, 100_000].map((destinations) => age(destinations, 2_000)),
    [400, 400, 2_000, 5_000, 5_000],
  )
  t.strictSame(
    [1, 80, 400, 1_000, 100_000].map((destinations) => age(destinations, 2_001)),
    [400, 400, 400, 1_000, 1_000],
    'not while so many messages wait for their packs',
  )
})
