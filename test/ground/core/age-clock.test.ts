/** The clock that judges ages, while the time of day is set forward and back. */
import fc from 'fast-check'
import t from 'tap'
import { AgeClock } from '../../../src/ground/core/age-clock.js'

const hourMs = 3_600_000
/** Steps of less than 5 s are no jumps; each counts at most that much. */
const slackMs = 60 * 5_000

/** A clock of which the test moves both hands. */
function open(holdMs = 72 * hourMs) {
  const time = { wallMs: 1_000 * hourMs, passedMs: 0 }
  const jumps: number[] = []
  const clock = new AgeClock({
    holdMs,
    jumped: (byMs) => jumps.push(byMs),
    wall: () => time.wallMs,
    monotonic: () => time.passedMs,
  })
  const pass = (ms: number): void => {
    time.wallMs += ms
    time.passedMs += ms
  }
  const set = (byMs: number): void => {
    time.wallMs += byMs
  }
  return { clock, time, jumps, pass, set }
}

t.test('a clock that is ahead for 15 s makes nothing older', (t) => {
  const { clock, time, jumps, pass, set } = open()
  pass(hourMs)
  const before = clock.now()
  set(2 * hourMs)
  pass(15_000)
  t.equal(clock.now(), before + 15_000)
  set(-2 * hourMs)
  pass(1_000)
  t.equal(clock.now(), before + 16_000)
  t.equal(clock.now(), time.wallMs)
  t.strictSame(jumps, [2 * hourMs, -2 * hourMs], 'each jump is reported once')
  clock.close()
  t.end()
})

t.test('a clock that is set right counts once nothing has a time of the one before', (t) => {
  const { clock, time, pass, set } = open(10 * hourMs)
  set(2 * hourMs)
  t.equal(clock.now(), time.wallMs - 2 * hourMs)
  pass(10 * hourMs)
  t.equal(clock.now(), time.wallMs)
  clock.close()
  t.end()
})

t.test('a clock that is set back counts at once', (t) => {
  const { clock, time, set } = open()
  set(-2 * hourMs)
  t.equal(clock.now(), time.wallMs)
  clock.close()
  t.end()
})

t.test('a clock that drifts has not jumped', (t) => {
  const { clock, time, jumps, pass, set } = open()
  for (let looks = 0; looks < 1_000; looks += 1) {
    pass(10_000)
    set(5)
    clock.now()
  }
  t.equal(clock.now(), time.wallMs)
  t.strictSame(jumps, [])
  clock.close()
  t.end()
})

t.test('whatever the clock does, nothing looks older than it is', (t) => {
  const step = fc.oneof(
    fc.record({ pass: fc.integer({ min: 1, max: 600_000 }) }),
    fc.record({ set: fc.integer({ min: -2 * hourMs, max: 2 * hourMs }) }),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), fc.nat(60), (steps, storedAt) => {
      const { clock, time, pass, set } = open()
      let stored: { wallMs: number; passedMs: number } | undefined
      for (const [index, each] of steps.entries()) {
        if (index === storedAt) stored = { ...time }
        if ('pass' in each) pass(each.pass)
        else set(each.set)
        const now = clock.now()
        if (stored !== undefined && now - stored.wallMs > time.passedMs - stored.passedMs + slackMs)
          return false
      }
      clock.close()
      return true
    }),
  )
  t.end()
})
