/** Keepers of the books: several at a time, and with a ledger that is killed or restored from a backup. */
import t, { type Test } from 'tap'
import { BooksKeeper } from '../../../src/delivery/books/keeper.js'
import { noRecords } from '../../../src/delivery/books/ledger.js'
import { LedgerReading } from '../../../src/delivery/books/reading.js'
import { Snapshots } from '../../../src/delivery/books/snapshots.js'
import { booksBucket, ledgerStream } from '../../../src/delivery/wire/names.js'
import { createLogger } from '../../../src/ground/core/telemetry/log.js'
import { createRegistry } from '../../../src/ground/core/telemetry/metrics.js'
import { createOccurrences } from '../../../src/ground/core/telemetry/occurrences.js'
import type { Bucket } from '../../../src/ground/nats/bucket.js'
import { streamOf } from '../../../src/ground/nats/bucket-stream.js'
import type { Nats } from '../../../src/ground/nats/nats.js'
import { messagesOf, type OwnNats } from '../../harness/own-nats.js'
import { openStreams } from '../../harness/own-streams.js'
import { until } from '../../harness/weir.js'

const mebibyte = 1024 * 1024
/** By itself, a client notices only after this long that the server has lost its followers. */
const beforeClientNoticesMs = 25_000

interface BooksFixture {
  readonly server: OwnNats
  readonly nats: Nats
  readonly bucket: Bucket
  readonly makeBucket: () => Promise<Bucket>
  /** Enters that these input messages were processed, each in a message of its own. */
  readonly enter: (first: number, last: number) => Promise<void>
}

async function openFixture(t: Test): Promise<BooksFixture> {
  const { server, nats, ledger } = await openStreams(t)
  const enter = async (first: number, last: number): Promise<void> => {
    const counts = { ...noRecords, records: 1, sources: [] }
    for (let n = first; n <= last; n += 1)
      await ledger.write([{ type: 'input', stream: 'records', since: 'run 1', ranges: [[n, n]], counts }])
  }
  const makeBucket = () => nats.openBucket(booksBucket, mebibyte)
  return { server, nats, bucket: await makeBucket(), makeBucket, enter }
}

const snapshotsOf = ({ makeBucket }: BooksFixture, bucket: Bucket) => new Snapshots(bucket, makeBucket)

function read({ nats }: BooksFixture, t: Test, snapshots: Snapshots): Promise<LedgerReading> {
  const reading = LedgerReading.open(nats, snapshots, () => t.fail('There is no gap.'))
  t.teardown(async () => (await reading).close())
  return reading
}

/** The periodical work of a keeper: it saves, and removes saved entries from the ledger. */
async function save(
  { nats }: BooksFixture,
  { books, since }: LedgerReading,
  snapshots: Snapshots,
): Promise<void> {
  const { last_seq } = (await nats.streamInfo(ledgerStream))!.state
  const saved = await snapshots.save(books.snapshot(), since, async () => ({ since, sequence: last_seq }))
  await nats.purgeUpTo(ledgerStream, saved!)
}

/** The bucket, with some of its calls intercepted. */
const between = (bucket: Bucket, calls: Partial<Pick<Bucket, 'get' | 'replace'>>): Bucket =>
  ({
    get: (key: string) => bucket.get(key),
    decoded: (...entry: Parameters<Bucket['decoded']>) => bucket.decoded(...entry),
    reportDamaged: (...entry: Parameters<Bucket['reportDamaged']>) => bucket.reportDamaged(...entry),
    put: (key: string, value: Uint8Array) => bucket.put(key, value),
    replace: (key: string, value: string, revision: number) => bucket.replace(key, value, revision),
    forget: (key: string) => bucket.forget(key),
    keys: (filter: string) => bucket.keys(filter),
    ...calls,
  }) as Bucket

t.test('a server is killed under load and restarted: the books hold all entries soon', async (t) => {
  const fixture = await openFixture(t)
  const occurrences = createOccurrences({
    logger: createLogger('test', 'silent'),
    registry: createRegistry(),
  })
  const keeper = new BooksKeeper(fixture.nats, fixture.bucket, fixture.makeBucket, occurrences)
  await keeper.open()
  t.teardown(() => keeper.close())
  const entries = 2_000
  const entering = fixture.enter(1, entries)
  for (let kill = 1; kill <= 2; kill += 1) {
    await until('more is entered', () => keeper.books.records.records >= kill * 100)
    await fixture.server.kill()
    await fixture.server.start()
  }
  await entering
  const areKnown = () => keeper.books.records.records === entries
  await until('the books hold all that is entered', areKnown, beforeClientNoticesMs)
  // An entry that is read twice would be read before a later one.
  await fixture.enter(entries + 1, entries + 1)
  await until('it is in the books', () => keeper.books.records.records > entries)
  t.equal(keeper.books.records.records, entries + 1, 'and each once')
})

t.test('the bucket is lost while nothing is entered: the next process has the same books', async (t) => {
  const fixture = await openFixture(t)
  const { nats, bucket, makeBucket } = fixture
  const occurrences = createOccurrences({
    logger: createLogger('test', 'silent'),
    registry: createRegistry(),
  })
  const open = async (): Promise<BooksKeeper> => {
    const keeper = new BooksKeeper(nats, bucket, makeBucket, occurrences)
    await keeper.open()
    return keeper
  }
  await fixture.enter(1, 10)
  // A close saves a snapshot, and removes what is in it from the ledger.
  await (await open()).close()
  t.equal((await nats.streamInfo(ledgerStream))!.state.first_seq, 10)
  const keeper = await open()
  await nats.request(`$JS.API.STREAM.DELETE.${streamOf(booksBucket)}`, '', 2_000)
  await keeper.restoreSnapshots()
  await keeper.restoreSnapshots()
  const { books } = keeper
  await keeper.close()
  const next = await open()
  t.teardown(() => next.close())
  t.equal(next.books.records.records, 10)
  t.strictSame(next.books.snapshot(), books.snapshot())
})

t.test('a keeper that begins to read while another saves misses nothing', async (t) => {
  const fixture = await openFixture(t)
  const snapshots = snapshotsOf(fixture, fixture.bucket)
  await fixture.enter(1, 10)
  const first = await read(fixture, t, snapshots)
  await save(fixture, first, snapshots)
  await fixture.enter(11, 20)
  await until('the first one knows', () => first.books.records.records === 20)
  let isSaved = false
  const get = async (key: string) => {
    const entry = await fixture.bucket.get(key)
    if (key.startsWith('part.') && !isSaved) {
      isSaved = true
      await save(fixture, first, snapshots)
    }
    return entry
  }
  const second = await read(fixture, t, snapshotsOf(fixture, between(fixture.bucket, { get })))
  t.ok(isSaved, 'what the second one had read of was taken out meanwhile')
  t.strictSame(second.books.snapshot(), first.books.snapshot())
})

t.test('a snapshot is used even if the answer to saving it was lost', async (t) => {
  const fixture = await openFixture(t)
  const snapshots = snapshotsOf(fixture, fixture.bucket)
  await fixture.enter(1, 10)
  const reading = await read(fixture, t, snapshots)
  await save(fixture, reading, snapshots)
  await fixture.enter(11, 20)
  await until('they are known', () => reading.books.records.records === 20)
  const replace = async (key: string, value: Uint8Array | string, revision: number) => {
    await fixture.bucket.replace(key, value, revision)
    return fixture.bucket.replace(key, value, revision)
  }
  await save(fixture, reading, snapshotsOf(fixture, between(fixture.bucket, { replace })))
  const again = await read(fixture, t, snapshots)
  t.strictSame(again.books.snapshot(), reading.books.snapshot())
})

t.test('a ledger that is restored to a time before the snapshot: entries of both count', async (t) => {
  const fixture = await openFixture(t)
  const { server, nats } = fixture
  const snapshots = snapshotsOf(fixture, fixture.bucket)
  const restarted = async (meanwhile: () => void): Promise<void> => {
    await server.stop()
    meanwhile()
    await server.start()
    await until(
      'the ledger is there',
      async () => (await nats.streamInfo(ledgerStream).catch(() => {})) !== undefined,
    )
  }
  await fixture.enter(1, 10)
  let putBack = (): void => {}
  await restarted(() => {
    putBack = server.copy(messagesOf(ledgerStream))
  })
  await fixture.enter(11, 20)
  await save(fixture, await read(fixture, t, snapshots), snapshots)
  await restarted(putBack)
  await fixture.enter(21, 25)
  const reading = await read(fixture, t, snapshots)
  t.equal(reading.books.records.records, 25)
  await save(fixture, reading, snapshots)
  await fixture.enter(26, 30)
  t.equal((await read(fixture, t, snapshots)).books.records.records, 30, 'and so they do once that is saved')
})

t.test('a damaged snapshot is ignored, and the remaining entries of the ledger count', async (t) => {
  const fixture = await openFixture(t)
  await fixture.enter(1, 10)
  const first = await read(fixture, t, snapshotsOf(fixture, fixture.bucket))
  await save(fixture, first, snapshotsOf(fixture, fixture.bucket))
  await fixture.enter(11, 15)
  const get = async (key: string) => {
    const entry = await fixture.bucket.get(key)
    return key.startsWith('part.') && entry !== undefined
      ? { ...entry, value: Buffer.from('damaged') }
      : entry
  }
  const second = await read(fixture, t, snapshotsOf(fixture, between(fixture.bucket, { get })))
  const { messages } = (await fixture.nats.streamInfo(ledgerStream))!.state
  t.ok(messages < 15, 'part of it was taken out')
  t.equal(second.books.records.records, messages)
})
