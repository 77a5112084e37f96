/** Timers that wake a process together. */
import { mock } from 'node:test'
import t, { type Test } from 'tap'
import { every, yieldTurn } from '../../../src/ground/core/clock.js'

const stepMs = 50

/** Timers go by a clock of the test's own. Time passes in steps, so that what a timer called can end in between. */
function openClock(t: Test) {
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  const clock = { nowMs: 0 }
  const pass = async (ms: number): Promise<void> => {
    for (const endMs = clock.nowMs + ms; clock.nowMs < endMs; ) {
      clock.nowMs += stepMs
      mock.timers.tick(stepMs)
      await yieldTurn()
    }
  }
  return { clock, pass }
}

t.test('periods of seconds come in step, each as often as it says', async (t) => {
  const { clock, pass } = openClock(t)
  const calls: { readonly ms: number; readonly atMs: number }[] = []
  const at = (ms: number) => every(ms, () => calls.push({ ms, atMs: clock.nowMs }))
  const timers = [at(1_000)]
  await pass(300)
  timers.push(at(1_000), at(2_000))
  await pass(300)
  timers.push(at(2_000))
  await pass(6_000)
  for (const timer of timers) timer.stop()
  const stoppedAt = calls.length
  const seconds = clock.nowMs / 1_000
  const counts = [1_000, 2_000].map((ms) => calls.filter((call) => call.ms === ms).length)
  t.ok(counts[0]! >= 10 && counts[0]! <= 2 * seconds, `${counts[0]} calls of two timers of a second`)
  t.ok(counts[1]! >= 4 && counts[1]! <= seconds + 1, `${counts[1]} calls of two timers of two seconds`)
  const wakeUps = new Set(calls.map(({ atMs }) => atMs)).size
  t.ok(wakeUps <= seconds + 1, `${wakeUps} wake-ups in ${seconds} s`)
  await pass(2_500)
  t.equal(calls.length, stoppedAt, 'none after the stop')
})

t.test('a call that takes longer than a period is not followed by another one meanwhile', async (t) => {
  const { pass } = openClock(t)
  let calls = 0
  let end = (): void => {}
  const timer = every(1_000, () => {
    calls += 1
    return new Promise<void>((resolve) => {
      end = resolve
    })
  })
  t.teardown(() => timer.stop())
  await pass(4_200)
  t.equal(calls, 1)
  end()
  await pass(1_000)
  t.equal(calls, 2, 'the next one comes after its end')
})

t.test('the first call of a long period does not come at once', async (t) => {
  const { pass } = openClock(t)
  let calls = 0
  const open = () =>
    every(10_000, () => {
      calls += 1
    })
  // The common clock is in another second of ten each time.
  for (let phase = 0; phase < 10; phase += 1) {
    const timer = open()
    await pass(3_000)
    timer.stop()
  }
  t.equal(calls, 0)
  const timer = open()
  t.teardown(() => timer.stop())
  await pass(15_000)
  t.ok(calls > 0, 'it comes within one and a half')
})
