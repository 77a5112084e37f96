/** Packs that get too old: which are dropped, and what of a pack that was accepted in part. */
import fc from 'fast-check'
import t from 'tap'
import { droppedEvents, Expiry, oldestPack } from '../../../src/delivery/deliver/expiry.js'
import { packHeaders } from '../../../src/delivery/wire/names.js'
import { PackWriter, readPack } from '../../../src/delivery/wire/pack.js'
import { parseSegments, Segments } from '../../../src/delivery/wire/pack-message.js'
import { partitionsUpTo } from '../../../src/delivery/wire/partitions.js'
import { someEvents } from './events.js'
import { accepted, failed, gate, openLane } from './fake-lane.js'

const [first, second] = partitionsUpTo(2)

const tick = () => new Promise((resolve) => setTimeout(resolve, 5))

t.test('a lane drops of an old pack what has no outcome, and keeps a young one', async (t) => {
  const { lane } = openLane((_, request) =>
    request === 1
      ? {
          outcome: 'partial',
          retry: [1, 3],
          rejected: [{ index: 2, fault: { class: 'poison', code: 'x', msg: 'x.' } }],
          reason: { class: 'transient', code: 'x', msg: 'x.' },
        }
      : failed('credentials'),
  )
  const old = lane.deliver(someEvents(4, 'o'), 7, 1_000)
  await tick()
  lane.expire(1_000)
  await tick()
  t.equal(lane.status().state === 'healthy', false)
  lane.expire(1_001)
  const result = await old
  t.match(result, { outcome: 'done', counts: { delivered: 1, dead_lettered: 1 } })
  t.strictSame(result.outcome === 'done' && result.dropped?.map(({ id }) => id), ['o1', 'o3'])
  await lane.close()
})

t.test('a pack does not expire while a request with its events is under way', async (t) => {
  const { opened, open } = gate()
  const { lane } = openLane(async () => {
    await opened
    return accepted
  })
  const pack = lane.deliver(someEvents(3, 'p'), 7, 1_000)
  lane.expire(2_000)
  open()
  const result = await pack
  t.match(result, { outcome: 'done', counts: { delivered: 3 } })
  t.notOk('dropped' in result)
  await lane.close()
})

t.test('nothing is dropped shortly after a start, nor if the destination may lose nothing', async (t) => {
  const nats = { consumerInfo: async () => undefined, nextMessage: async () => ({ storedAtMs: 0 }) as never }
  const started = new Expiry(nats, 60_000, { now: Date.now })
  t.equal(started.beforeMs({}), Number.NEGATIVE_INFINITY)
  t.notOk(await started.isDue({ id: 'ed_1' }, first!))
  const running = new Expiry(nats, 1, { now: Date.now })
  const age = Date.now() - running.beforeMs({})
  t.ok(age >= 0 && age < 10_000)
  t.ok(await running.isDue({ id: 'ed_1' }, first!))
  t.notOk(await running.isDue({ id: 'ed_1' }, first!), 'the next look comes later')
  running.dropped()
  t.ok(await running.isDue({ id: 'ed_1' }, first!), 'unless one was dropped')
  t.equal(running.beforeMs({ keepsEvents: true }), Number.NEGATIVE_INFINITY)
  running.dropped()
  t.notOk(await running.isDue({ id: 'ed_1', keepsEvents: true }, first!))
})

t.test('old packs of a partition are fetched from this one', async (t) => {
  const storedAtMs = { [first!.deliveriesStream]: Date.now(), [second!.deliveriesStream]: 0 }
  const nats = {
    consumerInfo: async () => undefined,
    nextMessage: async (stream: string) => ({ storedAtMs: storedAtMs[stream] }) as never,
  }
  const expiry = new Expiry(nats, 10_000, { now: Date.now })
  const isDue = () => Promise.all([first!, second!].map((each) => expiry.isDue({ id: 'ed_1' }, each)))
  t.strictSame(await isDue(), [false, false], 'nothing is dropped shortly after a start')
  const running = new Expiry(nats, 1, { now: Date.now })
  storedAtMs[first!.deliveriesStream] = Date.now() + 60_000
  t.notOk(await running.isDue({ id: 'ed_1' }, first!))
  t.ok(await running.isDue({ id: 'ed_1' }, second!), 'a look at another partition does not count')
  t.notOk(await running.isDue({ id: 'ed_1' }, second!))
})

t.test('a pack that was moved is as old as when it was stored first', async (t) => {
  const move = { storedAtMs: Date.now() + 60_000, headers: new Map() }
  const nats = { consumerInfo: async () => undefined, nextMessage: async () => move as never }
  const running = new Expiry(nats, 1, { now: Date.now })
  t.notOk(await running.isDue({ id: 'ed_1' }, first!), 'it was not moved')
  running.dropped()
  move.headers.set(packHeaders.storedAt, String(Date.now() - 60_000))
  t.ok(await running.isDue({ id: 'ed_1' }, first!))
  t.ok((await oldestPack(nats, { all: [first!] }, 'ed_1'))!.storedAtMs < Date.now())
  running.dropped()
  move.headers.set(packHeaders.storedAt, String(Date.now() + 120_000))
  t.notOk(await running.isDue({ id: 'ed_1' }, first!), 'a time after the move is none')
})

t.test('each dropped event is counted under its kind and its message', async (t) => {
  const kinds = ['log.v0', 'tcp_connection_closed.v0', 'ip_policy_created.v0']
  const event = fc.record({ kind: fc.constantFrom(...kinds), isDropped: fc.boolean() })
  const messages = fc.array(fc.array(event, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 12 })
  fc.assert(
    fc.property(messages, (packed) => {
      const writer = new PackWriter()
      const segments = new Segments()
      const expected = new Map<string, number>()
      let position = 0
      for (const [index, events] of packed.entries()) {
        const sequence = 10 + index * 2
        segments.add(sequence, 0, events.length)
        for (const { kind, isDropped } of events) {
          writer.append('key', position, JSON.stringify({ event_id: `ev_${position}`, event_type: kind }))
          position += 1
          const key = `${kind} ${sequence}`
          if (isDropped) expected.set(key, (expected.get(key) ?? 0) + 1)
        }
      }
      const { events } = readPack(writer.take())
      const dropped = events.filter((_, index) => packed.flat()[index]!.isDropped)
      const found = droppedEvents(events, dropped, segments.format())
      const counted = new Map(
        found.kinds.flatMap(([kind, text]) =>
          parseSegments(text).flatMap(({ range: [first, last], events: ofEach }) =>
            Array.from({ length: last - first + 1 }, (_, at) => [`${kind} ${first + at}`, ofEach] as const),
          ),
        ),
      )
      t.strictSame(new Map([...counted].sort()), new Map([...expected].sort()))
    }),
    { numRuns: 100 },
  )
})

const hourMs = 3_600_000

t.test('a clock that is ahead by hours drops nothing that is seconds old', async (t) => {
  const cases: [name: string, clockMs: number, serverMs: number | undefined, isDue: boolean][] = [
    ['this machine is ahead', 2 * hourMs, 0, false],
    ['the server is ahead', 0, 2 * hourMs, false],
    ['this machine is ahead, and the server does not say', 2 * hourMs, undefined, true],
    ['both say so', 2 * hourMs, 2 * hourMs, true],
    ['none is', 0, 0, false],
  ]
  let passedMs = 0
  t.intercept(performance, 'now', { get: () => () => passedMs, configurable: true })
  for (const [name, clockMs, server, isDue] of cases) {
    passedMs = 0
    const storedAtMs = Date.now()
    const serverMs = server === undefined ? undefined : Date.now() + server
    const nats = {
      consumerInfo: async () => ({ ackFloor: 0, delivered: 0, waiting: 1, unacknowledged: 1, serverMs }),
      nextMessage: async () => ({ storedAtMs, headers: new Map() }) as never,
    }
    const expiry = new Expiry(nats, hourMs, { now: () => Date.now() + clockMs })
    // The time after a start has passed.
    passedMs = 2 * hourMs
    t.equal(await expiry.isDue({ id: 'ed_1' }, first!), isDue, name)
    t.equal(storedAtMs < expiry.beforeMs({}), isDue, name)
  }
})
