/** A lane whose requests are accepted or fail briefly, and its end. */
import { mock } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import * as fc from 'fast-check'
import t from 'tap'
import type { SendOutcome } from '../../../src/delivery/deliver/kind/sender.js'
import { eventsOf, someEvents } from './events.js'
import { accepted, done, failed, fault, gate, openLane, roomForAll } from './fake-lane.js'

/** Timers of a lane keep no process alive; a test waits for them nevertheless. */
const keepAlive = setInterval(() => {}, 1000)
t.teardown(() => clearInterval(keepAlive))

t.test('events of several packs share requests, and each pack has its own end', async (t) => {
  const first = gate()
  const { lane, requests, counts } = openLane(async (_, request) => {
    if (request === 1) await first.opened
    return accepted
  })
  const alone = lane.deliver(someEvents(1, 'a'))
  const packs = [lane.deliver(someEvents(3, 'b')), lane.deliver(someEvents(3, 'c')), lane.deliver([])]
  t.same(await packs[2], done(0, 0, 0), 'an empty pack')
  t.same(await packs[0], done(3, 0, 0), 'a full request does not wait for the one under way')
  first.open()
  t.same([await alone, await packs[1]], [done(1, 0, 0), done(3, 0, 0)])
  t.same(requests, [['a0'], ['b0', 'b1', 'b2', 'c0'], ['c1', 'c2']])
  t.equal(counts.underWayMax, 2)
  t.match(lane.status(), { state: 'healthy', cause: null, last_success_at: String, last_error: null })
  await lane.close()
  t.equal(counts.closed, 1)
})

t.test('no more requests are under way than allowed', async (t) => {
  const { lane, counts } = openLane(async () => accepted, { concurrencyMax: 3 })
  t.same(await lane.deliver(someEvents(100)), done(100, 0, 0))
  t.equal(counts.underWayMax, 3)
  await lane.close()
})

t.test('only the records that failed are sent again, and the others continue', async (t) => {
  const seen = new Map<string, number>()
  const { lane, states } = openLane((events) => {
    const retry = events.flatMap(({ id }, index) => {
      const times = (seen.get(id) ?? 0) + 1
      seen.set(id, times)
      return times <= Number(id.slice(1)) % 3 ? [index] : []
    })
    const reason = fault('throttle')
    return retry.length === 0 ? accepted : { outcome: 'partial', retry, rejected: [], reason }
  })
  const result = await lane.deliver(someEvents(30, 'e'))
  t.same(result, done(30, 0, 30))
  for (const [id, times] of seen) t.equal(times, (Number(id.slice(1)) % 3) + 1, id)
  t.same([states[0], lane.status().state], ['throttled', 'healthy'])
  t.match(lane.status(), { last_error: { code: 'throttle', msg: 'throttle.', at: String } })
  await lane.close()
})

t.test('whole requests that fail are tried again, one at a time until one is accepted', async (t) => {
  // The fifth to the eighth request hold 4, 2, 1 and 1 events: they may be refused for their size.
  for (const faultClass of ['throttle', 'transient'] as const) {
    let underWay = 0
    let atOnce = 0
    const { lane, requests, states } = openLane(async (_, request) => {
      underWay += 1
      await new Promise(setImmediate)
      if (request > 4 && request <= 8) atOnce = Math.max(atOnce, underWay)
      underWay -= 1
      return request <= 8 ? failed(faultClass) : accepted
    })
    t.same(await lane.deliver(someEvents(16)), done(16, 0, 24), faultClass)
    t.equal(atOnce, 1, 'careful after failures')
    t.same(
      requests.slice(8).map(({ length }) => length),
      [1, 2, 4, 4, 4, 1],
    )
    t.same(states, [faultClass === 'throttle' ? 'throttled' : 'failing', 'healthy'])
    await lane.close()
  }
})

/** Much longer than the waits of such a lane: one that has not sent by then never does. */
const stuckMs = 5_000

t.test('a wait that ends between two readings of the clock is noticed', async (t) => {
  const throttle = { baseMs: 40, capMs: 1e6 }
  for (const phase of [0, 1, 2, 3]) {
    const random = mock.method(Math, 'random', () => (20 + phase) / throttle.baseMs)
    let clock = 1_000_000
    const passed = mock.method(performance, 'now', () => (clock += 1))
    const { lane } = openLane((_, request) => (request === 1 ? failed('throttle') : accepted), {
      backoffs: { throttle, transient: throttle, record: throttle },
    })
    const stuck = sleep(stuckMs, 'stuck', { ref: false })
    t.same(await Promise.race([lane.deliver(someEvents(3, 'e')), stuck]), done(3, 0, 3), `phase ${phase}`)
    passed.mock.restore()
    random.mock.restore()
    await lane.close()
  }
})

t.test('a lane that may not send is paused, holds one pack, returns the others, and resumes', async (t) => {
  for (const faultClass of ['credentials', 'configuration'] as const) {
    let allowed = false
    const { lane, requests, counts, states } = openLane(() => (allowed ? accepted : failed(faultClass)), {
      concurrencyMax: 1,
    })
    const held = lane.deliver(someEvents(3, 'h'))
    const others = [lane.deliver(someEvents(9, 'o')), lane.deliver(someEvents(1, 'p'))]
    for (const result of await Promise.all(others)) t.match(result, { outcome: 'returned', delayMs: Number })
    t.match(lane.status(), { state: 'paused', cause: faultClass, last_success_at: null })
    t.ok(lane.probing)
    t.match(await lane.deliver(someEvents(1, 'q')), { outcome: 'returned' }, 'and accepts no more')
    const before = requests.length
    while (requests.length < before + 4) await new Promise((resolve) => setTimeout(resolve, 1))
    const probes = requests.slice(before)
    t.ok(
      probes.every((ids) => ids.length === 1 && ids[0]!.startsWith('h')),
      'one event of the held pack at a time',
    )
    t.ok(new Set(probes.flat()).size > 1, 'not always the same')
    t.ok(counts.drops >= 4, 'each with newly fetched credentials')
    allowed = true
    t.match(await held, { outcome: 'done', counts: { delivered: 3, dead_lettered: 0 } })
    t.same(states, ['paused', 'healthy'])
    t.notOk(lane.probing)
    t.same(await lane.deliver(someEvents(8)), done(8, 0, 0))
    await lane.close()
  }
})

t.test('only the refused event goes to the dead letters', async (t) => {
  const { lane, dead, requests } = openLane((events) =>
    events.some(({ id }) => id === 'e2' || id === 'e3' || id === 'e9') ? failed('poison') : accepted,
  )
  const result = await lane.deliver(someEvents(12, 'e'))
  t.match(result, { outcome: 'done', counts: { delivered: 9, dead_lettered: 3 } })
  t.same(dead.sort(), ['e2', 'e3', 'e9'])
  const good = requests.filter((ids) => !ids.some((id) => dead.includes(id))).flat()
  t.equal(new Set(good).size, good.length, 'accepted events are not sent again')
  t.equal(lane.status().state, 'healthy')
  await lane.close()
})

t.test('a request that is refused for its size costs no event, and requests become smaller', async (t) => {
  const { lane, dead, requests, states } = openLane((events) =>
    events.length > 2 ? failed('poison') : accepted,
  )
  t.match(await lane.deliver(someEvents(200, 'e')), { outcome: 'done', counts: { delivered: 200 } })
  t.same([dead, states], [[], []])
  t.ok(requests.filter(({ length }) => length > 2).length <= 4, 'few are refused')
  await lane.close()
})

t.test('an event goes to the dead letters if the service refused it alone, and only then', async (t) => {
  const patterns = fc.record({
    poisonous: fc.uniqueArray(fc.integer({ min: 0, max: 39 }), { maxLength: 6 }),
    eventsMax: fc.integer({ min: 1, max: 4 }),
    whims: fc.array(fc.boolean(), { minLength: 1, maxLength: 9 }),
  })
  await fc.assert(
    fc.asyncProperty(patterns, async ({ poisonous, eventsMax, whims }) => {
      const { lane, dead } = openLane((events, request) => {
        const isWhim = events.length > 1 && whims[request % whims.length] === true
        const isPoisoned = events.some(({ id }) => poisonous.includes(Number(id.slice(1))))
        return isWhim || isPoisoned || events.length > eventsMax ? failed('poison') : accepted
      })
      const result = await lane.deliver(someEvents(40, 'e'))
      t.match(result, { outcome: 'done', counts: { dead_lettered: poisonous.length } })
      t.same(dead.sort(), poisonous.map((at) => `e${at}`).sort())
      await lane.close()
    }),
    { seed: 11, numRuns: 100 },
  )
})

t.test(
  'events that the service rejects, and those too large to send, are dead-lettered; the others are accepted',
  async (t) => {
    const { lane, dead, requests } = openLane((events) => {
      const rejected = events.flatMap(({ id }, index) =>
        id === 'e1' ? [{ index, fault: fault('poison') }] : [],
      )
      return rejected.length === 0 ? accepted : { outcome: 'partial', retry: [], rejected }
    })
    const large = eventsOf([{ id: 'large', padding: 'x'.repeat(1000) }])
    t.same(await lane.deliver([...someEvents(3, 'e'), ...large]), done(2, 2, 0))
    t.same(dead.sort(), ['e1', 'large'])
    t.notOk(requests.flat().includes('large'))
    await lane.close()
  },
)

t.test('a search for the refused event survives other faults', async (t) => {
  const { lane, dead } = openLane((events, request) => {
    if (request % 3 === 0) return failed('transient')
    return events.some(({ id }) => id === 'e1') ? failed('poison') : accepted
  })
  t.match(await lane.deliver(someEvents(4, 'e')), {
    outcome: 'done',
    counts: { delivered: 3, dead_lettered: 1 },
  })
  t.same(dead, ['e1'])
  await lane.close()
})

t.test('a pack whose dead letter cannot be stored is returned', async (t) => {
  const { lane, dead } = openLane(
    () => failed('poison'),
    {},
    async () => {
      throw new Error('no store')
    },
  )
  t.match(await lane.deliver(someEvents(1)), { outcome: 'returned' })
  t.same(dead, [])
  await lane.close()
})

t.test('closing waits for requests under way and returns the rest', async (t) => {
  const first = gate()
  const { lane, requests } = openLane(
    async () => {
      await first.opened
      return accepted
    },
    { concurrencyMax: 1, closeTimeoutMs: 60_000 },
  )
  const inRequest = lane.deliver(someEvents(4, 'a'))
  const waiting = lane.deliver(someEvents(4, 'b'))
  const closed = lane.close()
  t.match(await lane.deliver(someEvents(1, 'c')), { outcome: 'returned' })
  first.open()
  await closed
  t.same(await inRequest, done(4, 0, 0))
  t.match(await waiting, { outcome: 'returned' })
  t.equal(requests.length, 1)
})

t.test('closing aborts requests that do not end', async (t) => {
  const { lane, counts } = openLane(() => new Promise<SendOutcome>(() => {}), { closeTimeoutMs: 5 })
  const hung = lane.deliver(someEvents(4))
  await lane.close()
  t.match(await hung, { outcome: 'returned' })
  t.equal(counts.closed, 1)
})

t.test('a sender or a log with a defect ends no process, and its events are sent again', async (t) => {
  const log = {
    requested: () => {
      throw new Error('The log is broken.')
    },
    deadLettered: () => {},
  }
  const { lane } = openLane(
    (_, request) => {
      if (request === 1) throw new Error('The sender is broken.')
      return accepted
    },
    {},
    async () => {},
    roomForAll,
    log,
  )
  t.same(await lane.deliver(someEvents(2)), done(2, 0, 2))
  await lane.close()
})
