/** A lane whose requests are refused: credentials, pauses, probes and another target. */
import { mock } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { SendOutcome } from '../../../src/delivery/deliver/kind/sender.js'
import { ByteBudget } from '../../../src/delivery/deliver/lane/byte-budget.js'
import type { Lane } from '../../../src/delivery/deliver/lane/lane.js'
import { laneSettings } from '../../../src/delivery/deliver/lane/lane-settings.js'
import { Pace } from '../../../src/delivery/deliver/lane/pace.js'
import type { PackedEvent } from '../../../src/delivery/wire/packed-event.js'
import { someEvents } from './events.js'
import { accepted, config, done, failed, fault, gate, openLane } from './fake-lane.js'

/** Timers of a lane keep no process alive; a test waits for them nevertheless. */
const keepAlive = setInterval(() => {}, 1000)
t.teardown(() => clearInterval(keepAlive))
/** Longer than the backoff of such a lane: one that tries by itself does so within this time. */
const retriedMs = 20

t.test('refused credentials are fetched again, once, before the lane pauses', async (t) => {
  const { lane, counts, states } = openLane((_, request) => (request <= 4 ? failed('credentials') : accepted))
  t.same(await lane.deliver(someEvents(16)), done(16, 0, 16))
  t.equal(counts.drops, 1, 'four requests under way with the same credentials, one new pair')
  t.same(states, [])
  t.match(lane.status(), { state: 'healthy', last_error: { code: 'credentials' } })
  await lane.close()
})

t.test('failures that last until the cap of the backoff lead to probing, too', async (t) => {
  let well = false
  const backoff = { baseMs: 1, capMs: 4 }
  const { lane, states } = openLane(() => (well ? accepted : failed('transient')), {
    backoffs: { throttle: backoff, transient: backoff, record: backoff },
  })
  const held = lane.deliver(someEvents(2, 'h'))
  t.match(await lane.deliver(someEvents(2, 'o')), { outcome: 'returned' })
  t.ok(lane.probing)
  t.match(lane.status(), { state: 'failing', cause: 'transient' })
  well = true
  t.match(await held, { outcome: 'done', counts: { delivered: 2 } })
  t.same(states, ['failing', 'healthy'])
  await lane.close()
})

/** A service of two shards: records of the second fail while it is down. */
function twoShards() {
  const shards = { isSecondDown: true, accepted: [] as string[], sent: 0 }
  const behave = (events: readonly PackedEvent[]): SendOutcome => {
    shards.sent += events.length
    const fails = ({ id }: PackedEvent): boolean => shards.isSecondDown && id.endsWith('1')
    const retry = events.flatMap((event, index) => (fails(event) ? [index] : []))
    shards.accepted.push(...events.filter((event) => !fails(event)).map(({ id }) => id))
    return retry.length === 0
      ? accepted
      : { outcome: 'partial', retry, rejected: [], reason: fault('transient') }
  }
  return { shards, behave }
}

const soonProbing = { baseMs: 1, capMs: 4 }
const probingSoon = { backoffs: { throttle: soonProbing, transient: soonProbing, record: soonProbing } }

/** Like a destination's run: a returned pack is delivered again once the lane wants it. */
async function deliverAll(lane: Lane, packs: number, eventsPerPack: number) {
  let [delivered, retried, returned] = [0, 0, 0]
  const one = async (pack: number): Promise<void> => {
    for (;;) {
      while (lane.wanted(1) === 0) await new Promise((resolve) => setTimeout(resolve, 1))
      const result = await lane.deliver(someEvents(eventsPerPack, `p${pack}-`))
      retried += result.outcome === 'done' ? result.counts.retried : result.retried
      if (result.outcome === 'done') {
        delivered += result.counts.delivered
        return
      }
      returned += 1
    }
  }
  await Promise.all(Array.from({ length: packs }, (_, at) => one(at)))
  return { delivered, retried, returned }
}

t.test('one of two shards fails beyond the cap of the backoff: nothing accepted is sent again', async (t) => {
  const { shards, behave } = twoShards()
  const { lane, states, requests } = openLane(behave, probingSoon)
  const delivering = deliverAll(lane, 16, 8)
  while (!lane.probing) await new Promise(setImmediate)
  const before = requests.length
  while (requests.length < before + 5) await new Promise((resolve) => setTimeout(resolve, 1))
  t.ok(lane.probing)
  shards.isSecondDown = false
  const { delivered, retried } = await delivering
  t.equal(delivered, 16 * 8)
  t.equal(shards.accepted.length, 16 * 8, 'each event was accepted')
  t.equal(new Set(shards.accepted).size, 16 * 8, 'and none of them twice')
  t.equal(retried, shards.sent - shards.accepted.length, 'each event that was sent again counts')
  t.equal(states.at(-1), 'healthy')
  await lane.close()
})

t.test('packs held while nothing is delivered leave room for other destinations', async (t) => {
  const { shards, behave } = twoShards()
  const bytesPerPack = someEvents(8, 'p10-').reduce((sum, { data }) => sum + data.length, 0)
  const budget = new ByteBudget(bytesPerPack * 8)
  const { lane } = openLane(behave, probingSoon, undefined, budget)
  const packs = Array.from({ length: 16 }, (_, at) => lane.deliver(someEvents(8, `p${at + 10}-`)))
  while (!lane.probing) await new Promise(setImmediate)
  t.notOk(budget.hold(bytesPerPack), 'half of it is held')
  shards.isSecondDown = false
  const results = await Promise.all(packs)
  const stayed = results.filter(({ outcome }) => outcome === 'done').length
  t.ok(stayed >= 4 && stayed < 16, `${stayed} packs stayed`)
  t.equal(lane.status().state, 'healthy', 'full or not, the destination was probed')
  t.ok(budget.hold(bytesPerPack * 4), 'and all is released')
  await lane.close()
})

t.test('a pack with only refused events left does not block others', async (t) => {
  const { lane, dead, states } = openLane(
    (events) => (events.some(({ id }) => id.startsWith('bad')) ? failed('poison') : accepted),
    { concurrencyMax: 1 },
  )
  t.same(await lane.deliver(someEvents(4, 'good')), done(4, 0, 0))
  const mixed = lane.deliver([...someEvents(4, 'good'), ...someEvents(20, 'bad')])
  while (!lane.probing) await new Promise(setImmediate)
  t.equal(lane.wanted(16), 1, 'another pack is wanted')
  // An event of the first pack may be tried before; then the other pack is returned and delivered again.
  for (let pack = 0; pack < 3; pack += 1) t.match(await deliverAll(lane, 1, 1), { delivered: 1 })
  t.match(await mixed, { outcome: 'done', counts: { delivered: 4, dead_lettered: 20 } })
  t.equal(new Set(dead).size, 20)
  t.equal(dead.length, 20, 'each once')
  t.ok(states.includes('paused'))
  await lane.close()
})

t.test('if everything is refused, no event is the culprit, and the lane pauses', async (t) => {
  let refusing = true
  const { lane, dead } = openLane(() => (refusing ? failed('poison') : accepted), { concurrencyMax: 1 })
  const packs = Array.from({ length: 20 }, (_, at) => lane.deliver(someEvents(2, `p${at}-`)))
  const results = await Promise.all(packs)
  t.equal(dead.length, 8, 'a few are dead-lettered until that is clear')
  t.ok(results.some(({ outcome }) => outcome === 'returned'))
  t.match(lane.status(), { state: 'paused', cause: 'poison' })
  refusing = false
  let result = await lane.deliver(someEvents(2, 'late'))
  while (result.outcome === 'returned') result = await lane.deliver(someEvents(2, 'late'))
  t.same(result, done(2, 0, 0))
  t.equal(lane.status().state, 'healthy')
  await lane.close()
})

t.test('after a change of target everything pending goes there at once', async (t) => {
  let target = 'old'
  const { lane, states, counts } = openLane(() => (target === 'old' ? failed('configuration') : accepted), {
    probeMinMs: 1e6,
    probeMaxMs: 1e6,
  })
  const held = lane.deliver(someEvents(5, 'h'))
  while (!lane.probing) await new Promise(setImmediate)
  target = 'new'
  lane.retarget({ ...config, address: 'arn:aws:kinesis:us-east-1:000000000000:stream/two' })
  t.match(await held, { outcome: 'done', counts: { delivered: 5 } })
  t.same(states, ['paused', 'healthy'])
  t.equal(counts.closed, 1, 'the old sender is closed')
  await lane.close()
})

t.test('told to try, a lane does not wait for the next probe, and stays one that probes', async (t) => {
  let well = false
  const { lane, requests, states } = openLane(() => (well ? accepted : failed('credentials')), {
    probeMinMs: 1e6,
    probeMaxMs: 1e6,
  })
  const held = lane.deliver(someEvents(3, 'h'))
  while (!lane.probing) await new Promise(setImmediate)
  const before = requests.length
  lane.hurry()
  while (requests.length === before) await new Promise(setImmediate)
  await sleep(retriedMs)
  t.equal(requests.length, before + 1, 'one request, with one event')
  t.equal(requests.at(-1)?.length, 1)
  t.ok(lane.probing)
  t.same(states, ['paused'])
  well = true
  lane.hurry()
  t.match(await held, { outcome: 'done', counts: { delivered: 3 } })
  t.equal(lane.status().state, 'healthy')
  await lane.close()
})

t.test('told to try while a request is under way that fails, it tries once more', async (t) => {
  const { opened, open } = gate()
  let well = false
  const { lane, requests } = openLane(
    async (_, request) => {
      if (request === 3) await opened
      return well && request > 3 ? accepted : failed('configuration')
    },
    { probeMinMs: 1e6, probeMaxMs: 1e6 },
  )
  const held = lane.deliver(someEvents(2, 'h'))
  while (!lane.probing) await new Promise(setImmediate)
  t.equal(requests.length, 2)
  lane.hurry()
  while (requests.length < 3) await new Promise(setImmediate)
  well = true
  lane.hurry()
  open()
  t.match(await held, { outcome: 'done', counts: { delivered: 2 } })
  await lane.close()
})

t.test('from the beginning of one probe to the next it is at most half a minute', (t) => {
  t.equal(laneSettings.probeMaxMs, 30_000)
  const pace = new Pace({ concurrencyMax: 1, probeMinMs: 15_000, probeMaxMs: 30_000 })
  for (let n = 0; n < 1000; n += 1) {
    pace.sent(1)
    pace.probe()
    const waitMs = pace.waitMs()
    if (waitMs > 30_000 || waitMs < 14_000) t.fail(`${waitMs} ms`)
  }
  const slow = new Pace({ concurrencyMax: 1, probeMinMs: 100, probeMaxMs: 100 })
  slow.sent(1)
  const begunMs = performance.now()
  while (performance.now() < begunMs + 100);
  slow.probe()
  t.equal(slow.waitMs(), 0, 'the time of the request counts')
  t.end()
})

t.test('a clock that is set hours ahead and right again changes no wait', (t) => {
  const settings = { concurrencyMax: 4, probeMinMs: 15_000, probeMaxMs: 15_000 }
  const backoff = { baseMs: 1_000, capMs: 30_000 }
  const waits: [name: string, begin: (pace: Pace) => void, waitMs: number][] = [
    ['a probe', (pace) => pace.probe(), 15_000],
    ['a backoff', (pace) => void pace.backOff(backoff), 1_000],
    ['a wait that the service asked for', (pace) => void pace.backOff(backoff, 20_000), 20_000],
  ]
  const hourMs = 3_600_000
  for (const [name, begin, waitMs] of waits) {
    for (const setByMs of [2 * hourMs, -2 * hourMs]) {
      const pace = new Pace(settings)
      const wall = Date.now
      const clock = mock.method(Date, 'now', () => wall() + setByMs)
      pace.sent(1)
      begin(pace)
      clock.mock.restore()
      const leftMs = pace.waitMs()
      t.ok(leftMs <= waitMs, `${name}: ${leftMs} ms`)
    }
  }
  t.end()
})
