/** Three nats-servers lose streams and buckets under running roles, as in `lost-store.test.ts`. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { serverName, startNatsCluster } from '../harness/nats-cluster.js'
import { tempDir } from '../harness/temp-dir.js'
import { openDeployment } from './deployment.js'
import { Losses, streamsIn } from './losses.js'

const isFull = process.argv.includes('--full')
const dir = tempDir(t)
const cluster = await startNatsCluster(dir)
t.teardown(() => cluster.close())
const { servers } = cluster
const env = { NATS_URL: cluster.url, WEIR_NATS_REPLICAS: String(servers.length), WEIR_STORAGE_MAX: '64MiB' }
const deployment = await openDeployment(t, env)
const nats = await deployment.weir.nats()
const losses = new Losses(deployment, nats)
const all = await streamsIn(nats)

for (const stream of isFull ? all : []) {
  t.test(`${stream}, idle`, (t) => losses.check(t, losses.one(stream), false))
  t.test(`${stream}, with traffic`, (t) => losses.check(t, losses.one(stream), true))
}

t.test('all deleted, with traffic', async (t) => losses.check(t, await losses.all(), true))

t.test('the stores of all servers removed', async (t) => {
  const lose = async (): Promise<void> => {
    for (const server of servers) await server.kill()
    for (const n of servers.keys()) rmSync(join(dir, serverName(n), 'jetstream'), { recursive: true })
    await Promise.all(servers.map((server) => server.start()))
  }
  await losses.check(t, { name: 'removed', streams: all, lose }, true)
})
