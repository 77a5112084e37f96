/** Which message of an input was settled last, asked by a process that keeps no books. */
import t from 'tap'
import { BooksKeeper } from '../../../src/delivery/books/keeper.js'
import { noRecords } from '../../../src/delivery/books/ledger.js'
import { SettledInput } from '../../../src/delivery/books/reading.js'
import { booksBucket, ledgerStream } from '../../../src/delivery/wire/names.js'
import { createLogger } from '../../../src/ground/core/telemetry/log.js'
import { createRegistry } from '../../../src/ground/core/telemetry/metrics.js'
import { createOccurrences } from '../../../src/ground/core/telemetry/occurrences.js'
import { InputLedger } from '../../../src/judging/pipeline/input-ledger.js'
import { openStreams } from '../../harness/own-streams.js'
import { until } from '../../harness/weir.js'

const counts = { ...noRecords, records: 1, sources: [] }
/** The tenth second for sequence 10. */
const storedAt = (sequence: number): number => 1_790_000_000_000 + sequence * 1_000

t.test('the highest sequence counts, whoever entered it last', async (t) => {
  const { nats, ledger } = await openStreams(t)
  const inputs = new InputLedger(ledger, 'records')
  t.teardown(() => inputs.close(0))
  const enter = async (since: string, ...sequences: number[]): Promise<void> => {
    for (const sequence of sequences)
      inputs.add({
        sequence,
        since,
        storedAtMs: storedAt(sequence),
        counts,
        lists: [],
        acknowledge: () => {},
      })
    await inputs.close(60_000)
  }
  const settled = new SettledInput(nats)
  const lastOf = (since: string) => settled.last('records', since)
  const of = (sequence: number) => ({ sequence, storedAtMs: storedAt(sequence) })

  await enter('run 1', 3, 9, 4)
  t.equal(await lastOf('run 1'), undefined, 'without books, no sequence can be taken for another one')
  const makeBucket = () => nats.openBucket(booksBucket, 1024 * 1024)
  const bucket = await makeBucket()
  t.strictSame(await lastOf('run 1'), of(9))
  await enter('run 1', 5)
  t.strictSame(await lastOf('run 1'), of(9), 'it was settled late')
  await enter('run 2', 2)
  t.strictSame(await Promise.all(['run 1', 'run 2'].map(lastOf)), [of(9), of(2)])
  t.equal(await lastOf('run 3'), undefined)
  t.equal(await settled.last('audit', 'run 1'), undefined)

  const occurrences = createOccurrences({
    logger: createLogger('test', 'silent'),
    registry: createRegistry(),
  })
  const keeper = new BooksKeeper(nats, bucket, makeBucket, occurrences)
  await keeper.open()
  await keeper.close()
  t.equal((await nats.streamInfo(ledgerStream))!.state.messages, 1, 'all others are in the snapshot only')
  t.strictSame(await Promise.all(['run 1', 'run 2'].map(lastOf)), [of(9), of(2)])

  // Entries from before the time was entered.
  await ledger.write([{ type: 'input', stream: 'records', since: 'run 1', ranges: [[8, 12]], counts }])
  t.strictSame(await lastOf('run 1'), { sequence: 12, storedAtMs: undefined })
  await until('no consumer is left', async () => {
    const { state } = (await nats.streamInfo(ledgerStream))!
    return state.consumer_count === 0
  })
})
