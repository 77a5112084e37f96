/** Counts of messages that follow each other, of which many are equal. */
import fc from 'fast-check'
import t from 'tap'
import type { SourceTally } from '../../../src/delivery/books/ledger.js'
import type { CountVector } from '../../../src/judging/pipeline/counts.js'
import { LedgerCounts } from '../../../src/judging/pipeline/ledger-counts.js'
import type { CompiledSource } from '../../../src/judging/produce/source-list.js'

const lists = ['es_1', 'es_2'].map((subscriptionId): CompiledSource[] => [
  { subscriptionId, kindName: 'log.v0', destinationIds: ['ed_1'] },
])
/** Mostly the same. */
const few = fc.oneof({ weight: 9, arbitrary: fc.constant(1) }, { weight: 1, arbitrary: fc.nat(2) })
const tallies = fc.array(
  fc.tuple(fc.constantFrom('es_1', 'es_2'), fc.constant('log.v0'), fc.constant('ed_1'), few, few),
  { maxLength: 2 },
)
const vectors: fc.Arbitrary<CountVector> = fc.record({
  records: few,
  bad: few,
  history: few,
  evaluated: fc.record({ tcp_connection: few, http_request: few }),
  decisions: fc.record({ allow: few, block: few, deny: few }),
  unserved: fc.array(fc.record({ endpoint: fc.constant('a:1'), count: few }), { maxLength: 1 }),
  unowned: few,
  sources: tallies as fc.Arbitrary<SourceTally[]>,
  asked: fc.array(fc.record({ sources: fc.constantFrom(...lists), times: few }), { maxLength: 2 }),
  policyFailures: fc.constant([]),
  filterFailures: fc.constant([]),
  warnings: fc.constant([]),
  shadows: fc.constant([]),
})
const changes = fc.array(fc.tuple(vectors, fc.nat(30)))

/** Each message differs from the one before in one member or none. */
function changed(first: CountVector, others: readonly (readonly [CountVector, number])[]): CountVector[] {
  const all = [first]
  for (const [other, which] of others) {
    const name = (Object.keys(other) as (keyof CountVector)[])[which]
    all.push({ ...all.at(-1)!, ...(name !== undefined && { [name]: other[name] }) })
  }
  return all
}

for (const kind of [undefined, 'log.v0'])
  t.test(
    `each message counts as if it were the only one${kind ? ', as events of one kind' : ''}`,
    async (t) => {
      const property = fc.property(vectors, changes, (first, others) => {
        const known = new LedgerCounts(kind)
        for (const vector of changed(first, others))
          t.strictSame(known.of(vector), new LedgerCounts(kind).of(vector))
      })
      fc.assert(property, { numRuns: 200 })
    },
  )

t.test('messages with equal counts share them, also if others come between', async (t) => {
  const known = new LedgerCounts()
  const [vector] = fc.sample(vectors, 1)
  const { counts } = known.of(vector!)
  t.equal(known.of({ ...vector!, decisions: { ...vector!.decisions } }).counts, counts)
  known.of({ ...vector!, records: vector!.records + 1 })
  t.equal(known.of({ ...vector! }).counts, counts)
})
