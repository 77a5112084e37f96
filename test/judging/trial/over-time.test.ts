/** Decisions over the time of a trial, whose length is not known before. */
import t from 'tap'
import { DecisionsOverTime } from '../../../src/judging/trial/over-time.js'

const startMs = Date.parse('2026-11-20T09:00:00Z')

t.test('a trial without records has no points', async (t) => {
  t.strictSame(new DecisionsOverTime().result(), { interval_seconds: 1, points: [] })
})

const cases: readonly { readonly situation: string; readonly seconds: number; readonly interval: number }[] =
  [
    { situation: 'some seconds', seconds: 48, interval: 1 },
    { situation: 'a minute', seconds: 60, interval: 5 },
    { situation: 'an hour', seconds: 3_600, interval: 300 },
    { situation: 'a day', seconds: 86_400, interval: 1_800 },
    { situation: 'three days', seconds: 3 * 86_400, interval: 10_800 },
    { situation: 'two years', seconds: 730 * 86_400, interval: 16 * 86_400 },
  ]

t.test('intervals grow with the time, and no record is lost', async (t) => {
  for (const { situation, seconds, interval } of cases) {
    const overTime = new DecisionsOverTime()
    const steps = 1_000
    for (let step = 0; step < steps; step += 1)
      overTime.add(
        startMs + ((seconds * 1000 - 1) / steps) * step,
        'allow',
        step % 10 === 0 ? 'deny' : 'allow',
      )
    const { interval_seconds, points } = overTime.result()
    t.equal(interval_seconds, interval, situation)
    t.ok(points.length <= 48, `${situation}: ${points.length} points`)
    const sum = (of: (point: (typeof points)[number]) => number) =>
      points.reduce((total, point) => total + of(point), 0)
    t.equal(
      sum(({ before }) => before.allow),
      steps,
    )
    t.equal(
      sum(({ after }) => after.deny),
      steps / 10,
    )
    t.equal(
      sum(({ changed }) => changed.reduce((total, { records }) => total + records, 0)),
      steps / 10,
    )
    t.strictSame(
      points.map(({ at }) => at),
      points.map(({ at }) => at).toSorted(),
      'oldest first',
    )
  }
})

t.test('records of two nodes whose clocks differ are counted where they belong', async (t) => {
  const overTime = new DecisionsOverTime()
  for (const second of [100, 10, 101, 0]) overTime.add(startMs + second * 1000, 'block', 'allow')
  const { interval_seconds, points } = overTime.result()
  t.equal(interval_seconds, 5)
  t.strictSame(
    points.map(({ at, before, changed }) => [at.slice(14, 19), before.block, changed]),
    [
      ['00:00', 1, [{ before: 'block', after: 'allow', records: 1 }]],
      ['00:10', 1, [{ before: 'block', after: 'allow', records: 1 }]],
      ['01:40', 2, [{ before: 'block', after: 'allow', records: 2 }]],
    ],
  )
})
