/**
 * Four partitions on three nats-servers, with three copies of each: servers and processes are killed under load, others join,
 * and nothing is lost. It takes minutes: only with `--full`.
 */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { openClient } from '../../src/client/client.js'
import { type Nats, openNats } from '../../src/nats/nats.js'
import { partitionsUpTo, subjectMappings } from '../../src/wire/partitions.js'
import { startClickhouseFront } from '../harness/clickhouse-front.js'
import { total } from '../harness/metrics.js'
import { startNatsCluster } from '../harness/nats-cluster.js'
import { metricsOf } from '../harness/pages.js'
import { type Running, run } from '../harness/processes.js'
import { tempDir } from '../harness/temp-dir.js'
import { startEmulator, until } from '../harness/weir.js'
import { configure, expectedEvents, record, settle, token } from './deployment.js'

const partitions = 4
const nodes = 64
const perMessage = 10
const publishPauseMs = 5
const underLoadMs = 5_000
const skip = process.argv.includes('--full') ? false : 'it takes minutes: only with --full'

t.setTimeout(900_000)

/** Publishes records of many nodes until it is stopped, also while servers are away; resolves with their number. */
function keepPublishing(nats: Nats): { stop(): Promise<number> } {
  let isStopped = false
  const publishing = (async () => {
    let next = 0
    for (; !isStopped; next += perMessage) {
      const lines = Array.from({ length: perMessage }, (_, at) => record('run', next + at))
      const node = `node-${(next / perMessage) % nodes}`
      const options = { msgId: `run.${next}`, patienceMs: 300_000 }
      await nats.publish(`weir.records.eu.${node}`, lines.join('\n'), options)
      await sleep(publishPauseMs)
    }
    return next
  })()
  return {
    stop: () => {
      isStopped = true
      return publishing
    },
  }
}

t.test('servers and processes killed and added under load', { skip }, async (t) => {
  const dir = tempDir(t)
  const mappings = `mappings: ${JSON.stringify(subjectMappings(partitions))}`
  const cluster = await startNatsCluster(dir, mappings)
  t.teardown(() => cluster.close())
  const emulator = await startEmulator()
  t.teardown(() => emulator.stop())
  const clickhouse = await startClickhouseFront(join(dir, 'clickhouse'))
  t.teardown(() => clickhouse.process.kill())
  const env = {
    NATS_URL: cluster.url,
    WEIR_NATS_REPLICAS: '3',
    WEIR_PARTITIONS: String(partitions),
    CLICKHOUSE_URL: clickhouse.url,
    WEIR_SECRET_KEY: randomBytes(32).toString('base64'),
    WEIR_DATA_DIR: join(dir, 'data'),
    WEIR_PORT: '0',
    WEIR_OPS_PORT: '0',
    WEIR_STORAGE_MAX: '64MiB',
    WEIR_BOOTSTRAP_TOKEN: token,
    AWS_ENDPOINT_URL: emulator.url,
  }
  const start = (role: string): Running => {
    const running = run('programs/main.js', [role], { ...env, WEIR_DATA_DIR: join(dir, role) })
    t.teardown(() => running.kill())
    return running
  }
  const apiProcess = start('api')
  const [, url = ''] = await apiProcess.line(/^API: (\S+)$/)
  const api = openClient({ url, token })
  const { destinations } = await configure(api, emulator)
  const pipelines = [start('pipeline'), start('pipeline')]
  const deliverers = [start('deliver'), start('deliver')]
  await settle()

  const nats = await openNats({ servers: cluster.url.split(','), name: 'test', replicas: 3 })
  t.teardown(() => nats.close())
  const publishing = keepPublishing(nats)
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
  const published = await publishing.stop()

  const status = () => api.deliveryStatus(destinations.all)
  const isDone = async (): Promise<boolean> => {
    const { counts, backlog } = await status()
    return counts.delivered >= published && backlog.events === 0
  }
  await until('all are delivered', isDone, 240_000).catch(async (error: Error) => {
    throw new Error(`${error.message} ${published} ${JSON.stringify(await status())}`)
  })
  const counts = await emulator.client.counts({ service: 'kinesis', name: 'all' })
  t.equal(counts.unique, expectedEvents(published).all, 'every record arrived')
  // What a killed process had is delivered again after the acknowledgement wait, even if its events have arrived.
  const inBooks = async () => total(await metricsOf(url), 'weir_records_in_total')
  await until('every record is in the books', async () => (await inBooks()) >= published)
  const metrics = await metricsOf(url)
  t.equal(total(metrics, 'weir_records_in_total'), published, 'and is in the books once')
  t.equal(total(metrics, 'weir_events_backlog'), 0)
  const infos = await Promise.all(
    partitionsUpTo(partitions).map(({ recordsStream }) => nats.streamInfo(recordsStream)),
  )
  for (const info of infos) t.ok(info!.state.messages > 0, `${info!.config.name} has records`)
})
