import * as fc from 'fast-check'
import t from 'tap'
import type { BatchLimits } from '../../../../src/delivery/deliver/kind/sender.js'
import { type Batchable, Batcher } from '../../../../src/delivery/deliver/lane/batcher.js'
import type { PackedEvent } from '../../../../src/delivery/wire/packed-event.js'

/** The part of an event that a batcher reads. */
interface Fake extends Batchable {
  readonly name: number
  abandoned: boolean
}

const fake = (name: number, bytes: number, timestampMs = 0): Fake => ({
  name,
  abandoned: false,
  job: {},
  takenMs: 0,
  event: { dataBytes: bytes, timestampMs } as unknown as PackedEvent,
})

const limitsWith = (more: Partial<BatchLimits>): BatchLimits => ({
  eventsMax: 500,
  requestBytesMax: 1000,
  eventBytesMax: 500,
  sizeOf: (event) => event.dataBytes + 10,
  ...more,
})

const names = (items: readonly Fake[]): number[] => items.map(({ name }) => name)

function cutAll(items: readonly Fake[], limits: BatchLimits): { batches: number[][]; oversize: number[] } {
  const batcher = new Batcher<Fake>()
  batcher.add(items)
  const batches: number[][] = []
  const oversize: number[] = []
  for (;;) {
    const cut = batcher.cut(limits)
    oversize.push(...names(cut.oversize))
    if (cut.batch.length === 0) return { batches, oversize }
    batches.push(names(cut.batch))
  }
}

t.test('requests are cut at the limit that is met first', (t) => {
  const cases = [
    {
      name: 'count',
      items: [1, 2, 3, 4, 5].map((n) => fake(n, 1)),
      limits: { eventsMax: 2 },
      want: [[1, 2], [3, 4], [5]],
    },
    {
      name: 'bytes, overhead included',
      items: [1, 2, 3].map((n) => fake(n, 490)),
      limits: {},
      want: [[1, 2], [3]],
    },
    {
      name: 'one byte too many',
      items: [fake(1, 490), fake(2, 491)],
      limits: { eventBytesMax: 501 },
      want: [[1], [2]],
    },
    {
      name: 'an event larger than a request',
      items: [fake(1, 1), fake(2, 480), fake(3, 1), fake(4, 1)],
      limits: { requestBytesMax: 100 },
      want: [[1], [2], [3, 4]],
    },
    {
      name: 'span',
      items: [fake(1, 1, 50), fake(2, 1, 0), fake(3, 1, 100), fake(4, 1, 150)],
      limits: { spanMaxMs: 100 },
      want: [[1, 2, 3], [4]],
    },
    {
      name: 'span, if the newest event is first',
      items: [fake(1, 1, 200), fake(2, 1, 99)],
      limits: { spanMaxMs: 100 },
      want: [[1], [2]],
    },
  ]
  for (const { name, items, limits, want } of cases) {
    t.same(cutAll(items, limitsWith(limits)), { batches: want, oversize: [] }, name)
  }
  t.end()
})

t.test('an oversize event is set aside alone', (t) => {
  const items = [fake(1, 100), fake(2, 491), fake(3, 490)]
  t.same(cutAll(items, limitsWith({})), { batches: [[1, 3]], oversize: [2] })
  t.end()
})

t.test('repeated events go first, and abandoned ones are skipped', (t) => {
  const batcher = new Batcher<Fake>()
  const items = [1, 2, 3, 4].map((n) => fake(n, 1))
  batcher.add(items.slice(0, 2))
  batcher.addFirst(items.slice(2))
  items[0]!.abandoned = true
  items[2]!.abandoned = true
  t.same(names(batcher.cut(limitsWith({})).batch), [4, 2])
  t.equal(batcher.byteLength, 0)
  batcher.add(items)
  batcher.dropAbandoned()
  t.equal(batcher.length, 2)
  t.equal(batcher.byteLength, 2)
  t.end()
})

t.test('no event is lost or doubled, and no limit exceeded', (t) => {
  const sizes = fc.array(fc.tuple(fc.integer({ min: 0, max: 600 }), fc.nat({ max: 300 })), { maxLength: 200 })
  fc.assert(
    fc.property(sizes, fc.integer({ min: 1, max: 20 }), (given, eventsMax) => {
      const items = given.map(([bytes, timestampMs], name) => fake(name, bytes, timestampMs))
      const limits = limitsWith({ eventsMax, spanMaxMs: 100 })
      const { batches, oversize } = cutAll(items, limits)
      t.same(batches.flat(), names(items.filter(({ event }) => limits.sizeOf(event) <= 500)))
      t.same(oversize, names(items.filter(({ event }) => limits.sizeOf(event) > 500)))
      for (const batch of batches) {
        const events = batch.map((name) => items[name]!.event)
        const times = events.map(({ timestampMs }) => timestampMs)
        t.ok(batch.length <= eventsMax)
        t.ok(events.reduce((sum, event) => sum + limits.sizeOf(event), 0) <= 1000)
        t.ok(Math.max(...times) - Math.min(...times) <= 100)
      }
    }),
    { seed: 3, numRuns: 100 },
  )
  t.end()
})

t.test('a full request is recognized before it is cut', (t) => {
  const batcher = new Batcher<Fake>()
  batcher.add([fake(1, 400)])
  t.notOk(batcher.fills(limitsWith({})))
  batcher.add([fake(2, 600)])
  t.ok(batcher.fills(limitsWith({})), 'by bytes')
  t.ok(batcher.fills(limitsWith({ eventsMax: 2, requestBytesMax: 1e9 })), 'by count')
  t.end()
})
