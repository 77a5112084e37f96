/** Timers that wake a process together. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { every, monotonicMs } from '../../../src/ground/core/clock.js'

t.test('periods of seconds come in step, each as often as it says', async (t) => {
  const calls: { readonly ms: number; readonly atMs: number }[] = []
  const at = (ms: number) => every(ms, () => calls.push({ ms, atMs: monotonicMs() }))
  const beganMs = monotonicMs()
  const timers = [at(1_000)]
  await sleep(300)
  timers.push(at(1_000), at(2_000))
  await sleep(300)
  timers.push(at(2_000))
  await sleep(6_000)
  for (const timer of timers) timer.stop()
  const stoppedAt = calls.length
  const seconds = (monotonicMs() - beganMs) / 1_000
  const counts = [1_000, 2_000].map((ms) => calls.filter((call) => call.ms === ms).length)
  t.ok(counts[0]! >= 10 && counts[0]! <= 2 * seconds, `${counts[0]} calls of two timers of a second`)
  t.ok(counts[1]! >= 4 && counts[1]! <= seconds + 1, `${counts[1]} calls of two timers of two seconds`)
  const wakeUps = calls.filter(({ atMs }, index) => index === 0 || atMs - calls[index - 1]!.atMs > 100)
  t.ok(wakeUps.length <= seconds + 1, `${wakeUps.length} wake-ups in ${seconds} s`)
  await sleep(1_100)
  t.equal(calls.length, stoppedAt, 'none after the stop')
})

t.test('a call that takes longer than a period is not followed by another one meanwhile', async (t) => {
  let running = 0
  let runningMax = 0
  const timer = every(1_000, async () => {
    running += 1
    runningMax = Math.max(runningMax, running)
    await sleep(1_500)
    running -= 1
  })
  await sleep(4_200)
  timer.stop()
  t.equal(runningMax, 1)
})

t.test('the first call of a long period does not come at once', async (t) => {
  let calls = 0
  const timer = every(10_000, () => {
    calls += 1
  })
  t.teardown(() => timer.stop())
  await sleep(3_000)
  t.equal(calls, 0)
})
