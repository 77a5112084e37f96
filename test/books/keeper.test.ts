/** Who keeps the books, while others keep them too, and while their ledger is killed or put back. */
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { noRecords } from '../../src/books/books.js'
import { BooksKeeper } from '../../src/books/keeper.js'
import { LedgerReading } from '../../src/books/reading.js'
import { Snapshots } from '../../src/books/snapshots.js'
import { createLogger } from '../../src/core/log.js'
import { createRegistry } from '../../src/core/metrics.js'
import { createOccurrences } from '../../src/core/occurrences.js'
import type { Bucket } from '../../src/nats/bucket.js'
import type { Nats } from '../../src/nats/nats.js'
import { booksBucket, ledgerStream } from '../../src/wire/names.js'
import { messagesOf, type OwnNats } from '../harness/own-nats.js'
import { openStreams } from '../harness/own-streams.js'
import { until } from '../harness/weir.js'

t.setTimeout(300_000)

const mebibyte = 1024 * 1024
/** By itself, a client notices only after this long that the server has forgotten who follows. */
const beforeClientNoticesMs = 25_000

interface World {
  readonly server: OwnNats
  readonly nats: Nats
  readonly bucket: Bucket
  readonly makeBucket: () => Promise<Bucket>
  /** Enters that these input messages were processed, each in a message of its own. */
  readonly enter: (first: number, last: number) => Promise<void>
}

async function openWorld(t: Test): Promise<World> {
  const { server, nats, ledger } = await openStreams(t)
  const enter = async (first: number, last: number): Promise<void> => {
    const counts = { ...noRecords, records: 1, sources: [] }
    for (let n = first; n <= last; n += 1)
      await ledger.write([{ type: 'input', stream: 'records', since: 'run 1', ranges: [[n, n]], counts }])
  }
  const makeBucket = () => nats.openBucket(booksBucket, mebibyte)
  return { server, nats, bucket: await makeBucket(), makeBucket, enter }
}

const snapshotsOf = ({ makeBucket }: World, bucket: Bucket) => new Snapshots(bucket, makeBucket)

function read({ nats }: World, t: Test, snapshots: Snapshots): Promise<LedgerReading> {
  const reading = LedgerReading.open({ nats, snapshots, onGap: () => t.fail('There is no gap.') })
  t.teardown(async () => (await reading).close())
  return reading
}

/** What a keeper does now and then: saves, and takes out of the ledger what is saved. */
async function save({ nats }: World, { books, since }: LedgerReading, snapshots: Snapshots): Promise<void> {
  const { last_seq } = (await nats.streamInfo(ledgerStream))!.state
  const saved = await snapshots.save(books.snapshot(), since, async () => ({ since, sequence: last_seq }))
  await nats.purgeUpTo(ledgerStream, saved!)
}

/** The bucket itself, with something between it and whoever uses it. */
const between = (bucket: Bucket, calls: Partial<Pick<Bucket, 'get' | 'replace'>>): Bucket =>
  ({
    get: (key: string) => bucket.get(key),
    put: (key: string, value: Uint8Array) => bucket.put(key, value),
    replace: (key: string, value: string, revision: number) => bucket.replace(key, value, revision),
    forget: (key: string) => bucket.forget(key),
    keys: (filter: string) => bucket.keys(filter),
    ...calls,
  }) as Bucket

t.test('a server that is killed under load and is back: what is entered is known without more', async (t) => {
  const world = await openWorld(t)
  const occurrences = createOccurrences({
    logger: createLogger('test', 'silent'),
    registry: createRegistry(),
  })
  const keeper = new BooksKeeper(world.nats, world.bucket, world.makeBucket, occurrences)
  await keeper.open()
  t.teardown(() => keeper.close())
  const entries = 2_000
  const entering = world.enter(1, entries)
  for (let kill = 1; kill <= 2; kill += 1) {
    await until('more is entered', () => keeper.books.records.records >= kill * 100)
    await world.server.kill()
    await world.server.start()
  }
  await entering
  const areKnown = () => keeper.books.records.records === entries
  await until('the books hold all that is entered', areKnown, beforeClientNoticesMs)
  await sleep(100)
  t.equal(keeper.books.records.records, entries, 'and each once')
})

t.test('one that begins to read while another saves misses nothing', async (t) => {
  const world = await openWorld(t)
  const snapshots = snapshotsOf(world, world.bucket)
  await world.enter(1, 10)
  const first = await read(world, t, snapshots)
  await save(world, first, snapshots)
  await world.enter(11, 20)
  await until('the first one knows', () => first.books.records.records === 20)
  let isSaved = false
  const get = async (key: string) => {
    const entry = await world.bucket.get(key)
    if (key.startsWith('part.') && !isSaved) {
      isSaved = true
      await save(world, first, snapshots)
    }
    return entry
  }
  const second = await read(world, t, snapshotsOf(world, between(world.bucket, { get })))
  t.ok(isSaved, 'what the second one had read of was taken out meanwhile')
  t.strictSame(second.books.snapshot(), first.books.snapshot())
})

t.test('a snapshot whose last answer was lost is the one that is read', async (t) => {
  const world = await openWorld(t)
  const snapshots = snapshotsOf(world, world.bucket)
  await world.enter(1, 10)
  const reading = await read(world, t, snapshots)
  await save(world, reading, snapshots)
  await world.enter(11, 20)
  await until('they are known', () => reading.books.records.records === 20)
  const replace = async (key: string, value: Uint8Array | string, revision: number) => {
    await world.bucket.replace(key, value, revision)
    return world.bucket.replace(key, value, revision)
  }
  await save(world, reading, snapshotsOf(world, between(world.bucket, { replace })))
  const again = await read(world, t, snapshots)
  t.strictSame(again.books.snapshot(), reading.books.snapshot())
})

t.test('a ledger that is put back to a time before the snapshot: both count', async (t) => {
  const world = await openWorld(t)
  const { server, nats } = world
  const snapshots = snapshotsOf(world, world.bucket)
  const restarted = async (meanwhile: () => void): Promise<void> => {
    await server.stop()
    meanwhile()
    await server.start()
    await until(
      'the ledger is there',
      async () => (await nats.streamInfo(ledgerStream).catch(() => {})) !== undefined,
    )
  }
  await world.enter(1, 10)
  let putBack = (): void => {}
  await restarted(() => {
    putBack = server.copy(messagesOf(ledgerStream))
  })
  await world.enter(11, 20)
  await save(world, await read(world, t, snapshots), snapshots)
  await restarted(putBack)
  await world.enter(21, 25)
  const reading = await read(world, t, snapshots)
  t.equal(reading.books.records.records, 25)
  await save(world, reading, snapshots)
  await world.enter(26, 30)
  t.equal((await read(world, t, snapshots)).books.records.records, 30, 'and so they do once that is saved')
})

t.test('a snapshot that is damaged is left out, and what the ledger still has is known', async (t) => {
  const world = await openWorld(t)
  await world.enter(1, 10)
  const first = await read(world, t, snapshotsOf(world, world.bucket))
  await save(world, first, snapshotsOf(world, world.bucket))
  await world.enter(11, 15)
  const get = async (key: string) => {
    const entry = await world.bucket.get(key)
    return key.startsWith('part.') && entry !== undefined
      ? { ...entry, value: Buffer.from('damaged') }
      : entry
  }
  const second = await read(world, t, snapshotsOf(world, between(world.bucket, { get })))
  const { messages } = (await world.nats.streamInfo(ledgerStream))!.state
  t.ok(messages < 15, 'part of it was taken out')
  t.equal(second.books.records.records, messages)
})
