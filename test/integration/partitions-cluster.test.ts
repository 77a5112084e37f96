/**
 * Four partitions on three nats-servers, with three copies of each: servers and processes are killed under load, others
 * join, and nothing is lost. It takes minutes: only with `--full`.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { partitionsUpTo } from '../../src/delivery/wire/partitions.js'
import { total } from '../harness/metrics.js'
import { metricsOf } from '../harness/pages.js'
import { until } from '../harness/weir.js'
import { openClusterDeployment } from './cluster-deployment.js'
import { expectedEvents } from './deployment.js'
import { checkPartitionBooks, NodeTraffic } from './node-traffic.js'

const partitions = 4
/** Servers elect leaders, clients find them, and traffic goes on, within this time. */
const underLoadMs = 5_000
const skip = process.argv.includes('--full') ? false : 'it takes minutes: only with --full'

t.setTimeout(900_000)

t.test('servers and processes killed and added under load', { skip }, async (t) => {
  const deployment = await openClusterDeployment(t, partitions, '64MiB')
  const { cluster, emulator, destinations, nats, pipelines, deliverers, start } = deployment
  const { api, url } = deployment.weir
  const traffic = new NodeTraffic()
  const publishing = traffic.keepPublishing(nats, partitions)
  const [one, two] = cluster.servers
  for (const server of [one!, two!]) {
    await sleep(underLoadMs)
    await server.kill()
    await sleep(underLoadMs)
    await server.start()
  }
  await pipelines[0]!.kill()
  pipelines.push(start('pipeline'))
  await deliverers[0]!.kill()
  deliverers.push(start('deliver'))
  await sleep(underLoadMs)
  await publishing.stop()
  const { published } = traffic

  const status = () => api.deliveryStatus(destinations.all)
  const isDone = async (): Promise<boolean> => {
    const { counts, backlog } = await status()
    return counts.delivered >= published && backlog.events === 0
  }
  await until('all are delivered', isDone).catch(async (error: Error) => {
    throw new Error(`${error.message} ${published} ${JSON.stringify(await status())}`)
  })
  const counts = await emulator.client.counts({ service: 'kinesis', name: 'all' })
  t.equal(counts.unique, expectedEvents(published).all, 'every record arrived')
  // Messages that a killed process had come again after the acknowledgement wait, even if their events have arrived.
  const inBooks = async () => total(await metricsOf(url), 'weir_records_in_total')
  await until('every record is in the books', async () => (await inBooks()) >= published)
  const metrics = await metricsOf(url)
  t.equal(total(metrics, 'weir_records_in_total'), published, 'and is in the books once')
  t.equal(total(metrics, 'weir_events_backlog'), 0)
  const infos = await Promise.all(
    partitionsUpTo(partitions).map(({ recordsStream }) => nats.streamInfo(recordsStream)),
  )
  for (const info of infos) t.ok(info!.state.messages > 0, `${info!.config.name} has records`)
  const stored = await checkPartitionBooks(t, nats, partitions)
  t.strictSame(stored, traffic.storedOfEach(partitions), 'each message is stored once')
})
