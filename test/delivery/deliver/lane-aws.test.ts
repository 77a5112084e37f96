/** Lanes against the AWS emulator, fault by fault: everything arrives, and only what failed is sent again. */
import t, { type Test } from 'tap'
import type { DestinationAuth } from '../../../src/delivery/deliver/aws/aws-kind.js'
import { kindNamed, openSender } from '../../../src/delivery/deliver/kinds.js'
import type { PackResult } from '../../../src/delivery/deliver/lane/job.js'
import { Lane } from '../../../src/delivery/deliver/lane/lane.js'
import type { LaneSettings } from '../../../src/delivery/deliver/lane/lane-settings.js'
import { eventServices, type FaultSpec } from '../../../src/outside/emulator/wire.js'
import {
  type AwsWorld,
  deniedCode,
  expiredCode,
  kindNames,
  kindsByRecord,
  missingCode,
  openAwsWorld,
  roleArn,
  roleAuth,
} from './aws-world.js'
import { eventsOf, someEvents } from './events.js'
import { roomForAll } from './fake-lane.js'

const backoff = { baseMs: 1, capMs: 1e6 }
const fast: Partial<LaneSettings> = {
  probeMinMs: 5,
  probeMaxMs: 10,
  backoffs: { throttle: backoff, transient: backoff, record: backoff },
}

interface Opened {
  readonly lane: Lane
  readonly dead: { id: string; code: string }[]
  readonly states: string[]
}

interface Options {
  readonly auth?: DestinationAuth
  readonly name?: string
  readonly settings?: Partial<LaneSettings>
}

function openLane(test: Test, world: AwsWorld, kind: string, options: Options = {}): Opened {
  const dead: Opened['dead'] = []
  const states: string[] = []
  const lane = new Lane(world.config(kind, options.auth, options.name), {
    open: (config) => openSender(config, world.deps),
    budget: roomForAll,
    deadLetter: async ({ id }, { code }) => void dead.push({ id, code }),
    changed: ({ state }) => states.push(state),
    settings: { ...fast, ...options.settings },
  })
  test.teardown(() => lane.close())
  return { lane, dead, states }
}

/** Like the deliverer: a returned pack is delivered again. */
async function deliver(lane: Lane, ids: readonly string[], eventsPerPack = 200): Promise<PackResult[]> {
  const packs = Array.from({ length: Math.ceil(ids.length / eventsPerPack) }, (_, at) =>
    ids.slice(at * eventsPerPack, (at + 1) * eventsPerPack),
  )
  return Promise.all(packs.map((pack) => untilDone(lane, pack)))
}

async function untilDone(lane: Lane, ids: readonly string[]): Promise<PackResult> {
  const events = eventsOf(ids.map((id) => ({ id })))
  for (;;) {
    const result = await lane.deliver(events)
    if (result.outcome === 'done') return result
    await new Promise((resolve) => setTimeout(resolve, 1 + result.delayMs))
  }
}

/** Fewer for a service that takes few in a request. */
const countFor = (kind: string, count: number): number =>
  kindNamed(kind).limits.eventsMax > 10 ? count : count / 10

const ids = (count: number): string[] => Array.from({ length: count }, (_, at) => `ev_${at}`)

const sum = (results: readonly PackResult[], count: 'delivered' | 'dead_lettered' | 'retried'): number =>
  results.reduce((total, result) => total + (result.outcome === 'done' ? result.counts[count] : 0), 0)

t.test('passing faults: nothing is lost, and nothing accepted is sent again', async (t) => {
  const some = (effect: FaultSpec['effect'], probability = 0.3): FaultSpec => ({ effect, probability })
  const cases: { name: string; fault: FaultSpec; kinds?: string[]; state: string }[] = [
    {
      name: '30 % of the records throttled',
      fault: some({ type: 'fail_records' }),
      kinds: kindsByRecord,
      state: 'throttled',
    },
    {
      name: '30 % of the records failed',
      fault: some({ type: 'fail_records', code: 'InternalFailure' }),
      kinds: kindsByRecord,
      state: 'failing',
    },
    { name: 'half of the requests throttled', fault: some({ type: 'throttle' }, 0.5), state: 'throttled' },
    {
      name: 'half of the requests fail',
      fault: some({ type: 'error', code: 'InternalFailure', status: 500 }, 0.5),
      state: 'failing',
    },
    { name: 'half of the connections are cut', fault: some({ type: 'drop' }, 0.5), state: 'failing' },
  ]
  const world = await openAwsWorld(t, { seed: 7 })
  for (const { name, fault, kinds = kindNames, state } of cases) {
    for (const kind of kinds) {
      const situation = `${kind}: ${name}`
      world.emulator.world.clear()
      world.emulator.world.faults.add(fault)
      const { lane, dead, states } = openLane(t, world, kind)
      const count = countFor(kind, 4000)
      const results = await deliver(lane, ids(count))
      t.same(
        [sum(results, 'delivered'), sum(results, 'dead_lettered'), dead.length],
        [count, 0, 0],
        situation,
      )
      t.match(world.ledger(kind).counts(), { events: count, unique: count, duplicates: 0 }, situation)
      t.ok(sum(results, 'retried') > 0, situation)
      t.ok(states.includes(state), situation)
      await lane.close()
    }
  }
})

t.test('answers lost after the service accepted the request: repeats, but no loss', async (t) => {
  const world = await openAwsWorld(t, { seed: 8, requestTimeoutMs: 2_000 })
  for (const kind of kindNames) {
    for (const type of ['commit_then_hang', 'commit_then_drop'] as const) {
      world.emulator.world.clear()
      world.emulator.world.faults.add({ effect: { type }, operation: world.putOperation(kind), count: 3 })
      const { lane } = openLane(t, world, kind)
      const count = countFor(kind, 3000)
      const results = await deliver(lane, ids(count))
      const { events, unique, duplicates } = world.ledger(kind).counts()
      t.same([unique, events - duplicates], [count, count], `${kind}: ${type}`)
      t.ok(duplicates > 0, 'some arrived twice')
      t.equal(duplicates, sum(results, 'retried'), 'exactly those that were sent again')
      await lane.close()
    }
  }
})

t.test(
  'one of several shards fails beyond the cap of the backoff, and recovers: nothing arrives twice',
  async (t) => {
    const world = await openAwsWorld(t, { seed: 9, resource: { shards: 4 } })
    world.emulator.world.faults.add({ effect: { type: 'fail_records', code: 'InternalFailure', shard: 1 } })
    const soon = { baseMs: 1, capMs: 16 }
    const { lane, dead, states } = openLane(t, world, 'kinesis', {
      settings: { backoffs: { throttle: soon, transient: soon, record: soon } },
    })
    const delivered = deliver(lane, ids(3000))
    while (!lane.probing) await new Promise(setImmediate)
    const probes = world.puts('kinesis') + 3
    while (world.puts('kinesis') < probes) await new Promise((resolve) => setTimeout(resolve, 1))
    world.emulator.world.faults.clear()
    t.equal(sum(await delivered, 'delivered'), 3000)
    t.match(world.ledger('kinesis').counts(), { events: 3000, unique: 3000, duplicates: 0 })
    t.same(dead, [])
    t.same([states[0], states.at(-1)], ['failing', 'healthy'])
  },
)

t.test('a session that expires in the middle is renewed without a failure', async (t) => {
  const world = await openAwsWorld(t)
  for (const kind of kindNames) {
    const { lane, dead, states } = openLane(t, world, kind, { auth: roleAuth })
    await deliver(lane, ids(600))
    world.emulator.world.expireSessions()
    await deliver(lane, ids(1200).slice(600))
    t.match(world.ledger(kind).counts(), { unique: 1200, duplicates: 0 }, kind)
    t.same([dead, states], [[], []], kind)
    t.match(lane.status(), { state: 'healthy', last_error: { code: expiredCode(kind) } })
    await lane.close()
  }
})

t.test('faults that an operator must mend pause the destination, which then resumes by itself', async (t) => {
  const cases: {
    name: string
    cause: string
    code: (kind: string) => string
    break: (world: AwsWorld, kind: string) => () => void
  }[] = [
    {
      name: 'access denied',
      cause: 'configuration',
      code: deniedCode,
      break: ({ emulator }) => {
        for (const service of eventServices)
          emulator.world.faults.add({ effect: { type: 'access_denied' }, service })
        return () => emulator.world.faults.clear()
      },
    },
    {
      name: 'the role may not be assumed',
      cause: 'credentials',
      code: () => 'AccessDenied',
      break: ({ emulator }) => {
        const role = emulator.world.roles.get(roleArn)!
        emulator.world.roles.delete(roleArn)
        emulator.world.expireSessions()
        return () => emulator.world.addRole(role)
      },
    },
    {
      name: 'the stream is deleted',
      cause: 'configuration',
      code: missingCode,
      break: ({ emulator, resource }, kind) => {
        emulator.world.removeResource(resource(kind))
        return () => emulator.world.addResource(resource(kind))
      },
    },
  ]
  const world = await openAwsWorld(t)
  for (const kind of kindNames) {
    for (const { name, cause, code, break: breakIt } of cases) {
      const situation = `${kind}: ${name}`
      const { lane, dead, states } = openLane(t, world, kind, { auth: roleAuth })
      await deliver(lane, ids(10))
      const mend = breakIt(world, kind)
      const count = countFor(kind, 1000)
      const delivered = deliver(lane, ids(count))
      while (lane.status().state !== 'paused') await new Promise(setImmediate)
      t.match(lane.status(), { cause, last_error: { code: code(kind) } }, situation)
      mend()
      t.equal(sum(await delivered, 'delivered'), count, situation)
      t.ok(Object.keys(world.ledger(kind).ids(false)).length >= count, situation)
      t.same([dead, states], [[], ['paused', 'healthy']], situation)
      await lane.close()
    }
  }
})

t.test('one refused event in a full request is found with at most eleven more', async (t) => {
  const world = await openAwsWorld(t)
  for (const kind of kindNames) {
    const { eventsMax } = kindNamed(kind).limits
    for (const at of [0, 1, 250, 333, eventsMax - 1].filter((position) => position < eventsMax)) {
      world.emulator.world.clear()
      const { lane, dead, states } = openLane(t, world, kind)
      world.emulator.world.faults.add({ effect: { type: 'poison', containing: `"ev_${at}"` } })
      const result = await lane.deliver(someEvents(eventsMax))
      t.match(
        result,
        { outcome: 'done', counts: { delivered: eventsMax - 1, dead_lettered: 1 } },
        `${kind} ${at}`,
      )
      t.match(dead, [{ id: `ev_${at}`, code: String }])
      t.match(world.ledger(kind).counts(), { unique: eventsMax - 1, duplicates: 0 })
      t.ok(world.puts(kind) <= 1 + 11, `${world.puts(kind)} requests`)
      t.same(states, [])
      await lane.close()
    }
  }
})

t.test('events too old for CloudWatch Logs are dead-lettered, and their neighbours arrive', async (t) => {
  const world = await openAwsWorld(t)
  const { lane, dead } = openLane(t, world, 'cloudwatch_logs')
  const old = someEvents(3, 'ev_old', { timestampMs: Date.now() - 15 * 86_400_000 })
  const result = await lane.deliver([...someEvents(5), ...old])
  t.match(result, { outcome: 'done', counts: { delivered: 5, dead_lettered: 3, retried: 0 } })
  t.same(
    dead.map(({ code }) => code),
    ['TooOld', 'TooOld', 'TooOld'],
  )
  t.equal(world.ledger('cloudwatch_logs').counts().events, 5)
})

t.test('a destination that never answers does not affect another one', async (t) => {
  const world = await openAwsWorld(t, { requestTimeoutMs: 300 })
  const { emulator, resource } = world
  emulator.world.addResource({ ...resource('kinesis', 'hole'), recordsPerSecond: null, bytesPerSecond: null })
  emulator.world.faults.add({ effect: { type: 'hang' }, resource: 'hole' })
  const hole = openLane(t, world, 'kinesis', { name: 'hole' })
  const well = openLane(t, world, 'kinesis')
  const swallowed = hole.lane.deliver(someEvents(2000))
  const results = await deliver(well.lane, ids(5000))
  t.equal(sum(results, 'delivered'), 5000)
  t.equal(well.lane.status().state, 'healthy')
  t.equal(world.ledger('kinesis', 'hole').counts().events, 0)
  emulator.world.faults.clear()
  t.match(await swallowed, { outcome: 'done', counts: { delivered: 2000 } })
  // A busy machine may take too long for a request after that, too.
  t.match([hole.states[0], hole.states.at(-1)], ['failing', 'healthy'])
})

t.test('closing under load loses nothing: unfinished packs are returned', async (t) => {
  const world = await openAwsWorld(t)
  world.emulator.world.faults.add({ effect: { type: 'latency', ms: 5 } })
  const { lane } = openLane(t, world, 'kinesis')
  const packs = Array.from({ length: 40 }, (_, at) => lane.deliver(someEvents(250, `ev_${at}-`)))
  await packs[5]
  await lane.close()
  const results = await Promise.all(packs)
  const taken = results.filter(({ outcome }) => outcome === 'done').length
  t.ok(taken > 5 && taken < 40, `${taken} of 40 packs`)
  t.ok(world.ledger('kinesis').counts().unique >= taken * 250)
  const again = openLane(t, world, 'kinesis')
  const returned = results.flatMap(({ outcome }, at) => (outcome === 'returned' ? [at] : []))
  await Promise.all(returned.map((at) => again.lane.deliver(someEvents(250, `ev_${at}-`))))
  t.equal(world.ledger('kinesis').counts().unique, 40 * 250)
})
