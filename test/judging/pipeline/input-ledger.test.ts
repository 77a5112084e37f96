/** Messages of an account with many sources, entered in a real ledger. */
import t from 'tap'
import { type InputCounts, noRecords, type SourcesEntry } from '../../../src/delivery/books/ledger.js'
import { LedgerReading } from '../../../src/delivery/books/reading.js'
import { Snapshots } from '../../../src/delivery/books/snapshots.js'
import { booksBucket, ledgerStream } from '../../../src/delivery/wire/names.js'
import { InputLedger } from '../../../src/judging/pipeline/input-ledger.js'
import { SourceNames } from '../../../src/judging/pipeline/ledger-counts.js'
import type { CompiledSource } from '../../../src/judging/produce/source-list.js'
import { openStreams } from '../../harness/own-streams.js'

const sourcesCount = 12_000
const messages = 40

const sources = Array.from(
  { length: sourcesCount },
  (_, at): CompiledSource => ({
    subscriptionId: `es_01KAG2N5V7W6QX4Z8T3${String(at).padStart(7, '0')}`,
    kindName: 'tcp_connection_closed.v0',
    destinationIds: [`ed_01KAG2N5V7W6QX4Z8T3${String(at).padStart(7, '0')}`],
  }),
)

const lists = new SourceNames().of(sources)

/** Counts of a message with two records; the first sources produced an event. */
const countsWith = (producing: number): InputCounts => ({
  ...noRecords,
  records: 2,
  tcp_connection: 2,
  allow: 2,
  sources: sources
    .slice(0, producing)
    .map(({ subscriptionId, kindName, destinationIds: [id] }) => [subscriptionId, kindName, id!, 1, 0]),
  asked: lists.map(({ list }: SourcesEntry) => [list, 2]),
})

t.test('thousands of sources: named once, and each message counts', async (t) => {
  const { nats, ledger } = await openStreams(t)
  const inputs = new InputLedger(ledger, 'records')
  t.teardown(() => inputs.close(0))
  const acknowledged: number[] = []
  const enter = (sequence: number, producing: number): void =>
    inputs.add({
      sequence,
      since: 'run',
      storedAtMs: 1_790_000_000_000,
      counts: countsWith(producing),
      lists,
      acknowledge: () => acknowledged.push(sequence),
    })
  const bytesAfter = async (): Promise<number> => {
    await inputs.close(10_000)
    return (await nats.streamInfo(ledgerStream))!.state.bytes
  }
  // Every source produced: this entry alone is larger than a message may be.
  enter(1, sourcesCount)
  const first = await bytesAfter()
  for (let sequence = 2; sequence <= messages; sequence += 1) enter(sequence, sequence % 3)
  const second = await bytesAfter()
  t.equal(acknowledged.length, messages)
  t.ok((second - first) / messages < 2_000, 'later messages do not name the sources')

  const makeBucket = () => nats.openBucket(booksBucket, 1024 * 1024)
  const reading = await LedgerReading.open(nats, new Snapshots(await makeBucket(), makeBucket), () =>
    t.fail('There is no gap.'),
  )
  t.teardown(() => reading.close())
  const { books } = reading
  t.equal(books.records.records, 2 * messages)
  const produced = messages - Math.floor(messages / 3)
  t.match(books.destination(sources[0]!.destinationIds[0]!), { produced, filtered: 2 * messages - produced })
  const last = books.destination(sources.at(-1)!.destinationIds[0]!)
  t.match(last, { produced: 1, filtered: 2 * messages - 1 })
})
