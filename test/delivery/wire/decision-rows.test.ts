/** Rows of the decision log: what is read is what was written, whatever the texts and numbers are. */
import fc from 'fast-check'
import t from 'tap'
import {
  BlockWriter,
  decisionBatchBytes,
  decisionBatchRows,
} from '../../../src/delivery/wire/blocks/block-writer.js'
import {
  type DecisionRow,
  DecisionRows,
  deciderNumbers,
  decisionColumns,
  decisionNumbers,
  ownTimeNumbers,
  readDecisionRows,
  SourcedRows,
  sourceNumbers,
  typeNumbers,
  verdictNumbers,
} from '../../../src/delivery/wire/decision-rows.js'
import { canonicalAddress, parseAddress } from '../../../src/ground/core/address/ip.js'
import { writtenRow } from '../../harness/decision-rows.js'

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
    method: text,
    path: text,
    status: text,
    partition: fc.nat(63),
    source: fc.constantFrom(...(Object.keys(sourceNumbers) as (keyof typeof sourceNumbers)[])),
    weight: uint32,
    shadowDecision: wordOf(verdictNumbers),
    shadowDecidedBy: wordOf(deciderNumbers),
    shadowDecidedById: text,
    shadowPolicy: text,
    shadowRuleId: text,
    challengerId: text,
    challengerDecision: wordOf(verdictNumbers),
    challengerDecidedBy: wordOf(deciderNumbers),
    challengerDecidedById: text,
    challengerPolicy: text,
    challengerRuleId: text,
    ownAt: fc.maxSafeNat(),
    ownTime: wordOf(ownTimeNumbers),
  })
  .map((each) => ({
    ...each,
    weight: each.source === 'record' ? 1 : each.weight,
    ...(each.shadowDecision === 'none' && noShadow),
    ...(each.challengerDecision === 'none' && noChallenger),
  }))

const noChallenger = {
  challengerId: '',
  challengerDecidedBy: 'none',
  challengerDecidedById: '',
  challengerPolicy: '',
  challengerRuleId: '',
} as const

const noShadow = {
  shadowDecidedBy: 'none',
  shadowDecidedById: '',
  shadowPolicy: '',
  shadowRuleId: '',
} as const

const written = (rows: readonly DecisionRow[]) => {
  const source = rows[0]?.source ?? 'record'
  const collected = source === 'record' ? new DecisionRows() : new SourcedRows(source)
  for (const each of rows) collected.add(writtenRow(each), parseAddress(each.clientIp), each.weight)
  return collected
}

t.test('rows are read as they were written, and a cut is noticed', async (t) => {
  fc.assert(
    fc.property(fc.array(row, { minLength: 1, maxLength: 5 }), fc.nat(), (given, cutAt) => {
      const rows = given.filter(({ source }) => source === given[0]!.source)
      const collected = written(rows)
      t.equal(collected.rows, rows.length)
      const bytes = collected.take()
      t.strictSame([...readDecisionRows(bytes)], rows)
      t.throws(() => [...readDecisionRows(bytes.subarray(0, bytes.length - 1))], RangeError)
      t.throws(() => [...readDecisionRows(Buffer.concat([bytes, bytes]))], RangeError)
      t.doesNotThrow(() => {
        try {
          for (const each of readDecisionRows(bytes.subarray(cutAt % bytes.length))) t.type(each.at, 'number')
        } catch (error) {
          if (!(error instanceof RangeError)) throw error
        }
      }, 'bytes from anywhere are rows or a RangeError')
      t.equal(collected.rows, 0, 'it begins again')
    }),
    { numRuns: 200 },
  )
})

const plain = {
  ...fc.sample(row, { numRuns: 1, seed: 1 })[0]!,
  source: 'record',
  weight: 1,
  shadowDecision: 'none',
  ...noShadow,
  ownTime: 'implied',
} as const

t.test('columns of a shadow are only in blocks that have one', async (t) => {
  const shadowed = { ...plain, shadowDecision: 'deny', shadowPolicy: 'p' } as const
  const collected = new DecisionRows()
  const blockOf = (rows: readonly DecisionRow[]) => {
    for (const each of rows) collected.add(writtenRow(each), parseAddress(each.clientIp))
    return Buffer.from(collected.take())
  }
  const rows = [plain, shadowed, plain, plain, shadowed, plain]
  for (const given of [rows, [plain], rows, [shadowed], [plain, plain]]) {
    const block = blockOf(given)
    t.equal(block.includes('shadow_'), given.includes(shadowed), `${given.length} rows`)
    t.strictSame([...readDecisionRows(block)], given, 'each has its own')
  }
})

t.test('a block is full with a number of rows, or of bytes', async (t) => {
  const rows = Array.from({ length: decisionBatchRows }, (_, line) => ({ ...plain, recordId: 'r', line }))
  const collected = written(rows.slice(1))
  t.notOk(collected.isFull)
  collected.add(writtenRow(rows[0]!), parseAddress(''))
  t.ok(collected.isFull)
  t.ok(written([{ ...plain, recordId: 'x'.repeat(decisionBatchBytes) }]).isFull)
})

t.test('many different words', async (t) => {
  for (const count of [255, 256, 257, 1_000]) {
    const rows = Array.from({ length: count }, (_, line) => ({ ...plain, edgeId: `edge ${line}`, line }))
    const collected = written(rows)
    t.strictSame([...readDecisionRows(collected.take())], rows, `${count} words`)
    t.strictSame([...readDecisionRows(collected.take())], [], 'words are forgotten with their rows')
  }
})

t.test('only rows of accounts that are wanted are read', async (t) => {
  const rows = ['a', 'b', 'a'].map((accountId, line) => ({ ...plain, accountId, line }))
  const read = readDecisionRows(written(rows).take(), (accountId) => accountId === 'a')
  t.strictSame([...read], [rows[0], rows[2]])
})

t.test('no client is an address of zeros', async (t) => {
  const collected = new DecisionRows()
  collected.add(writtenRow(plain), parseAddress('nobody'))
  const [read] = readDecisionRows(collected.take())
  t.equal(read!.clientIp, '::')
})

t.test('blocks of an earlier version have no requests', async (t) => {
  const {
    method,
    path,
    status,
    source,
    weight,
    shadowDecision,
    shadowDecidedBy,
    shadowDecidedById,
    shadowPolicy,
    shadowRuleId,
    challengerId,
    challengerDecision,
    challengerDecidedBy,
    challengerDecidedById,
    challengerPolicy,
    challengerRuleId,
    ownAt,
    ownTime,
    ...columns
  } = decisionColumns
  class EarlierRows extends BlockWriter {
    readonly #columns = Object.values(this.open(columns))

    add(...values: readonly unknown[]): void {
      for (const [index, column] of this.#columns.entries()) column.add(values[index] as never)
      this.endRow()
    }
  }
  const client = parseAddress('192.0.2.1')
  const rows = new EarlierRows()
  rows.add(
    'ac_1',
    5,
    'r1',
    'http_request',
    '',
    '',
    'x',
    443,
    client,
    '',
    0,
    'allow',
    'none',
    '',
    '',
    '',
    7,
    0,
    0,
    1,
    1,
  )
  t.match(
    [...readDecisionRows(rows.take())],
    [{ recordId: 'r1', type: 'http_request', source: 'record', weight: 1, method: '', path: '', status: '' }],
  )
})
