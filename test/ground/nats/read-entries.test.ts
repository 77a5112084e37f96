/** Reading the entries of a bucket once ends, whatever becomes of the watch behind it. */
import t from 'tap'
import type { Bucket, BucketWatcher } from '../../../src/ground/nats/bucket.js'
import { readEntries } from '../../../src/ground/nats/bucket-follower.js'

const watchedBy = (watch: (watcher: BucketWatcher) => void): Bucket =>
  ({
    name: 'config',
    watch: async (watcher: BucketWatcher) => {
      watch(watcher)
      return { close: () => {} }
    },
  }) as unknown as Bucket

t.test('a watch that goes silent before the last entry', async (t) => {
  // The timer that notices silence keeps no process alive.
  const alive = setInterval(() => {}, 1_000)
  t.teardown(() => clearInterval(alive))
  const silent = watchedBy((watcher) => watcher.entry({ key: 'a', revision: 1, value: undefined }, 1))
  await t.rejects(
    readEntries(silent, () => {}, 0),
    { message: /config went silent/ },
  )
})

t.test('a watch that ends', async (t) => {
  const ended = watchedBy((watcher) => watcher.ended(new Error('The consumer was deleted.')))
  await t.rejects(
    readEntries(ended, () => {}),
    { message: 'The consumer was deleted.' },
  )
})

t.test('a bucket that is read to its end', async (t) => {
  const keys: string[] = []
  const whole = watchedBy((watcher) => {
    watcher.entry({ key: 'a', revision: 1, value: undefined }, 0)
    watcher.current()
  })
  await readEntries(whole, ({ key }) => keys.push(key))
  t.strictSame(keys, ['a'])
})
