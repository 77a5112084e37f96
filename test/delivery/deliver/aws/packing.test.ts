import * as fc from 'fast-check'
import t from 'tap'
import { limitsOf } from '../../../../src/delivery/deliver/aws/packed-limits.js'
import { type PackingTarget, recordsOf } from '../../../../src/delivery/deliver/aws/packing.js'
import { BodyPool, recordsBody } from '../../../../src/delivery/deliver/aws/records-body.js'
import { kindNamed } from '../../../../src/delivery/deliver/kinds.js'
import { type Batchable, Batcher } from '../../../../src/delivery/deliver/lane/batcher.js'
import type { PackedEvent } from '../../../../src/delivery/wire/packed-event.js'
import { Checks } from '../../../harness/checks.js'
import { eventsOf, someEvents } from '../events.js'

const recordBytes = 400

/** Some share the key of an object; the others are their own key. */
const specs = fc.array(
  fc.record({
    size: fc.integer({ min: 0, max: 500 }),
    object: fc.constantFrom(undefined, undefined, 'ipp_1', 'ipp_2'),
  }),
  { minLength: 1, maxLength: 60 },
)

const eventsFor = (given: readonly { size: number; object: string | undefined }[]): readonly PackedEvent[] =>
  eventsOf(
    given.map(({ size, object }, index) => ({
      id: `ev_${index}`,
      padding: 'ü\n'.repeat(size / 4),
      ...(object !== undefined && { partitionKey: object }),
    })),
  )

const queued = (event: PackedEvent): Batchable => ({ event, abandoned: false, job: {}, takenMs: 0 })

t.test(
  'whatever sizes and keys: every event is in one record, within its limit and with its own bytes',
  (t) => {
    const checks = new Checks()
    const targets: Record<string, PackingTarget> = {
      kinesis: { ...kindNamed('kinesis').aws!.packing!, recordBytes },
      firehose: { ...kindNamed('firehose').aws!.packing!, recordBytes },
    }
    for (const [kind, target] of Object.entries(targets)) {
      fc.assert(
        fc.property(specs, (given) => {
          const events = eventsFor(given)
          const records = recordsOf(events, 'ndjson', target)
          const indices = records.flatMap((record) => record.indices!)
          checks.equal(
            [...indices].sort((a, b) => a - b),
            events.map((_, index) => index),
            'each event once',
          )
          const body = recordsBody(new BodyPool(), { hasKeys: true, events, records }, '"S":""}')
          const sent: { Data: string; PartitionKey: string }[] = JSON.parse(body.toString()).Records
          checks.equal(sent.length, records.length)
          for (const [at, { Data, PartitionKey: partitionKey }] of sent.entries()) {
            const data = Buffer.from(Data, 'base64')
            const { indices = [], dataBytes, partitionKeyBytes } = records[at]!
            const inside = indices.map((index) => events[index]!)
            checks.ok(data.equals(Buffer.concat(inside.map((event) => event.data))), 'unchanged')
            checks.equal([data.length, partitionKey.length], [dataBytes, partitionKeyBytes])
            checks.ok(inside.length === 1 || data.length + partitionKey.length <= recordBytes)
            checks.equal(data.toString().split('\n').length - 1, inside.length, 'a line each')
            if (kind === 'firehose') continue
            checks.equal(partitionKey, inside[0]!.partitionKey)
            const keys = new Set(inside.map((event) => (event.isItsOwnKey ? '' : event.partitionKey)))
            checks.equal(keys.size, 1, 'an event of an object is only with others of the same object')
          }
          for (const object of ['ipp_1', 'ipp_2']) {
            const order = indices.filter((index) => given[index]!.object === object)
            checks.equal(
              order,
              [...order].sort((a, b) => a - b),
              'in order',
            )
          }
        }),
        { seed: 11, numRuns: 100 },
      )
    }
    checks.report(t)
    t.end()
  },
)

t.test('whatever sizes and keys: a full request has no more records than the service takes', (t) => {
  const single = {
    eventsMax: 20,
    requestBytesMax: 1e6,
    eventBytesMax: 1e6,
    sizeOf: kindNamed('kinesis').limits.sizeOf,
  }
  for (const kind of ['kinesis', 'firehose']) {
    const target = { ...kindNamed(kind).aws!.packing!, recordBytes }
    fc.assert(
      fc.property(fc.array(specs, { minLength: 1, maxLength: 8 }), (given) => {
        const queue = new Batcher<Batchable>()
        const events = eventsFor(given.flat())
        queue.add(events.map(queued))
        let sent = 0
        while (queue.length > 0) {
          const { batch } = queue.cut(limitsOf(single, 'ndjson', target))
          const records = recordsOf(
            batch.map(({ event }) => event),
            'ndjson',
            target,
          )
          t.ok(
            records.length <= single.eventsMax,
            `${kind}: ${batch.length} events in ${records.length} records`,
          )
          sent += batch.length
        }
        t.equal(sent, events.length)
      }),
      { seed: 12, numRuns: 100 },
    )
  }
  t.equal(limitsOf(single, 'none', kindNamed('kinesis').aws!.packing!), single, 'not packed: as they are')
  t.end()
})

t.test(
  'events that nearly fill a record, small ones, and many keys: no more records than the service takes',
  (t) => {
    const { limits, aws } = kindNamed('kinesis')
    const target = aws!.packing!
    const full = (id: string) => ({ id, padding: 'x'.repeat(target.recordBytes - 200) })
    const pairs = Array.from({ length: 100 }, (_, n) => [
      full(`ev_a${n}`),
      { id: `ev_b${n}`, padding: 'x'.repeat(300) },
    ])
    const keyed = Array.from({ length: 390 }, (_, n) => ({ id: `ev_c${n}`, partitionKey: `ipp_${n}` }))
    const queue = new Batcher<Batchable>()
    queue.add(eventsOf([...pairs.flat(), ...keyed]).map(queued))
    const { batch } = queue.cut(limitsOf({ ...limits, requestBytesMax: 1e8 }, 'ndjson', target))
    const { length } = recordsOf(
      batch.map(({ event }) => event),
      'ndjson',
      target,
    )
    t.ok(batch.length > 200, `${batch.length} events`)
    t.ok(length <= limits.eventsMax, `${length} records`)
    t.end()
  },
)

t.test('a full request becomes a few full records', (t) => {
  const events = someEvents(500, 'ev_', { padding: 'x'.repeat(970) })
  for (const [kind, units, unitBytes] of [
    ['kinesis', 20, 25_000],
    ['firehose', 100, 5_000],
  ] as const) {
    const target = kindNamed(kind).aws!.packing!
    const records = recordsOf(events, 'ndjson', target)
    const billed = records.map(({ dataBytes }) => Math.ceil(dataBytes / unitBytes))
    t.equal(target.recordBytes % unitBytes, 0, 'no begun unit is left unused')
    t.ok(billed.reduce((sum, each) => sum + each) <= units * 1.05, `${kind}: ${billed.join(' + ')} units`)
    t.equal(recordsOf(events, 'none', target), events, 'not packed: each event is a record')
  }
  t.end()
})

t.test('an event is its own key only if the key is its whole id', (t) => {
  const cases = [
    { id: 'ev_12', key: 'ev_12', own: true },
    { id: 'ev_12', key: 'ev_1', own: false },
    { id: 'ev_1', key: 'ev_12', own: false },
    { id: 'ev_12', key: 'ipp_1', own: false },
  ]
  for (const { id, key, own } of cases) {
    const [event] = eventsOf([{ id, partitionKey: key }])
    t.equal(event!.isItsOwnKey, own, `${id} under ${key}`)
  }
  t.end()
})
