/** Kinds whose requests wait for more events, or hold whole packs only, and services that say when to come again. */
import t from 'tap'
import type { BatchLimits } from '../../../src/deliver/destination.js'
import { someEvents } from '../events.js'
import { accepted, done, failed, fault, openLane, roomForAll } from '../fake-lane.js'

type Behaviour = Parameters<typeof openLane>[0]

/** A lane of one request at a time to a kind with these limits. */
const laneWith = (limits: Partial<BatchLimits>, behave: Behaviour = () => accepted) =>
  openLane(behave, { concurrencyMax: 1 }, async () => {}, roomForAll, undefined, limits)

// The timers of a lane keep no process alive.
const alive = setInterval(() => {}, 60_000)
t.teardown(() => clearInterval(alive))

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

t.test('a request waits for others, but not longer than it may', async (t) => {
  const { lane, requests } = laneWith({ lingerMs: 100 })
  const first = lane.deliver(someEvents(1, 'a'))
  const second = lane.deliver(someEvents(1, 'b'))
  await sleep(20)
  t.same(requests, [], 'nothing is sent yet')
  t.same(await first, done(1, 0, 0))
  t.same(await second, done(1, 0, 0))
  t.same(requests, [['a0', 'b0']])
  const full = lane.deliver(someEvents(4, 'c'))
  await sleep(20)
  t.equal(requests.length, 2, 'a full request waits for nothing')
  t.same(await full, done(4, 0, 0))
  await lane.close()
})

t.test('a lane that can get no more events waits for none', async (t) => {
  let isFull = false
  const { lane, requests } = openLane(
    () => accepted,
    { concurrencyMax: 1 },
    async () => {},
    roomForAll,
    undefined,
    { lingerMs: 60_000 },
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
  const { lane, requests } = laneWith({ lingerMs: 60_000 }, (_, request) =>
    request === 1 ? failed('transient') : accepted,
  )
  t.same(await lane.deliver(someEvents(4, 'a')), done(4, 0, 4))
  t.equal(requests.length, 2)
  await lane.close()
})

t.test('a lane that ends gives back packs that wait for others', async (t) => {
  const { lane, requests } = laneWith({ lingerMs: 60_000 })
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
