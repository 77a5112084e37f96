/** Buckets that change under their followers: new limits, recreated, created by two processes at once; and that forget. */
import t from 'tap'
import { bucketNames } from '../../../src/delivery/wire/names.js'
import type { Bucket, BucketWatcher } from '../../../src/ground/nats/bucket.js'
import { BucketFollower } from '../../../src/ground/nats/bucket-follower.js'
import { streamOf } from '../../../src/ground/nats/bucket-stream.js'
import { all, statusOf } from '../../harness/caller.js'
import { metricsOf } from '../../harness/pages.js'
import { until } from '../../harness/weir.js'
import { openFixture } from './filled-store.js'

// One store for all tests, because starts take longest.
const fixture = await openFixture(t)
const nats = await fixture.nats()

const mebibyte = 1024 * 1024

const infoOf = async (bucket: string) => (await nats.streamInfo(streamOf(bucket)))!

/** Changes limits as an operator does, with another tool. */
async function changeLimits(bucket: string): Promise<void> {
  const { config } = await infoOf(bucket)
  const changed = JSON.stringify({ ...config, max_bytes: config.max_bytes + mebibyte })
  const answer = await nats.request(`$JS.API.STREAM.UPDATE.${config.name}`, changed, 30_000)
  const { error } = JSON.parse(Buffer.from(answer).toString())
  if (error !== undefined) throw new Error(error.description)
}

/** After two restarts, limits changed in between move the server's own time of creation, unless it is a current one. */
async function restart(): Promise<void> {
  const isBack = new Promise<void>((resolve) => nats.onReconnect(resolve))
  await fixture.killNats()
  await fixture.startNats()
  await isBack
}

const deleteBucket = (bucket: string): Promise<unknown> =>
  nats.request(`$JS.API.STREAM.DELETE.${streamOf(bucket)}`, '', 30_000)

t.test('a follower continues in a bucket with new limits, and reads a recreated one again', async (t) => {
  const bucket = await nats.openBucket('followed', mebibyte)
  const passes: string[][] = []
  const follower = new BucketFollower(bucket, {
    begin: () => {
      const keys: string[] = []
      passes.push(keys)
      return { entry: ({ key }) => keys.push(key), current: () => {} }
    },
  })
  t.teardown(() => follower.close())
  await follower.open()
  await bucket.put('one', '1')
  const before = await bucket.position()
  await restart()
  await changeLimits('followed')
  await restart()
  t.strictSame(await bucket.position(), before)
  await bucket.put('two', '2')
  await until('what is written then arrives', () => passes[0]!.includes('two'))
  await follower.reread()
  t.equal(passes.length, 2, 'the first and this one')
  await until('everything is read', () => passes[1]!.length === 2)

  await deleteBucket('followed')
  const again = await nats.openBucket('followed', mebibyte)
  for (const key of ['three', 'four', 'five', 'six']) await again.put(key, '1')
  await until('it is read from its start', () => passes[2]?.length === 4)
  t.strictSame(passes[2], ['three', 'four', 'five', 'six'])
})

t.test('entries that arrive during a position check', async (t) => {
  const bucket = await nats.openBucket('asked', mebibyte)
  const followed: string[] = []
  let passes = 0
  let checked = 0
  let check = (): void => {}
  const lateToAnswer = {
    position: async () => {
      const position = await bucket.position()
      const key = `while-asking-${checked}`
      await bucket.put(key, '')
      if (passes > 0) await until('it is followed', () => followed.includes(key))
      checked += 1
      return position
    },
    watch: (watcher: BucketWatcher, from?: number) => bucket.watch(watcher, from),
    onReconnect: (listener: () => void) => {
      check = listener
      return () => {}
    },
  }
  const follower = new BucketFollower(lateToAnswer as unknown as Bucket, {
    begin: () => {
      passes += 1
      return { entry: ({ key }) => void followed.push(key), current: () => {} }
    },
  })
  t.teardown(() => follower.close())
  await follower.open()
  check()
  check()
  await until('it asked again, twice', () => checked >= 3)
  await bucket.put('after', '')
  await until('it goes on', () => followed.includes('after'))
  t.equal(passes, 1, 'nothing is read again')
})

t.test(
  'a bucket gets the size in the settings of a process that starts, and keeps its entries',
  async (t) => {
    const sizeIn = async (mebibytes: number, process: typeof nats) => {
      await process.openBucket('room', mebibytes * mebibyte)
      return (await infoOf('room')).config.max_bytes / mebibyte
    }
    const small = await fixture.nats()
    t.equal(await sizeIn(4, nats), 4)
    t.equal(await sizeIn(1, small), 1, 'it shrinks')
    t.equal(await sizeIn(4, nats), 1, 'one that runs leaves it to the one that started later')
    t.equal(await sizeIn(8, await fixture.nats()), 8, 'it grows')
    const bucket = await nats.openBucket('room', mebibyte)
    await bucket.put('key', new Uint8Array(700_000))
    t.equal(await sizeIn(1, await fixture.nats()), 8, 'it does not shrink below its entries')
    t.ok(await bucket.get('key'))
    await deleteBucket('room')
    t.equal(await sizeIn(1, small), 1, 'one that is missing is made')
  },
)

t.test('several processes create a bucket at once', async (t) => {
  const makers = await Promise.all(Array.from({ length: 8 }, () => fixture.nats()))
  const buckets = await Promise.all(makers.map((nats) => nats.openBucket('made', mebibyte)))
  const identities = await Promise.all(buckets.map(async (bucket) => (await bucket.position()).identity))
  t.equal(new Set(identities).size, 1)
})

t.test('limits of all buckets changed under a running API: nothing is read again', async (t) => {
  const api = await fixture.startApi()
  await api.client.ipPolicy.create({ description: 'kept' })
  const rereads = async (): Promise<string | undefined> =>
    /^weir_configuration_rereads_total (\d+)$/m.exec(await metricsOf(api.url))?.[1]
  await restart()
  for (const bucket of Object.values(bucketNames)) await changeLimits(bucket)
  await restart()
  await until(
    'writes are accepted',
    async () => (await statusOf(api.client.ipPolicy.create({ description: 'after' }))) === 'ok',
  )
  t.equal(await rereads(), '0')

  const before = await all(api.client.ipPolicy.list())
  await deleteBucket(bucketNames.config)
  await until('the deletion is noticed', async () => (await rereads()) !== '0')
  await until(
    'writes are accepted again',
    async () => (await statusOf(api.client.ipPolicy.create({ description: 'again' }))) === 'ok',
  )
  const after = await all(api.client.ipPolicy.list())
  t.strictSame(
    after.filter(({ description }) => description !== 'again'),
    before,
    'its entries are unchanged',
  )
})

t.test('entries expire after 24 hours, the oldest earlier if the bucket is full', async (t) => {
  const { config } = await infoOf(bucketNames.idempotency)
  t.equal(config.max_age, 24 * 60 * 60 * 1e9, 'in nanoseconds')
  t.equal(config.discard, 'old')
  const { config: heads } = await infoOf(bucketNames.heads)
  t.equal(heads.max_age, 0, 'the others never forget')
  t.equal(heads.discard, 'new')
})

t.test('the key of an expired entry can be used again', async (t) => {
  const bucket = await nats.openBucket('short', mebibyte, { ageMaxMs: 1_000 })
  t.ok(await bucket.replace('key', 'first', 0))
  t.equal(await bucket.replace('key', 'second', 0), undefined, 'created once')
  await until('it has expired', async () => (await bucket.get('key')) === undefined)
  t.ok(await bucket.replace('key', 'third', 0))
})

t.test('a full bucket takes new entries', async (t) => {
  const bucket = await nats.openBucket('small', 64 * 1024, { ageMaxMs: 60_000 })
  for (let at = 0; at < 100; at += 1) t.ok(await bucket.replace(`key${at}`, 'x'.repeat(2_000), 0))
  t.equal(await bucket.get('key0'), undefined, 'the oldest is deleted')
  t.ok(await bucket.get('key99'))
})
