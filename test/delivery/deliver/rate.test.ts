/** How much a lane delivers while records are throttled, in simulated time. */
import t from 'tap'
import { type Run, type Stream, simulate } from './simulated-stream.js'

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)
const accepted = (run: Run, from: number, to: number): number => sum(run.acceptedPerSecond.slice(from, to))
const median = ({ latenciesMs }: Run): number => latenciesMs[Math.floor(latenciesMs.length / 2)]!

t.test('a share of the records fails at any rate: everything offered is delivered', async (t) => {
  const cases: { name: string; eventsPerSecond: number; stream: Stream }[] = [
    { name: '30 % throttled', eventsPerSecond: 1_500, stream: { failingShare: 0.3 } },
    {
      name: '30 % failed',
      eventsPerSecond: 1_500,
      stream: { failingShare: 0.3, failingCode: 'transient' },
    },
    {
      name: '30 % throttled, slow answers',
      eventsPerSecond: 1_500,
      stream: { failingShare: 0.3, latencyMs: 200 },
    },
    { name: '60 % throttled', eventsPerSecond: 1_500, stream: { failingShare: 0.6 } },
    { name: '30 % throttled of many', eventsPerSecond: 5_000, stream: { failingShare: 0.3 } },
    { name: '30 % throttled of few', eventsPerSecond: 20, stream: { failingShare: 0.3 } },
  ]
  for (const { name, eventsPerSecond, stream } of cases) {
    const seconds = eventsPerSecond > 2_000 ? 5 : 12
    const run = await simulate({ eventsPerSecond, seconds, streamAt: () => stream })
    const share = accepted(run, 0, seconds) / (seconds * eventsPerSecond)
    t.ok(share >= 0.9, `${name}: ${share} of what is offered`)
    t.ok(median(run) <= 1_000, `${name}: half within ${median(run)} ms`)
  }
})

t.test('a limited stream is used up to its limit, and not flooded', async (t) => {
  const cases: { name: string; eventsPerSecond: number; stream: Stream; triesMax: number }[] = [
    { name: 'a bucket', eventsPerSecond: 1_500, stream: { recordsPerSecond: 1_000 }, triesMax: 2 },
    {
      name: 'by the second',
      eventsPerSecond: 1_500,
      stream: { recordsPerSecond: 1_000, isByTheSecond: true },
      triesMax: 2,
    },
    { name: 'ten times as much', eventsPerSecond: 10_000, stream: { recordsPerSecond: 1_000 }, triesMax: 2 },
    {
      name: 'limited, and 30 % fail anyway',
      eventsPerSecond: 3_000,
      stream: { recordsPerSecond: 1_000, failingShare: 0.3 },
      triesMax: 2.5,
    },
    {
      name: 'limited by the second, and 30 % fail anyway',
      eventsPerSecond: 3_000,
      stream: { recordsPerSecond: 1_000, failingShare: 0.3, isByTheSecond: true },
      triesMax: 2.5,
    },
  ]
  for (const { name, eventsPerSecond, stream, triesMax } of cases) {
    const seconds = 48
    const run = await simulate({ eventsPerSecond, seconds, streamAt: () => stream })
    const used = accepted(run, 0, seconds) / (seconds * 1_000)
    t.ok(used >= 0.9, `${name}: ${used} of what the stream takes`)
    const tries = sum(run.triedPerSecond) / sum(run.acceptedPerSecond)
    t.ok(tries <= triesMax, `${name}: ${tries} tries an event`)
  }
})

t.test('a stream whose limit is lifted is used fully again', async (t) => {
  const streamAt = (second: number): Stream => (second < 15 ? { recordsPerSecond: 500 } : {})
  const run = await simulate({ eventsPerSecond: 1_500, seconds: 30, streamAt })
  t.ok(accepted(run, 0, 15) >= 0.9 * 15 * 500, 'while it is limited')
  t.ok(accepted(run, 0, 30) >= 0.95 * 30 * 1_500, 'the backlog has arrived 15 s later')
})

t.test('one reason after the other: the lane distinguishes them', async (t) => {
  const streamAt = (second: number): Stream =>
    second >= 15 && second < 30 ? { recordsPerSecond: 1_000 } : { failingShare: 0.3 }
  const run = await simulate({ eventsPerSecond: 1_500, seconds: 50, streamAt })
  t.ok(accepted(run, 0, 15) >= 0.95 * 15 * 1_500, 'a share fails')
  t.ok(accepted(run, 15, 30) >= 0.9 * 15 * 1_000, 'the stream is limited')
  t.ok(accepted(run, 0, 50) >= 0.95 * 50 * 1_500, 'a share fails again: the backlog has arrived')
})

t.test('after requests without an answer, their number grows step by step', async (t) => {
  const streamAt = (second: number): Stream =>
    second >= 5 && second < 25 ? { isHole: true } : { latencyMs: 100 }
  const run = await simulate({ eventsPerSecond: 6_000, seconds: 40, streamAt })
  const first = run.acceptedPerSecond.findIndex((count, second) => second >= 25 && count > 0)
  const atOnce = run.underWayMax.slice(first, first + 4)
  t.ok(run.underWayMax.slice(0, 5).includes(4), 'four before')
  t.ok(
    atOnce.every((count, second) => count <= 2 + second),
    `${atOnce}`,
  )
  t.ok(run.underWayMax.slice(first).includes(4), 'four again')
})
