/** A watch of the store of a local nats-server that is not there. */
import t from 'tap'
import { freePort } from '../../../src/delivery/nats-server/nats-probe.js'
import { StoreWatch } from '../../../src/delivery/nats-server/store-watch.js'
import { tempDir } from '../../harness/temp-dir.js'
import { until } from '../../harness/weir.js'

t.test('it looks at the disk, and ends, although no server answers', async (t) => {
  let looks = 0
  const watch = new StoreWatch({
    port: await freePort(),
    password: 'secret',
    dir: tempDir(t),
    serverPid: () => undefined,
    restart: () => Promise.reject(new Error('There is nothing to restart.')),
    occurrences: {
      natsStoreFailed: () => {},
      natsStoreRestarted: () => {},
      natsStoresFailing: () => {
        looks += 1
      },
    },
  })
  await until('it has looked', () => looks > 0)
  t.equal(watch.problem, undefined)
  await watch.close()
})
