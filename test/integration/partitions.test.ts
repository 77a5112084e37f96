/** Records and packs spread over several streams: their number changes under load, and nothing is lost. */
import { setTimeout as sleep } from 'node:timers/promises'
import { connect as connectTo } from '@nats-io/transport-node'
import t from 'tap'
import { partitionsUpTo } from '../../src/delivery/wire/partitions.js'
import { connectionOptions } from '../../src/ground/nats/connection.js'
import { openNats } from '../../src/ground/nats/nats.js'
import { total } from '../harness/metrics.js'
import { metricsOf } from '../harness/pages.js'
import { run } from '../harness/processes.js'
import { tempDir } from '../harness/temp-dir.js'
import { killRole, processesBelow } from '../harness/tree.js'
import { startWeir, until } from '../harness/weir.js'
import {
  arrivedRecords,
  checkBooks,
  checkRepeats,
  expectedEvents,
  openDeployment,
  untilArrived,
} from './deployment.js'
import { NodeTraffic, nodes, perMessage } from './node-traffic.js'

t.setTimeout(600_000)

const deployment = await openDeployment(t, { WEIR_PARTITIONS: '4', WEIR_STORAGE_MAX: '64MiB' })
const traffic = new NodeTraffic()
/** Requests for messages that wait are answered long before, and those that follow them are sent. */
const answeredMs = 1_000
const connect = () => openNats({ servers: [deployment.weir.natsUrl], name: 'test', replicas: 1 })

/** Publishes one message after the other, while servers start and streams are made; the result stops it. */
async function keepPublishing(): Promise<() => Promise<void>> {
  const nats = await connect()
  const publishing = traffic.keepPublishing(nats, 1)
  return async () => {
    await publishing.stop()
    await nats.close()
  }
}

async function restart(partitions: number, more: Readonly<Record<string, string>> = {}): Promise<void> {
  await deployment.weir.stop()
  const env = { ...deployment.env, WEIR_PARTITIONS: String(partitions), ...more }
  deployment.weir = await startWeir(deployment.dataDir, env)
}

/** Waits until so many more messages are stored as are published in half a second, also while a server is away. */
async function untilMoreIsStored(): Promise<void> {
  const before = traffic.stored
  await until('more messages are stored', () => traffic.stored >= before + 30)
}

const lastSequences = async (streams: readonly string[]): Promise<number[]> => {
  const nats = await deployment.weir.nats()
  const infos = await Promise.all(streams.map((stream) => nats.streamInfo(stream)))
  return infos.map((info) => info?.state.last_seq ?? 0)
}

t.test('each node has a partition, and so has each destination', async (t) => {
  const nats = await connect()
  await traffic.publish(nats, 2 * nodes)
  await nats.close()
  await untilArrived(deployment, expectedEvents(traffic.published))
  await checkBooks(t, deployment, traffic.published)
  const streams = partitionsUpTo(4)
  const records = await lastSequences(streams.map(({ recordsStream }) => recordsStream))
  for (const [index, { recordsStream }] of streams.entries())
    t.ok(records[index]! > nodes / 4, `${recordsStream} got ${records[index]} messages`)
  const metrics = await metricsOf(deployment.weir.url)
  for (const { recordsStream } of streams)
    t.match(metrics, `weir_records_lag_messages{stream="${recordsStream}"} 0`)
})

t.test('a pipeline, the nats-server and a deliverer are killed under load', async (t) => {
  const stopPublishing = await keepPublishing()
  for (const role of ['pipeline', 'nats-server', 'deliver']) {
    await untilMoreIsStored()
    t.ok((await killRole(deployment.weir.process.pid, role)) > 0, `${role} is killed`)
  }
  await untilMoreIsStored()
  await stopPublishing()
  const { published } = traffic
  await untilArrived(deployment, expectedEvents(published))
  t.equal((await arrivedRecords(deployment)).size, published, 'every record arrived')
  await checkRepeats(t, deployment)
  await checkBooks(t, deployment, published)
})

t.test('two pipelines share the partitions, and one takes over when the other is killed', async (t) => {
  await restart(4, { WEIR_PIPELINES: '2' })
  const admin = await connectTo(
    connectionOptions({ servers: [deployment.weir.adminUrl], name: 'test', replicas: 1 }),
  )
  t.teardown(() => admin.close())
  const requestsFor = async (stream: string): Promise<number> =>
    (await admin.request(`$JS.API.CONSUMER.INFO.${stream}.pipeline`)).json<{ num_waiting: number }>()
      .num_waiting
  const nats = await connect()
  await until('each partition has one reader', async () => {
    // Requests that a pipeline sent before it heard of the other one are answered.
    await traffic.publish(nats, nodes)
    await sleep(answeredMs)
    const requests = await Promise.all(partitionsUpTo(4).map((each) => requestsFor(each.recordsStream)))
    return requests.every((count) => count === 1)
  })
  const pipelines = processesBelow(deployment.weir.process.pid).filter(({ role }) => role === 'pipeline')
  t.equal(pipelines.length, 2)
  process.kill(pipelines[0]!.pid, 'SIGKILL')
  await traffic.publish(nats, nodes)
  await nats.close()
  await untilArrived(deployment, expectedEvents(traffic.published))
  await checkRepeats(t, deployment)
  await checkBooks(t, deployment, traffic.published)
})

t.test('a record of each partition is found again, and tried, and replayed', async (t) => {
  const { api } = deployment.weir
  const { published } = traffic
  for (const number of [0, 1, 2, 3, perMessage * 7, perMessage * 20, published - 1]) {
    await until(`record ${number} is in the decision log`, async () => {
      const shown = await api.record(`run-${number}`).catch(() => undefined)
      return shown?.publications[0]?.record?.['record_id'] === `run-${number}`
    })
  }
  const replay = await api.replay(deployment.destinations.all, { from: '1h' })
  await until('the replay has ended', async () => (await api.getReplay(replay.id)).state !== 'running')
  const { state, progress } = await api.getReplay(replay.id)
  t.equal(state, 'done')
  t.equal(progress.messages, progress.of)
  t.ok(progress.of >= published / perMessage)
  const resource = { service: 'kinesis', name: 'all' } as const
  await until('all events have come again', async () => {
    return (await deployment.emulator.client.counts(resource)).duplicates >= published
  })
  await checkRepeats(t, deployment)
})

t.test('4, then 8, then 4, then 1, while records flow: old streams are drained', async (t) => {
  for (const partitions of [8, 4, 1]) {
    const stopPublishing = await keepPublishing()
    await untilMoreIsStored()
    await restart(partitions)
    await untilMoreIsStored()
    await stopPublishing()
    const { published } = traffic
    const expected = expectedEvents(published)
    await untilArrived(deployment, expected)
    const numbers = await arrivedRecords(deployment)
    const missing = Array.from({ length: published }, (_, n) => n).filter((n) => !numbers.has(n))
    t.strictSame(missing, [], `${partitions} partitions: every record arrived`)
    const recordsIn = async () => total(await metricsOf(deployment.weir.url), 'weir_records_in_total')
    await until('every record is in the books', async () => (await recordsIn()) >= published)
    t.equal(await recordsIn(), published, 'and is in the books once')
    t.equal(total(await metricsOf(deployment.weir.url), 'weir_events_backlog'), 0)
  }
  await checkRepeats(t, deployment)
  const deliveries = partitionsUpTo(8).map(({ deliveriesStream }) => deliveriesStream)
  const nats = await deployment.weir.nats()
  for (const stream of deliveries)
    await until(`${stream} is drained`, async () => (await nats.streamInfo(stream))?.state.messages === 0)
})

t.test('a server that spreads records otherwise is refused', async (t) => {
  const env = {
    NATS_URL: deployment.weir.adminUrl,
    WEIR_PARTITIONS: '2',
    WEIR_DATA_DIR: tempDir(t),
    WEIR_SECRET_KEY: Buffer.alloc(32, 1).toString('base64'),
  }
  const api = run('programs/main.js', ['api'], { ...env, WEIR_PORT: '0', WEIR_STORAGE_MAX: '64MiB' })
  t.teardown(() => api.stop())
  await api.line(
    /WEIR_PARTITIONS is 2, but nats-server stores .*"weir\.records\.\*\.\*": "weir\.records\.\{\{wildcard\(1\)\}\}/,
  )
})
