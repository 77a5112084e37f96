/** Lanes that pack several events into a record, against the AWS emulator: books count events, whatever fails. */
import * as fc from 'fast-check'
import t, { type Test } from 'tap'
import { recordsOf } from '../../../src/delivery/deliver/aws/packing.js'
import { outcomeOfRecords } from '../../../src/delivery/deliver/aws/record-results.js'
import type { Sender, SendOutcome } from '../../../src/delivery/deliver/kind/sender.js'
import { kindNamed, openSender } from '../../../src/delivery/deliver/kinds.js'
import type { PackResult } from '../../../src/delivery/deliver/lane/job.js'
import { Lane } from '../../../src/delivery/deliver/lane/lane.js'
import { readPack } from '../../../src/delivery/wire/pack.js'
import type { FaultSpec } from '../../../src/outside/emulator/wire.js'
import { type AwsWorld, openAwsWorld } from './aws-world.js'
import { eventJson, eventsOf, packOf } from './events.js'
import { config, failed, roomForAll } from './fake-lane.js'

/** Timers of a lane keep no process alive; a test waits for them nevertheless. */
const keepAlive = setInterval(() => {}, 1000)
t.teardown(() => clearInterval(keepAlive))

const backoff = { baseMs: 1, capMs: 1e6 }
const backoffs = { throttle: backoff, transient: backoff, record: backoff }
const kinds = ['kinesis', 'firehose']
/** About 100 events in a record of Kinesis. */
const padding = 'x'.repeat(450)
const eventsSent = 2000

interface Opened {
  readonly lane: Lane
  /** Ids and bytes. */
  readonly dead: [id: string, json: string][]
}

function openPacked(test: Test, world: AwsWorld, kind: string): Opened {
  const dead: Opened['dead'] = []
  const lane = new Lane(world.config(kind, undefined, undefined, 'ndjson'), {
    open: (config) => openSender(config, world.deps),
    budget: roomForAll,
    deadLetter: async ({ id, data }) => void dead.push([id, data.toString()]),
    settings: { probeMinMs: 5, probeMaxMs: 10, backoffs },
  })
  test.teardown(() => lane.close())
  return { lane, dead }
}

const specs = Array.from({ length: eventsSent }, (_, index) => ({ id: `ev_${index}`, padding }))
const packEvents = 200

const deliverAll = (lane: Lane): Promise<PackResult[]> =>
  Promise.all(
    Array.from({ length: eventsSent / packEvents }, (_, pack) =>
      lane.deliver(eventsOf(specs.slice(pack * packEvents, (pack + 1) * packEvents))),
    ),
  )

const sum = (results: readonly PackResult[], count: 'delivered' | 'dead_lettered' | 'retried'): number =>
  results.reduce((total, result) => total + (result.outcome === 'done' ? result.counts[count] : 0), 0)

t.test('passing faults of records and requests: each event arrives exactly once', async (t) => {
  const world = await openAwsWorld(t, { seed: 5, resource: { shards: 4 } })
  const cases: { name: string; fault?: FaultSpec }[] = [
    { name: 'no fault' },
    { name: '30 % of the records throttled', fault: { effect: { type: 'fail_records' }, probability: 0.3 } },
    {
      name: 'every second record fails',
      fault: { effect: { type: 'fail_records', code: 'InternalFailure', every: 2 }, count: 20 },
    },
    { name: 'the first requests throttled', fault: { effect: { type: 'throttle' }, count: 3 } },
  ]
  for (const { name, fault } of cases) {
    for (const kind of kinds) {
      world.emulator.world.clear()
      world.emulator.world.faults.clear()
      if (fault !== undefined) world.emulator.world.faults.add(fault)
      const { lane, dead } = openPacked(t, world, kind)
      const results = await deliverAll(lane)
      const situation = `${kind}: ${name}`
      t.same([sum(results, 'delivered'), dead], [eventsSent, []], situation)
      const counts = world.ledger(kind).counts()
      t.match(counts, { events: eventsSent, unique: eventsSent, duplicates: 0 }, situation)
      t.ok(counts.records <= eventsSent / 10, `${situation}: ${counts.records} records`)
      t.equal(sum(results, 'retried') > 0, fault !== undefined, situation)
      await lane.close()
    }
  }
})

t.test('records hold lines of events as they were, up to the bytes that the kind aims at', async (t) => {
  const world = await openAwsWorld(t)
  for (const kind of kinds) {
    const { lane } = openPacked(t, world, kind)
    await deliverAll(lane)
    const records = world.ledger(kind).page(0, eventsSent).events
    const { recordBytes } = kindNamed(kind).aws!.packing!
    for (const { data } of records) t.ok(data.endsWith('}\n') && data.length <= recordBytes)
    t.same(
      records.flatMap(({ data }) => data.trimEnd().split('\n')).sort(),
      specs.map(eventJson).sort(),
      kind,
    )
    await lane.close()
  }
})

t.test('events that the service refuses are dead-lettered alone; their neighbours arrive once', async (t) => {
  const world = await openAwsWorld(t)
  const poison = ['ev_7', 'ev_8', 'ev_150', 'ev_1999']
  const effects: Record<string, (id: string) => FaultSpec['effect']> = {
    'the request is refused': (id) => ({ type: 'poison', containing: `"${id}"` }),
    'the record is refused': (id) => ({
      type: 'fail_records',
      code: 'InvalidArgumentException',
      containing: `"${id}"`,
    }),
  }
  for (const [name, effect] of Object.entries(effects)) {
    for (const kind of kinds) {
      world.emulator.world.clear()
      world.emulator.world.faults.clear()
      for (const id of poison) world.emulator.world.faults.add({ effect: effect(id) })
      const { lane, dead } = openPacked(t, world, kind)
      const results = await deliverAll(lane)
      const situation = `${kind}: ${name}`
      const good = eventsSent - poison.length
      t.same([sum(results, 'delivered'), sum(results, 'dead_lettered')], [good, poison.length], situation)
      t.match(world.ledger(kind).counts(), { events: good, unique: good, duplicates: 0 }, situation)
      t.same(
        Object.fromEntries(dead),
        Object.fromEntries(poison.map((id) => [id, `${eventJson({ id, padding })}\n`])),
        'with their own bytes',
      )
      await lane.close()
    }
  }
})

t.test('answers lost after the service accepted: what arrives twice is what was sent again', async (t) => {
  const world = await openAwsWorld(t, { seed: 8, requestTimeoutMs: 2_000 })
  for (const kind of kinds) {
    world.emulator.world.clear()
    const effect = { type: 'commit_then_drop' } as const
    world.emulator.world.faults.add({ effect, operation: world.putOperation(kind), count: 2 })
    const { lane } = openPacked(t, world, kind)
    const results = await deliverAll(lane)
    const { events, unique, duplicates } = world.ledger(kind).counts()
    t.same([unique, events - duplicates], [eventsSent, eventsSent], kind)
    t.equal(duplicates, sum(results, 'retried'), kind)
    await lane.close()
  }
})

t.test('events of one object stay in its shard and in order; other events share any record', async (t) => {
  const world = await openAwsWorld(t, { resource: { shards: 8 } })
  const { lane } = openPacked(t, world, 'kinesis')
  const objects = ['ipp_1', 'ipp_2', undefined]
  const mixed = Array.from({ length: 90 }, (_, index) => {
    const object = objects[index % objects.length]
    return { id: `ev_${index}`, ...(object !== undefined && { partitionKey: object }) }
  })
  await lane.deliver(readPack(packOf(mixed)).events)
  const records = world.ledger('kinesis').page(0, 100).events
  t.same(records.map(({ partitionKey }) => partitionKey).sort(), ['ev_2', 'ipp_1', 'ipp_2'])
  for (const { partitionKey, data } of records) {
    const object = objects.includes(partitionKey) ? partitionKey : undefined
    t.same(
      data.trimEnd().split('\n'),
      mixed.filter((spec) => spec.partitionKey === object).map(({ id }) => eventJson({ id })),
      `${partitionKey}`,
    )
  }
})

t.test('an event larger than a full record has one of its own', async (t) => {
  const world = await openAwsWorld(t)
  for (const kind of kinds) {
    const { lane, dead } = openPacked(t, world, kind)
    const large = { id: 'ev_large', padding: 'x'.repeat(900_000) }
    const oversize = { id: 'ev_oversize', padding: 'x'.repeat(1_100_000) }
    await lane.deliver(eventsOf([{ id: 'ev_a' }, large, { id: 'ev_b' }, oversize, { id: 'ev_c' }]))
    const { events, unique } = world.ledger(kind).counts()
    t.same([events, unique, dead.map(([id]) => id)], [4, 4, ['ev_oversize']], kind)
    await lane.close()
  }
})

t.test('a stream whose own limit is below a full record gets smaller ones', async (t) => {
  const recordBytesMax = 20 * 1024
  const world = await openAwsWorld(t, { resource: { recordBytesMax } })
  const { lane, dead } = openPacked(t, world, 'kinesis')
  // The limit is learned with the first request.
  await lane.deliver(eventsOf([{ id: 'ev_first' }]))
  while (world.emulator.world.stats()['kinesis.DescribeStreamSummary'] === undefined)
    await new Promise((resolve) => setTimeout(resolve, 1))
  const results = await deliverAll(lane)
  t.same([sum(results, 'delivered'), dead], [eventsSent, []])
  for (const { data } of world.ledger('kinesis').page(0, eventsSent).events)
    t.ok(data.length <= recordBytesMax)
  t.ok(world.ledger('kinesis').counts().records < eventsSent / 20)
})

// --- every pattern of failures ---

/** The answers of a service, request by request and record by record; fixed, so that a run can be repeated. */
interface Service {
  readonly count: number
  readonly poisonous: readonly number[]
  /** Does a record with a poisonous event fail alone, or the whole request? */
  readonly refusesRecords: boolean
  readonly recordBytes: number
  /** Each nth record fails, and is accepted the next time; 0: none. */
  readonly recordFailsEach: number
  /** Each nth request fails as a whole; 0: none. */
  readonly requestFailsEach: number
}

const services = fc.integer({ min: 1, max: 120 }).chain((count) =>
  fc.record({
    count: fc.constant(count),
    poisonous: fc.uniqueArray(fc.integer({ min: 0, max: count - 1 }), { maxLength: 6 }),
    refusesRecords: fc.boolean(),
    recordBytes: fc.integer({ min: 30, max: 1500 }),
    recordFailsEach: fc.constantFrom(0, 2, 3, 7),
    // Rarely, because the waits between failures grow until a request is accepted.
    requestFailsEach: fc.constantFrom(0, 7, 11),
  }),
)

const passing = { ErrorCode: 'InternalFailure' }
const invalid = { ErrorCode: 'ValidationException' }

/** Delivers all events in packs; the ids that were accepted and that were dead-lettered, in order. */
async function deliverTo(service: Service): Promise<{ accepted: string[]; dead: string[] }> {
  const { count, recordBytes, recordFailsEach, requestFailsEach, refusesRecords } = service
  const poisonous = new Set(service.poisonous.map((index) => `ev_${index}`))
  const accepted: string[] = []
  const dead: string[] = []
  let [requests, tries] = [0, 0]
  const sender: Sender = {
    limits: () => ({
      eventsMax: 40,
      requestBytesMax: 1e6,
      eventBytesMax: 1e5,
      sizeOf: ({ dataBytes }) => dataBytes,
    }),
    async send(events): Promise<SendOutcome> {
      requests += 1
      if (requests % requestFailsEach === 0) return failed('transient')
      const records = recordsOf(events, 'ndjson', { recordBytes, groupOf: () => '' })
      const idsIn = (indices: readonly number[] = []) => indices.map((index) => events[index]!.id)
      const isBad = records.map(({ indices }) => idsIn(indices).some((id) => poisonous.has(id)))
      if (!refusesRecords && isBad.includes(true)) return failed('poison')
      const results = records.map(({ indices }, index) => {
        tries += 1
        if (isBad[index]) return invalid
        if (tries % recordFailsEach === 0) return passing
        accepted.push(...idsIn(indices))
        return {}
      })
      return outcomeOfRecords(results, results.filter((each) => 'ErrorCode' in each).length, 'r', records)
    },
    dropCredentials: () => {},
    close: () => {},
  }
  const lane = new Lane(config, {
    open: () => sender,
    budget: roomForAll,
    deadLetter: async ({ id }) => void dead.push(id),
    settings: { backoffs: { ...backoffs, record: { baseMs: 1, capMs: 4 } } },
  })
  const results = await Promise.all(
    Array.from({ length: Math.ceil(count / 30) }, (_, pack) => {
      const ids = Array.from({ length: Math.min(30, count - pack * 30) }, (_, at) => `ev_${pack * 30 + at}`)
      return lane.deliver(eventsOf(ids.map((id) => ({ id }))))
    }),
  )
  await lane.close()
  if (sum(results, 'delivered') !== accepted.length || sum(results, 'dead_lettered') !== dead.length)
    throw new Error('The counts of the packs are not those of the service.')
  return { accepted, dead }
}

t.test('whatever fails: an event is accepted once, or dead-lettered for its own sake', async (t) => {
  await fc.assert(
    fc.asyncProperty(services, async (service) => {
      const { accepted, dead } = await deliverTo(service)
      const isPoisonous = (id: string): boolean => service.poisonous.includes(Number(id.slice(3)))
      const ids = Array.from({ length: service.count }, (_, index) => `ev_${index}`)
      t.same(dead.sort(), ids.filter(isPoisonous).sort())
      t.same(accepted.sort(), ids.filter((id) => !isPoisonous(id)).sort())
    }),
    { seed: 12, numRuns: 60 },
  )
})
