/** Whether a pipeline is busy although nothing waits: the part of the last second that it worked. */
import t from 'tap'
import { RecentWork } from '../../../src/judging/pipeline/recent-work.js'

const workFor = (busyMs: number, everyMs: number, seconds: number): { share: number; later: number } => {
  let nowMs = 1_000
  const work = new RecentWork(() => nowMs)
  for (const endMs = nowMs + seconds * 1_000; nowMs < endMs; nowMs += everyMs - busyMs) {
    const begunMs = nowMs
    nowMs += busyMs
    work.addSince(begunMs)
  }
  const { share } = work
  nowMs += 5_000
  return { share, later: work.share }
}

t.test('the share of steady work, however it is divided', (t) => {
  for (const [busyMs, everyMs, want] of [
    [1, 10, 0.1],
    [5, 10, 0.5],
    [50, 100, 0.5],
    [90, 100, 0.9],
  ] as const) {
    const { share, later } = workFor(busyMs, everyMs, 10)
    t.ok(Math.abs(share - want) < 0.06, `${busyMs} of ${everyMs} ms: ${share}`)
    t.ok(later < 0.01, `five seconds later: ${later}`)
  }
  t.end()
})

t.test('nothing was done yet', (t) => {
  t.equal(new RecentWork().share, 0)
  t.end()
})

t.test('it is over when none ended for a second', (t) => {
  let nowMs = 1_000
  const work = new RecentWork(() => nowMs)
  work.addSince(900)
  nowMs = 1_999
  t.notOk(work.isOver)
  nowMs = 2_000
  t.ok(work.isOver)
  t.end()
})
