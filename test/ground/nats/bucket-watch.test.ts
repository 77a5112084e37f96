/** The entries that a watch of a bucket delivers, and the state of it that its server keeps. */
import t, { type Test } from 'tap'
import type { Bucket } from '../../../src/ground/nats/bucket.js'
import { openNats } from '../../../src/ground/nats/nats.js'
import { OwnNats } from '../../harness/own-nats.js'
import { tempDir } from '../../harness/temp-dir.js'
import { until } from '../../harness/weir.js'

async function openBucket(t: Test) {
  const server = new OwnNats(tempDir(t))
  await server.start()
  t.teardown(() => server.stop())
  const connected = async () => {
    const nats = await openNats({ servers: [server.url], name: 'test', replicas: 1 })
    t.teardown(() => nats.close())
    return nats
  }
  const nats = await connected()
  return { server, connected, nats, bucket: await nats.openBucket('watched', 1024 * 1024) }
}

/** The deliveries: `key=value`, `key deleted`, and `current`. */
async function watched(t: Test, bucket: Bucket, from?: number): Promise<string[]> {
  const delivered: string[] = []
  const watcher = {
    entry: ({ key, value }: { key: string; value: Uint8Array | undefined }) =>
      void delivered.push(value === undefined ? `${key} deleted` : `${key}=${Buffer.from(value)}`),
    current: () => void delivered.push('current'),
    ended: () => {},
  }
  const watch = await bucket.watch(watcher, from)
  t.teardown(() => watch.close())
  return delivered
}

t.test('the last value of each key, then changes', async (t) => {
  const { bucket } = await openBucket(t)
  const empty = await watched(t, bucket)
  t.strictSame(empty, ['current'], 'at once, if there is nothing')
  await bucket.put('a.b', '1')
  const revision = await bucket.put('c', '2')
  await bucket.put('a.b', '3')
  await bucket.remove('c', revision)
  const delivered = await watched(t, bucket)
  const ended = await watched(t, bucket, revision + 3)
  await bucket.put('d', '')
  await until('the change arrives', () => delivered.length === 4 && ended.length === 2)
  t.strictSame(delivered, ['a.b=3', 'c deleted', 'current', 'd='])
  t.strictSame(ended, ['current', 'd='], 'only what comes after')
  await until('all changes arrive', () => empty.length === 6)
})

t.test('a server that starts again has no consumers to recover', async (t) => {
  const { server, connected, nats, bucket } = await openBucket(t)
  await bucket.put('a', '1')
  const delivered = await watched(t, bucket)
  await until('it is watched', () => delivered.length === 2)
  t.equal((await nats.streamInfo('KV_watched'))?.state.consumer_count, 1)
  await nats.close()
  await server.stop()
  await server.start()
  t.equal((await (await connected()).streamInfo('KV_watched'))?.state.consumer_count, 0)
})

t.test('listings, and watches that were closed, leave no consumer behind', async (t) => {
  const { nats, bucket } = await openBucket(t)
  const consumers = async () => (await nats.streamInfo('KV_watched'))?.state.consumer_count
  t.strictSame(await bucket.keys('>'), [], 'nothing is listed')
  for (const key of ['a.1', 'a.2', 'b.1']) await bucket.put(key, '1')
  await bucket.remove('a.2', 2)
  for (let turn = 0; turn < 20; turn += 1) {
    t.strictSame(await bucket.keys('a.*'), ['a.1'])
    await bucket.forget('b.*')
    await bucket.put('b.1', '1')
    const watch = await bucket.watch({ entry: () => {}, current: () => {}, ended: () => {} })
    watch.close()
  }
  await until('all are deleted', async () => (await consumers()) === 0)
})

t.test('a key that changes while keys are listed is listed once', async (t) => {
  const { connected, bucket } = await openBucket(t)
  const other = (await (await connected()).findBucket('watched'))!
  const keys = Array.from({ length: 200 }, (_, at) => `key.${at}`)
  await Promise.all(keys.map((key) => bucket.put(key, '1')))
  let isOver = false
  const writing = Promise.all(
    keys.slice(0, 20).map(async (key) => {
      while (!isOver) await other.put(key, '2')
    }),
  )
  for (let turn = 0; turn < 50; turn += 1) {
    const listed = await bucket.keys('key.*')
    if (listed.length !== keys.length) t.equal(listed.length, keys.length)
  }
  isOver = true
  await writing
  t.strictSame((await bucket.keys('key.*')).sort(), keys.sort())
})

t.test('a listing whose last keys are removed before they were delivered ends', async (t) => {
  const { connected, bucket } = await openBucket(t)
  const other = (await (await connected()).findBucket('watched'))!
  for (let turn = 0; turn < 20; turn += 1) {
    await Promise.all(Array.from({ length: 100 }, (_, at) => bucket.put(`key.${at}`, '1')))
    await Promise.all([bucket.keys('key.*'), other.forget('key.*')])
  }
  t.strictSame(await bucket.keys('key.*'), [])
})
