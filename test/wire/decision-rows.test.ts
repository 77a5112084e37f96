/** Rows of the decision log: what is read is what was written, whatever the texts and numbers are. */
import fc from 'fast-check'
import t from 'tap'
import { AddressSlot, canonicalAddress } from '../../src/core/ip.js'
import {
  type DecisionRow,
  deciderNumbers,
  decisionNumbers,
  readDecisionRows,
  typeNumbers,
  writeDecisionRow,
} from '../../src/wire/decision-rows.js'
import { RowReader, RowWriter } from '../../src/wire/rows.js'

const wordOf = <Word extends string>(numbers: Readonly<Record<Word, number>>) =>
  fc.constantFrom(...(Object.keys(numbers) as Word[]))

/** Whole characters: half of a surrogate pair has no UTF-8. */
const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 60 }),
  fc.string({ unit: 'grapheme', minLength: 40, maxLength: 300 }),
)
const uint32 = fc.nat(2 ** 32 - 1)

const row: fc.Arbitrary<DecisionRow> = fc
  .record({
    accountId: text,
    at: fc.maxSafeNat(),
    recordId: text,
    type: wordOf(typeNumbers),
    edgeId: text,
    routeId: text,
    serverName: text,
    serverPort: fc.nat(65_535),
    clientIp: fc.oneof(fc.ipV4(), fc.ipV6()).map(canonicalAddress),
    country: text,
    asn: uint32,
    decision: wordOf(decisionNumbers),
    decidedBy: wordOf(deciderNumbers),
    decidedById: text,
    policy: text,
    ruleId: text,
    revision: fc.maxSafeNat(),
    bytesIn: fc.maxSafeNat(),
    bytesOut: fc.maxSafeNat(),
    sequence: fc.maxSafeNat(),
    line: uint32,
  })
  .map((each) => ({ ...each }))

const written = (rows: readonly DecisionRow[]) => {
  // Smaller than a row, so that it has to grow.
  const writer = new RowWriter(16)
  const client = new AddressSlot()
  for (const each of rows) {
    client.read(each.clientIp)
    writeDecisionRow(writer, each, client)
  }
  return writer
}

t.test('rows are read as they were written, and a cut is noticed', async (t) => {
  fc.assert(
    fc.property(fc.array(row, { minLength: 1, maxLength: 5 }), fc.nat(), (rows, cutAt) => {
      const writer = written(rows)
      t.equal(writer.rows, rows.length)
      const bytes = writer.take()
      t.strictSame([...readDecisionRows(bytes)], rows)
      t.throws(() => [...readDecisionRows(bytes.subarray(0, bytes.length - 1))], RangeError)
      t.doesNotThrow(() => {
        try {
          for (const each of readDecisionRows(bytes.subarray(cutAt % bytes.length))) t.type(each.at, 'number')
        } catch (error) {
          if (!(error instanceof RangeError)) throw error
        }
      }, 'bytes from anywhere are rows or a RangeError')
      t.strictSame([writer.rows, writer.byteLength], [0, 0], 'the writer begins again')
    }),
    { numRuns: 200 },
  )
})

t.test('no client is an address of zeros', async (t) => {
  const writer = new RowWriter(16)
  const client = new AddressSlot()
  client.read('192.0.2.1')
  client.read('nobody')
  writer.address(client)
  t.equal(new RowReader(writer.take()).address(), '::')
})
