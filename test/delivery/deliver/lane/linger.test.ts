/** Kinds whose requests wait for more events, or hold whole packs only, and services that say when to come again. */
import { mock } from 'node:test'
import t from 'tap'
import type { BatchLimits } from '../../../../src/delivery/deliver/kind/sender.js'
import { Pace } from '../../../../src/delivery/deliver/lane/pace.js'
import { someEvents } from '../events.js'
import { accepted, config, done, failed, fault, gate, openLane, roomForAll } from '../fake-lane.js'

const backoff = { baseMs: 1, capMs: 30_000 }
const shortCaps = { throttle: backoff, transient: backoff, record: backoff }

type Behaviour = Parameters<typeof openLane>[0]

/** A lane of one request at a time to a kind with these limits. */
const laneWith = (limits: Partial<BatchLimits>, behave: Behaviour = () => accepted) =>
  openLane(behave, { concurrencyMax: 1 }, async () => {}, roomForAll, undefined, limits)

// The timers of a lane keep no process alive.
const alive = setInterval(() => {}, 60_000)
t.teardown(() => clearInterval(alive))

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
/** A lane that does not wait sends at once, so what it has not sent after this time does wait. */
const atOnceMs = 20
/** Longer than a test lasts. */
const longMs = 60_000

t.test('a request waits for others, but not longer than it may', async (t) => {
  // Its wait must be over by itself, but not before the look.
  const { lane, requests } = laneWith({ lingerMs: 500 })
  const first = lane.deliver(someEvents(1, 'a'))
  const second = lane.deliver(someEvents(1, 'b'))
  await sleep(atOnceMs)
  t.same(requests, [], 'nothing is sent yet')
  t.same(await first, done(1, 0, 0))
  t.same(await second, done(1, 0, 0))
  t.same(requests, [['a0', 'b0']])
  await lane.close()
  const { lane: patient } = laneWith({ lingerMs: longMs })
  t.same(await patient.deliver(someEvents(4, 'c')), done(4, 0, 0), 'a full request waits for nothing')
  await patient.close()
})

t.test('a wait that ends while the lane looks at the clock ends all the same', async (t) => {
  // Each look is a millisecond later, so of an even and an odd wait, one ends between two looks.
  for (const lingerMs of [10, 11, 12, 13]) {
    const { lane } = laneWith({ lingerMs })
    let nowMs = performance.now()
    const clock = mock.method(performance, 'now', () => (nowMs += 1))
    const delivered = lane.deliver(someEvents(1, 'a'))
    const late = sleep(1_000).then(() => 'it waits for ever')
    t.same(await Promise.race([delivered, late]), done(1, 0, 0), `${lingerMs} ms`)
    clock.mock.restore()
    await lane.close()
  }
})

t.test('a lane that can get no more events waits for none', async (t) => {
  let isFull = false
  const { lane, requests } = openLane(
    () => accepted,
    { concurrencyMax: 1 },
    async () => {},
    roomForAll,
    undefined,
    { lingerMs: longMs },
    () => isFull,
  )
  t.ok(lane.collects)
  const first = lane.deliver(someEvents(1, 'a'))
  isFull = true
  t.same(await first, done(1, 0, 0), 'it looks again')
  t.same(await lane.deliver(someEvents(1, 'b')), done(1, 0, 0))
  t.same(requests, [['a0'], ['b0']])
  await lane.close()
})

t.test('events that failed are sent again without such a wait', async (t) => {
  const { lane, requests } = laneWith({ lingerMs: longMs }, (_, request) =>
    request === 1 ? failed('transient') : accepted,
  )
  t.same(await lane.deliver(someEvents(4, 'a')), done(4, 0, 4))
  t.equal(requests.length, 2)
  await lane.close()
})

t.test('a lane that ends gives back packs that wait for others', async (t) => {
  const { lane, requests } = laneWith({ lingerMs: longMs })
  const waiting = lane.deliver(someEvents(2, 'a'))
  lane.finish()
  t.match(await waiting, { outcome: 'returned' })
  t.same(requests, [])
  await lane.close()
})

t.test('a request holds whole packs, except of a pack that no request can hold', async (t) => {
  const { lane, requests } = laneWith({ lingerMs: 20, wholePacks: true })
  const packs = [3, 2, 2, 6].map((size, index) => lane.deliver(someEvents(size, 'abcd'[index]!)))
  await Promise.all(packs)
  t.same(
    requests.map((ids) => ids.map((id) => id[0]).join('')),
    ['aaa', 'bbcc', 'dddd', 'dd'],
  )
  await lane.close()
})

t.test('a request of whole packs stays as it is when it is sent again', async (t) => {
  const { lane, requests } = laneWith({ lingerMs: 20, wholePacks: true, eventsMax: 6 }, (_, request) => {
    if (request === 1) return failed('transient')
    const partial = { outcome: 'partial', retry: [1, 3], rejected: [], reason: fault('throttle') } as const
    return request === 2 ? partial : accepted
  })
  const first = [lane.deliver(someEvents(2, 'a')), lane.deliver(someEvents(2, 'b'))]
  while (requests.length === 0) await sleep(1)
  const others = lane.deliver(someEvents(1, 'c'))
  await Promise.all([...first, others])
  t.same(requests.slice(0, 2), Array(2).fill(['a0', 'a1', 'b0', 'b1']))
  t.ok(
    requests.some((ids) => ids.join() === 'a1,b1'),
    'what is left of it',
  )
  t.ok(
    requests.some((ids) => ids.join() === 'c0'),
    'no others join it',
  )
  await lane.close()
})

t.test('a service that names a time is not asked before it', async (t) => {
  for (const faultClass of ['throttle', 'transient'] as const) {
    const begun = Date.now()
    const { lane } = openLane((_, request) =>
      request === 1 ? { outcome: 'failed', fault: { ...fault(faultClass), retryAfterMs: 300 } } : accepted,
    )
    t.same(await lane.deliver(someEvents(2, 'a')), done(2, 0, 2), faultClass)
    t.ok(Date.now() - begun >= 295, `${faultClass}: ${Date.now() - begun} ms`)
    await lane.close()
  }
})

t.test('a long wait that the service asks for gives back packs, as a probing lane does', async (t) => {
  const { lane, requests } = openLane(
    () => ({ outcome: 'failed', fault: { ...fault('throttle'), retryAfterMs: 600_000 } }),
    { backoffs: shortCaps },
  )
  const packs = [lane.deliver(someEvents(2, 'a')), lane.deliver(someEvents(2, 'b'))]
  t.match(await packs[1], { outcome: 'returned' }, 'another deliverer may have more luck')
  t.ok(lane.probing)
  t.equal(lane.wanted(10), 0, 'and nothing more is fetched')
  t.equal(requests.length, 1)
  await lane.close()
})

t.test('a request that is accepted meanwhile does not end such a wait, and an operator does', async (t) => {
  const slow = gate()
  const { lane, requests } = openLane(async (_, request) => {
    if (request === 1) await slow.opened
    return request === 2
      ? { outcome: 'failed', fault: { ...fault('throttle'), retryAfterMs: 20_000 } }
      : accepted
  })
  const first = lane.deliver(someEvents(4, 'a'))
  const second = lane.deliver(someEvents(4, 'b'))
  while (requests.length < 2) await sleep(1)
  slow.open()
  await first
  await sleep(atOnceMs)
  t.equal(requests.length, 2, 'the service asked for time')
  lane.hurry()
  t.same(await second, done(4, 0, 4))
  await lane.close()
})

t.test('a pause ends the search for a refused event', async (t) => {
  const { lane, requests } = openLane((_, request) => {
    if (request === 2) lane.halt()
    return request <= 2 ? failed('poison') : accepted
  })
  const pack = lane.deliver(someEvents(4, 'a'))
  while (requests.length < 2) await sleep(1)
  await sleep(atOnceMs)
  t.equal(requests.length, 2, 'no part of it is sent after the pause')
  lane.resume()
  t.match(await pack, { outcome: 'done', counts: { delivered: 4, dead_lettered: 0 } })
  await lane.close()
})

t.test('a refusal by the former target makes no dead letter', async (t) => {
  const slow = gate()
  let isOld = true
  const { lane, dead } = openLane(async () => {
    if (!isOld) return accepted
    await slow.opened
    return failed('poison')
  })
  const pack = lane.deliver(someEvents(1, 'a'))
  isOld = false
  lane.retarget(config)
  slow.open()
  t.same(await pack, done(1, 0, 1))
  t.same(dead, [])
  await lane.close()
})

t.test('a bulk service that is throttled gets fewer requests, not smaller ones', async (t) => {
  mock.timers.enable({ apis: ['Date'], now: 1e12 })
  const passed = mock.method(performance, 'now', () => Date.now())
  t.teardown(() => {
    mock.timers.reset()
    passed.mock.restore()
  })
  const pace = new Pace({ concurrencyMax: 1, probeMinMs: 1, probeMaxMs: 1 })
  const limits = { eventsMax: 10_000, requestBytesMax: 1e9, eventBytesMax: 1e9, sizeOf: () => 1 }
  const retry = Array.from({ length: 9_000 }, (_, index) => index)
  mock.timers.tick(2_100)
  pace.answered(pace.sent(10_000), { outcome: 'partial', retry, rejected: [], reason: fault('throttle') })
  t.ok(pace.limits(limits).eventsMax < 10_000)
  t.equal(pace.limits({ ...limits, wholePacks: true }).eventsMax, 10_000)
})
