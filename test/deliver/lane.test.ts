/** The ways of a lane, against a sender that does as it is told. */
import t from 'tap'
import type {
  DestinationConfig,
  Fault,
  FaultClass,
  Sender,
  SendOutcome,
} from '../../src/deliver/destination.js'
import { Lane } from '../../src/deliver/lane.js'
import type { LaneSettings } from '../../src/deliver/lane-settings.js'
import type { PackedEvent } from '../../src/deliver/pack.js'
import { eventsOf, someEvents } from './events.js'

const config: DestinationConfig = {
  id: 'ed_1',
  accountId: 'ac_1',
  kind: 'kinesis',
  arn: 'arn:aws:kinesis:us-east-1:000000000000:stream/one',
  auth: { role: { role_arn: 'arn:aws:iam::000000000000:role/x' } },
}

const fault = (faultClass: FaultClass, code = faultClass): Fault => ({
  class: faultClass,
  code,
  msg: `${code}.`,
})
const failed = (faultClass: FaultClass): SendOutcome => ({ outcome: 'failed', fault: fault(faultClass) })
const accepted: SendOutcome = { outcome: 'accepted' }

type Behaviour = (events: readonly PackedEvent[], request: number) => SendOutcome | Promise<SendOutcome>

interface Opened {
  readonly lane: Lane
  /** The ids of each request, in order. */
  readonly requests: string[][]
  readonly dead: string[]
  /** The states the lane went through, beginning with the first change. */
  readonly states: string[]
  readonly counts: { drops: number; closed: number; underWayMax: number }
}

const fast: Partial<LaneSettings> = {
  probeMinMs: 2,
  probeMaxMs: 4,
  closeTimeoutMs: 50,
  abortTimeoutMs: 50,
  backoffs: { throttle: { baseMs: 1, capMs: 1e6 }, transient: { baseMs: 1, capMs: 1e6 } },
}

/** Timers of a lane keep no process alive; a test waits for them nevertheless. */
const keepAlive = setInterval(() => {}, 1000)
t.teardown(() => clearInterval(keepAlive))

function openLane(
  behave: Behaviour,
  settings: Partial<LaneSettings> = {},
  deadLetter: (event: PackedEvent) => Promise<void> = async () => {},
): Opened {
  const requests: string[][] = []
  const dead: string[] = []
  const states: string[] = []
  const counts = { drops: 0, closed: 0, underWayMax: 0 }
  let underWay = 0
  const open = (): Sender => ({
    limits: () => ({
      eventsMax: 4,
      requestBytesMax: 1e6,
      eventBytesMax: 1000,
      sizeOf: ({ data }) => data.length,
    }),
    async send(events, signal) {
      requests.push(events.map(({ id }) => id))
      underWay += 1
      counts.underWayMax = Math.max(counts.underWayMax, underWay)
      const outcome = await Promise.race([behave(events, requests.length), aborted(signal)])
      underWay -= 1
      return outcome
    },
    dropCredentials: () => {
      counts.drops += 1
    },
    close: () => {
      counts.closed += 1
    },
  })
  const lane = new Lane(config, {
    open,
    settings: { ...fast, ...settings },
    changed: ({ state }) => states.push(state),
    deadLetter: async (event) => {
      await deadLetter(event)
      dead.push(event.id)
    },
  })
  return { lane, requests, dead, states, counts }
}

/** Each signal has one, so that requests without number leave no listeners behind. */
const abortions = new WeakMap<AbortSignal, Promise<SendOutcome>>()

function aborted(signal: AbortSignal): Promise<SendOutcome> {
  const known = abortions.get(signal)
  if (known !== undefined) return known
  const made = new Promise<SendOutcome>((resolve) => {
    signal.addEventListener('abort', () => resolve(failed('transient')))
  })
  abortions.set(signal, made)
  return made
}

/** A promise and the function that fulfils it. */
function gate(): { opened: Promise<void>; open: () => void } {
  let open = (): void => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open }
}

const done = (delivered: number, dead_lettered: number, retried: number) => ({
  outcome: 'done',
  counts: { delivered, dead_lettered, retried },
})

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

t.test('only the records that failed are sent again, and the rest of the line goes on', async (t) => {
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
    t.same(await lane.deliver(someEvents(16)), done(16, 0, 32), faultClass)
    t.equal(atOnce, 1, 'careful after failures')
    t.equal(requests.length, 12)
    t.same(states, [faultClass === 'throttle' ? 'throttled' : 'failing', 'healthy'])
    await lane.close()
  }
})

t.test('refused credentials are fetched anew, once, before anybody notices', async (t) => {
  const { lane, counts, states } = openLane((_, request) => (request <= 4 ? failed('credentials') : accepted))
  t.same(await lane.deliver(someEvents(16)), done(16, 0, 16))
  t.equal(counts.drops, 1, 'four requests under way with the same credentials, one new pair')
  t.same(states, [])
  t.match(lane.status(), { state: 'healthy', last_error: { code: 'credentials' } })
  await lane.close()
})

t.test(
  'a lane that may not send is paused, holds one pack, gives the others back, and resumes',
  async (t) => {
    for (const faultClass of ['credentials', 'configuration'] as const) {
      let allowed = false
      const { lane, requests, counts, states } = openLane(() => (allowed ? accepted : failed(faultClass)), {
        concurrencyMax: 1,
      })
      const held = lane.deliver(someEvents(3, 'h'))
      const others = [lane.deliver(someEvents(9, 'o')), lane.deliver(someEvents(1, 'p'))]
      for (const result of await Promise.all(others))
        t.match(result, { outcome: 'returned', delayMs: Number })
      t.match(lane.status(), { state: 'paused', cause: faultClass, last_success_at: null })
      t.ok(lane.probing)
      t.match(await lane.deliver(someEvents(1, 'q')), { outcome: 'returned' }, 'and takes no more')
      const before = requests.length
      while (requests.length < before + 4) await new Promise((resolve) => setTimeout(resolve, 1))
      const probes = requests.slice(before)
      t.ok(
        probes.every((ids) => ids.length === 1 && ids[0]!.startsWith('h')),
        'one event of the held pack at a time',
      )
      t.ok(new Set(probes.flat()).size > 1, 'not always the same')
      t.ok(counts.drops >= 4, 'each with credentials fetched anew')
      allowed = true
      t.match(await held, { outcome: 'done', counts: { delivered: 3, dead_lettered: 0 } })
      t.same(states, ['paused', 'healthy'])
      t.notOk(lane.probing)
      t.same(await lane.deliver(someEvents(8)), done(8, 0, 0))
      await lane.close()
    }
  },
)

t.test('failures that go on to the cap of the backoff end in probing, too', async (t) => {
  let well = false
  const backoff = { baseMs: 1, capMs: 4 }
  const { lane, states } = openLane(() => (well ? accepted : failed('transient')), {
    backoffs: { throttle: backoff, transient: backoff },
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

t.test('the event that is refused goes to the dead letters alone', async (t) => {
  const { lane, dead, requests } = openLane((events) =>
    events.some(({ id }) => id === 'e2' || id === 'e3' || id === 'e9') ? failed('poison') : accepted,
  )
  const result = await lane.deliver(someEvents(12, 'e'))
  t.match(result, { outcome: 'done', counts: { delivered: 9, dead_lettered: 3 } })
  t.same(dead.sort(), ['e2', 'e3', 'e9'])
  const good = requests.filter((ids) => !ids.some((id) => dead.includes(id))).flat()
  t.equal(new Set(good).size, good.length, 'what was accepted is not sent again')
  t.equal(lane.status().state, 'healthy')
  await lane.close()
})

t.test('events the service rejects beside others, and those too large to send, are parked', async (t) => {
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
})

t.test('where everything is refused it is no event, and the lane pauses', async (t) => {
  let refusing = true
  const { lane, dead } = openLane(() => (refusing ? failed('poison') : accepted), { concurrencyMax: 1 })
  const packs = Array.from({ length: 20 }, (_, at) => lane.deliver(someEvents(2, `p${at}-`)))
  const results = await Promise.all(packs)
  t.equal(dead.length, 8, 'a few are parked until that is clear')
  t.ok(results.some(({ outcome }) => outcome === 'returned'))
  t.match(lane.status(), { state: 'paused', cause: 'configuration' })
  refusing = false
  let result = await lane.deliver(someEvents(2, 'late'))
  while (result.outcome === 'returned') result = await lane.deliver(someEvents(2, 'late'))
  t.same(result, done(2, 0, 0))
  t.equal(lane.status().state, 'healthy')
  await lane.close()
})

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

t.test('a pack whose dead letter can not be stored is given back', async (t) => {
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

t.test('closing waits for what is under way and gives the rest back', async (t) => {
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

t.test('closing gives up what does not end', async (t) => {
  const { lane, counts } = openLane(() => new Promise<SendOutcome>(() => {}), { closeTimeoutMs: 5 })
  const hung = lane.deliver(someEvents(4))
  await lane.close()
  t.match(await hung, { outcome: 'returned' })
  t.equal(counts.closed, 1)
})

t.test('with another target everything pending goes there at once', async (t) => {
  let target = 'old'
  const { lane, states, counts } = openLane(() => (target === 'old' ? failed('configuration') : accepted), {
    probeMinMs: 1e6,
    probeMaxMs: 1e6,
  })
  const held = lane.deliver(someEvents(5, 'h'))
  while (!lane.probing) await new Promise(setImmediate)
  target = 'new'
  lane.retarget({ ...config, arn: 'arn:aws:kinesis:us-east-1:000000000000:stream/two' })
  t.match(await held, { outcome: 'done', counts: { delivered: 5 } })
  t.same(states, ['paused', 'healthy'])
  t.equal(counts.closed, 1, 'the old sender is closed')
  await lane.close()
})
