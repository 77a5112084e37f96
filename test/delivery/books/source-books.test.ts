/** Counts of sources by list give what counts of each source give, whoever keeps the books and however often. */
import fc from 'fast-check'
import t from 'tap'
import { Books } from '../../../src/delivery/books/books.js'
import {
  type InputCounts,
  type LedgerEntry,
  noRecords,
  type SourceName,
  type SourceTally,
} from '../../../src/delivery/books/ledger.js'
import { SourceBooks } from '../../../src/delivery/books/source-books.js'
import { Checks } from '../../harness/checks.js'

const sourceNames = Array.from({ length: 6 }, (_, at): SourceName => [`es_${at}`, 'log.v0', `ed_${at % 4}`])

/** Lists that share sources, as those of an account before and after a change do. */
const lists = {
  a: sourceNames.slice(0, 3),
  b: sourceNames.slice(2, 6),
  c: sourceNames.slice(0, 6),
}
type ListName = keyof typeof lists

interface Asked {
  readonly list: ListName
  readonly times: number
  /** By source of the list: how often it produced an event. */
  readonly produced: readonly number[]
}

const asked: fc.Arbitrary<Asked> = fc
  .record({ list: fc.constantFrom<ListName>('a', 'b', 'c'), times: fc.integer({ min: 1, max: 5 }) })
  .chain(({ list, times }) => {
    const { length } = lists[list]
    const produced = fc.array(fc.integer({ min: 0, max: times }), { minLength: length, maxLength: length })
    return fc.record({ list: fc.constant(list), times: fc.constant(times), produced })
  })

const inputOf = (sequence: number, counts: Pick<InputCounts, 'sources' | 'asked'>): LedgerEntry => ({
  type: 'input',
  stream: 'records',
  since: 'run',
  ranges: [[sequence, sequence]],
  counts: { ...noRecords, records: 1, ...counts },
})

const talliesOf = ({ list, produced }: Asked): SourceTally[] =>
  lists[list]
    .map((name, at): SourceTally => [...name, produced[at]!, 0])
    .filter(([, , , events]) => events > 0)

const bySource = (sequence: number, one: Asked): LedgerEntry =>
  inputOf(sequence, {
    sources: lists[one.list].map((name, at) => [...name, one.produced[at]!, one.times - one.produced[at]!]),
  })

const byList = (sequence: number, one: Asked): LedgerEntry =>
  inputOf(sequence, { sources: talliesOf(one), asked: [[one.list, one.times]] })

const naming = (list: ListName): LedgerEntry => ({ type: 'sources', list, sources: lists[list] })

const totalsIn = (books: Books) =>
  [...books.sources]
    .filter(({ produced, filtered }) => produced + filtered !== 0)
    .map(({ subscription, destination, produced, filtered }) => [
      subscription,
      destination,
      produced,
      filtered,
    ])
    .sort()

const kept = (books: Books): Books => new Books(JSON.parse(JSON.stringify(books.snapshot())))

t.test('by list or by source, named before or after, through snapshots: the same totals', async (t) => {
  const checks = new Checks()
  const steps = fc.array(fc.tuple(asked, fc.boolean(), fc.boolean()), { maxLength: 12 })
  fc.assert(
    fc.property(steps, (steps) => {
      const expected = new Books()
      let books = new Books()
      for (const [at, [one, isNamed, isKept]] of steps.entries()) {
        expected.add(bySource(at + 1, one))
        if (isNamed) books.add(naming(one.list))
        books.add(byList(at + 1, one))
        // Its writer died, and somebody else settles the message again.
        books.add(byList(at + 1, one))
        if (isKept) books = kept(books)
      }
      for (const list of ['a', 'b', 'c'] as const) books.add(naming(list))
      checks.equal(totalsIn(books), totalsIn(expected))
      for (const { destination } of expected.sources)
        checks.equal(books.destination(destination), expected.destination(destination))
    }),
    { seed: 7, numRuns: 300 },
  )
  checks.report(t)
})

t.test('while a list is not named, what it produced counts, and no count is below zero', async (t) => {
  const books = new Books()
  books.add(byList(1, { list: 'a', times: 3, produced: [2, 0, 1] }))
  t.match(books.destination('ed_0'), { produced: 2, filtered: 0, backlog: 2 })
  t.match([...kept(books).sources][0], { produced: 2, filtered: 0 })
  books.add(naming('a'))
  t.match(books.destination('ed_0'), { produced: 2, filtered: 1, backlog: 2 })
  t.match(books.destination('ed_1'), { produced: 0, filtered: 3 })
})

t.test('forgotten lists: what they were asked is kept, and added when they are named again', async (t) => {
  const sources = new SourceBooks(undefined, 4)
  sources.name('a', lists.a)
  sources.ask('a', 5)
  sources.name('b', lists.b)
  sources.ask('b', 2)
  t.equal(sources.snapshot().lists.length, 1, 'only the list that was asked last is remembered')
  sources.ask('a', 1)
  const filtered = () => [...sources.all()].map((one) => one.filtered)
  t.same(filtered(), [5, 5, 7, 2, 2, 2])
  sources.name('a', lists.a)
  t.same(filtered(), [6, 6, 8, 2, 2, 2])
})
