/** A pause by hand: what was begun is finished, the rest waits, and a resumed lane sends at once. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { HandPause } from '../../../../src/delivery/deliver/lane/hand-pause.js'
import { pausedByHand } from '../../../../src/delivery/deliver/lane/health.js'
import { someEvents } from '../events.js'
import { accepted, done, failed, gate, openLane } from '../fake-lane.js'

/** Longer than the backoff of such a lane: one that is not halted sends again within this time. */
const retriedMs = 20
const at = '2026-11-20T10:00:00.000Z'

t.test('packs that were begun are finished, others are returned', async (t) => {
  const { opened, open } = gate()
  const { lane, requests } = openLane(
    async () => {
      await opened
      return accepted
    },
    { concurrencyMax: 1 },
  )
  const pause = new HandPause(lane)
  const begun = lane.deliver(someEvents(6, 'b'))
  const waiting = lane.deliver(someEvents(3, 'w'))
  pause.change(at)
  t.match(pause.over(lane.status()), { state: 'paused', cause: pausedByHand, since: at })
  t.match(await waiting, { outcome: 'returned', retried: 0 })
  open()
  t.same(await begun, done(6, 0, 0))
  t.equal(requests.length, 2)
  pause.change(undefined)
  t.match(pause.over(lane.status()), { state: 'healthy', cause: null })
  pause.close()
  await lane.close()
})

t.test('a halted lane sends nothing, and keeps packs that would be sent twice', async (t) => {
  const { lane, requests } = openLane((_, request) => {
    if (request > 1) return accepted
    // Here, because the wait for a retry is short.
    lane.halt()
    const reason = { class: 'throttle', code: 'x', msg: 'x.' } as const
    return { outcome: 'partial', retry: [1, 2, 3], rejected: [], reason }
  })
  const kept = lane.deliver(someEvents(4, 'k'))
  while (requests.length === 0) await new Promise(setImmediate)
  const returned = lane.deliver(someEvents(2, 'r'))
  await sleep(retriedMs)
  t.equal(requests.length, 1, 'also when the wait for a retry is over')
  lane.resume()
  t.same(await kept, done(4, 0, 3), 'none of its events was sent twice')
  t.same(await returned, done(2, 0, 0))
  await lane.close()
})

t.test('a resumed lane does not wait for the next probe', async (t) => {
  let allowed = false
  const { lane, requests } = openLane(() => (allowed ? accepted : failed('credentials')), {
    probeMinMs: 1e6,
    probeMaxMs: 1e6,
  })
  const held = lane.deliver(someEvents(2, 'h'))
  while (!lane.probing) await new Promise(setImmediate)
  const before = requests.length
  lane.halt()
  allowed = true
  await sleep(retriedMs)
  t.equal(requests.length, before)
  const pack = lane.deliver(someEvents(1, 'p'))
  lane.resume()
  t.match(await held, { outcome: 'returned' })
  t.match(await pack, { outcome: /done|returned/ })
  t.same(await lane.deliver(someEvents(3, 'n')), done(3, 0, 0))
  await lane.close()
})
