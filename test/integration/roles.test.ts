/** Roles as separate processes, two of a kind, on one NATS server and one ClickHouse: they do all that `serve` does. */
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { freePort } from '../../src/delivery/nats-server/nats-probe.js'
import { openNatsServer } from '../../src/delivery/nats-server/nats-server.js'
import { natsAccess } from '../../src/delivery/nats-server/nats-users.js'
import { onePartition } from '../../src/delivery/wire/partitions.js'
import { createLogger } from '../../src/ground/core/telemetry/log.js'
import { createRegistry } from '../../src/ground/core/telemetry/metrics.js'
import { createOccurrences } from '../../src/ground/core/telemetry/occurrences.js'
import { openNats } from '../../src/ground/nats/nats.js'
import { Janitor } from '../../src/judging/pipeline/janitor.js'
import { localNatsServer } from '../../src/management/process/settings.js'
import { localNatsEnvironment } from '../../src/roles/local-nats.js'
import { openClient } from '../../src/words/client/client.js'
import { startClickhouseFront } from '../harness/clickhouse-front.js'
import { recordsStream } from '../harness/first-partition.js'
import { total } from '../harness/metrics.js'
import { isReady, metricsOf } from '../harness/pages.js'
import { type Running, run } from '../harness/processes.js'
import { tempDir } from '../harness/temp-dir.js'
import { startEmulator, until } from '../harness/weir.js'
import { configure, token } from './deployment.js'

const sample = '../shared/data/honeypot-tcp.ndjson.gz'
const recordsMax = process.argv.includes('--full') ? 20_000 : 5_000
/** For a machine with other work. */
const deliveredWithinMs = 180_000
const perMessage = 100

t.test('an API, two pipelines and two deliverers', async (t) => {
  const logger = createLogger('test', 'silent')
  const occurrences = createOccurrences({ logger, registry: createRegistry() })
  const dir = tempDir(t)
  const server = await openNatsServer({
    executable: localNatsServer(),
    dataDir: join(dir, 'nats'),
    port: 0,
    storageMaxBytes: 64 * 1024 * 1024,
    access: natsAccess(),
    occurrences,
  })
  t.teardown(() => server.close())
  const emulator = await startEmulator()
  t.teardown(() => emulator.stop())
  const clickhouse = await startClickhouseFront(join(dir, 'clickhouse'))
  t.teardown(() => clickhouse.process.stop())
  const dataDir = join(dir, 'data')
  const env = {
    CLICKHOUSE_URL: clickhouse.url,
    WEIR_SECRET_KEY: randomBytes(32).toString('base64'),
    WEIR_DATA_DIR: dataDir,
    WEIR_PORT: '0',
    WEIR_OPS_PORT: '0',
    WEIR_LOG_LEVEL: 'info',
    WEIR_BOOTSTRAP_TOKEN: token,
    AWS_ENDPOINT_URL: emulator.url,
  }
  const started: Running[] = []
  t.teardown(() => Promise.all(started.map((one) => one.stop())))
  const start = (role: string): Running => {
    // Only the API, which creates the streams and buckets, needs their bounds.
    const bounds = role === 'api' ? { WEIR_STORAGE_MAX: '64MiB' } : {}
    const running = run('programs/main.js', [role], {
      ...env,
      ...bounds,
      ...localNatsEnvironment(server, role),
    })
    started.push(running)
    return running
  }
  const apiProcess = start('api')
  const [, url = ''] = await apiProcess.line(/^API: (\S+)$/)
  t.match(apiProcess.output(), /^account: /m, 'the first account was made before')
  const api = openClient({ url, token })
  const { destinations } = await configure(api, emulator)
  const roles = ['pipeline', 'pipeline', 'deliver', 'deliver'].map(start)
  await Promise.all(roles.slice(0, 2).map((one) => one.line(/A new configuration is in use/)))

  const nats = await openNats({ servers: [server.urlOf('admin')], name: 'test', replicas: 1 })
  t.teardown(() => nats.close())
  const asked = {
    type: 'tcp_connection',
    conn: { client_ip: '10.0.0.1', server_name: 'ssh.example.com', server_port: 22 },
  }
  await until('a pipeline that runs on its own answers for decide', async () => {
    const answer = await nats.request('weir.decide', JSON.stringify(asked), 30_000).catch(() => undefined)
    return answer !== undefined && JSON.parse(Buffer.from(answer).toString()).decision === 'allow'
  })

  const lines = sampleRecords(t)
  for (let at = 0; at < lines.length; at += perMessage)
    await nats.publish('weir.records.eu.node-1', lines.slice(at, at + perMessage).join('\n'))

  const status = () => api.deliveryStatus(destinations.all)
  await until(
    'all are delivered',
    async () => {
      const { counts, backlog } = await status()
      return counts.produced === lines.length && counts.delivered === lines.length && backlog.events === 0
    },
    deliveredWithinMs,
  )
  const counts = await emulator.client.counts({ service: 'kinesis', name: 'all' })
  t.match(counts, { unique: lines.length, duplicates: 0 }, 'every event arrived once')
  const metrics = await metricsOf(url)
  t.equal(total(metrics, 'weir_records_in_total'), lines.length)
  t.equal(total(metrics, 'weir_events_produced_total'), total(metrics, 'weir_events_delivered_total'))

  await t.test('the janitor removes processed records only', async (t) => {
    const destinationOf = () => undefined
    const janitor = new Janitor({
      partitions: onePartition,
      nats,
      ledger: { write: async () => {} } as never,
      occurrences,
      destinationOf,
      catchUps: { keptFrom: () => Number.POSITIVE_INFINITY },
    })
    t.teardown(() => janitor.close())
    for (const one of roles) await one.stop()
    const before = (await nats.streamInfo(recordsStream))!.state
    const big = Buffer.alloc(900 * 1024, ' ')
    const waiting: number[] = []
    for (;;) {
      const { bytes } = (await nats.streamInfo(recordsStream))!.state
      if (bytes > 55 * 1024 * 1024) break
      waiting.push((await nats.publish('weir.records.eu.node-1', big)).sequence)
    }
    await janitor.removeInput()
    const after = (await nats.streamInfo(recordsStream))!.state
    t.ok(after.first_seq > before.first_seq, 'some were removed')
    t.ok(after.first_seq <= waiting[0]!, 'none that is not processed yet')
    t.equal(after.last_seq, waiting.at(-1))
    t.ok(await isReady(url))
  })
})

t.test('a role that still waits for NATS stops at once', async (t) => {
  const role = run('programs/main.js', ['pipeline'], {
    NATS_URL: `nats://127.0.0.1:${await freePort()}`,
    WEIR_SECRET_KEY: randomBytes(32).toString('base64'),
    WEIR_DATA_DIR: tempDir(t),
    WEIR_OPS_PORT: '0',
    WEIR_LOG_LEVEL: 'info',
  })
  t.teardown(() => role.kill())
  await role.line(/Health and metrics are served/)
  t.strictSame(await role.stop(), { code: 0, signal: null })
})

/** Records of a real honeypot if its file exists, else made-up ones. */
function sampleRecords(t: { comment(text: string): void }): string[] {
  if (existsSync(sample)) {
    const text = gunzipSync(readFileSync(sample)).toString()
    return text.trimEnd().split('\n').slice(0, recordsMax).map(toOurEdge)
  }
  t.comment(`skipped: ${sample} is not there; records of our own are used`)
  return Array.from({ length: 5_000 }, (_, n) => toOurEdge('{"conn":{"client_ip":"10.0.0.1"}}', n))
}

function toOurEdge(line: string, n: number): string {
  const { conn } = JSON.parse(line) as { conn: object }
  const ours = { ...conn, server_name: 'ssh.example.com', server_port: 22 }
  return JSON.stringify({ record_id: `sample-${n}`, type: 'tcp_connection', conn: ours })
}
