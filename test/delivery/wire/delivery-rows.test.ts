/** Rows of deliveries: what is read is what was written, and the tag of an event is that of its id. */
import fc from 'fast-check'
import t from 'tap'
import {
  type DeliveryRow,
  DeliveryRows,
  outcomeNumbers,
  readDeliveryRows,
} from '../../../src/delivery/wire/delivery-rows.js'
import { tagOf } from '../../../src/delivery/wire/event-tag.js'
import { PackWriter, readPack } from '../../../src/delivery/wire/pack.js'

const text = fc.string({ unit: 'grapheme', maxLength: 60 })
const uint32 = fc.nat(2 ** 32 - 1)

const row: fc.Arbitrary<DeliveryRow> = fc
  .record({
    accountId: text,
    destinationId: text,
    at: fc.maxSafeNat(),
    tookMs: uint32,
    outcome: fc.constantFrom(...(Object.keys(outcomeNumbers) as (keyof typeof outcomeNumbers)[])),
    attempt: uint32,
    requests: fc.nat(1),
    pack: fc.maxSafeNat(),
    requestId: text,
    shard: text,
    receipt: text,
    errorCode: text,
    error: text,
    eventsFrom: fc.maxSafeNat(),
    eventsUntil: fc.maxSafeNat(),
    tags: fc.array(uint32, { maxLength: 300 }),
  })
  .map((each) => ({ ...each, events: each.tags.length }))

t.test('rows are read as they were written, and a cut is noticed', async (t) => {
  fc.assert(
    fc.property(fc.array(row, { minLength: 1, maxLength: 4 }), (rows) => {
      const collected = new DeliveryRows()
      for (const each of rows) collected.add(each)
      t.equal(collected.rows, rows.length)
      const bytes = collected.take()
      t.strictSame([...readDeliveryRows(bytes)], rows)
      t.throws(() => [...readDeliveryRows(bytes.subarray(0, bytes.length - 1))], RangeError)
    }),
    { numRuns: 100 },
  )
})

t.test('an event in a pack has the tag of its id, and ids that differ have different ones', async (t) => {
  const ids = [
    'ev_',
    'ev_01KAJ5T2Q8XN4RB6TZ5CDEFGHJ',
    `ev_${'0f'.repeat(24)}`,
    `ev_1f${'0f'.repeat(23)}`,
    `ev_${'0f'.repeat(16)}1${'0'.repeat(15)}`,
  ]
  const writer = new PackWriter()
  for (const id of ids) writer.append('key', 1, JSON.stringify({ event_id: id, more: '"' }))
  const { events } = readPack(writer.take())
  t.strictSame(
    events.map(({ tag }) => tag),
    ids.map(tagOf),
  )
  t.equal(new Set(ids.map(tagOf)).size, ids.length)
  t.equal(tagOf(`ev_0123abcd${'9'.repeat(24)}fffe0000${'8'.repeat(8)}`), (0x0123abcd ^ 0xfffe0000) >>> 0)
})
