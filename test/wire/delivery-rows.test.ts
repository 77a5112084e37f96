/** Rows of deliveries: what is read is what was written, and the tag of an event is that of its id. */
import fc from 'fast-check'
import t from 'tap'
import {
  type DeliveryRow,
  outcomeNumbers,
  readDeliveryRows,
  tagOf,
  writeDeliveryRow,
} from '../../src/wire/delivery-rows.js'
import { RowWriter } from '../../src/wire/rows.js'

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
  .map((each) => ({ ...each }))

t.test('rows are read as they were written, and a cut is noticed', async (t) => {
  fc.assert(
    fc.property(fc.array(row, { minLength: 1, maxLength: 4 }), (rows) => {
      const writer = new RowWriter(16)
      for (const each of rows) writeDeliveryRow(writer, each)
      t.equal(writer.rows, rows.length)
      const bytes = writer.take()
      t.strictSame([...readDeliveryRows(bytes)], rows)
      t.throws(() => [...readDeliveryRows(bytes.subarray(0, bytes.length - 1))], RangeError)
    }),
    { numRuns: 100 },
  )
})

t.test('ids that differ in one character have different tags', async (t) => {
  const ids = ['ev_', `ev_${'0f'.repeat(24)}`, `ev_${'0f'.repeat(23)}0e`, `ev_1f${'0f'.repeat(23)}`]
  t.equal(new Set(ids.map(tagOf)).size, ids.length)
})
