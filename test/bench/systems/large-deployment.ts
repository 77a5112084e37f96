/**
 * A deployment with many accounts, edges and destinations. Rows of the resources are multiplied in ClickHouse, from those of
 * one account, which takes a second instead of the many minutes of as many writes. Weir then restores NATS from them, as
 * after its loss.
 */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { monotonicMs, sleep } from '../../../src/ground/core/clock.js'
import { type Clickhouse, openClickhouse } from '../../../src/management/store/clickhouse/clickhouse.js'
import type { Client } from '../../../src/words/client/client.js'
import { isReady } from '../../harness/pages.js'
import { run } from '../../harness/processes.js'
import { tempDir } from '../../harness/temp-dir.js'
import { processesBelow, type TreeProcess } from '../../harness/tree.js'
import { type RunningWeir, startEmulator, startWeir, until } from '../../harness/weir.js'
import { token } from '../../integration/deployment.js'
import { cpuUsed, totalCpu } from '../cpu-meter.js'
import type { Closers, System } from './system.js'

interface DeploymentSize {
  readonly accounts: number
  /** Edges, and destinations, of each account. Events of all its edges go to the first of its destinations. */
  readonly ofEach: number
}

export interface LargeDeployment extends System {
  /** From the start to its answer that it is ready, with everything in NATS. */
  readonly startMs: number
}

/** The host name of an edge; those of an account follow each other. */
export const hostNameOf = (edge: number): string => `host-${edge}.example.com`

const roleArn = 'arn:aws:iam::123456789012:role/weir'
const statementMs = 120_000
const restoresMax = 20
/**
 * Less than this part of a core in so many milliseconds is quiet. ClickHouse merges what was inserted, and half a minute
 * after a start the API begins to compare each row with ClickHouse (`store/foreign-rows.ts`), for a minute or more.
 */
const quietShare = 0.1
const quietMs = 5_000
const comparisonBeginsMs = 35_000
const quietWithinMs = 300_000

export async function openLargeDeployment(closers: Closers, size: DeploymentSize): Promise<LargeDeployment> {
  const emulator = await startEmulator()
  closers.teardown(() => emulator.stop())
  const unlimited = { recordsPerSecond: null, bytesPerSecond: null, requestsPerSecond: null }
  const name = 'events'
  const arn = await emulator.client.addResource({ service: 'kinesis', name, ...unlimited, keep: 'counts' })
  await emulator.client.addRole({ roleArn })
  const { accessKeyId, secretAccessKey } = emulator.key
  const env = {
    AWS_ENDPOINT_URL: emulator.url,
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    WEIR_BOOTSTRAP_TOKEN: token,
    WEIR_RATE_LIMIT: '0',
    WEIR_DECISION_LOG: 'off',
  }
  const dataDir = tempDir(closers)
  const start = async (): Promise<RunningWeir> => {
    const weir = await startWeir(dataDir, env)
    await until('it is ready', () => isReady(weir.url))
    return weir
  }
  const first = await start()
  await createOfEach(first.api, arn)
  await first.stop()
  await multiply(dataDir, size)
  rmSync(join(dataDir, 'nats'), { recursive: true })
  await restore({ ...env, WEIR_DATA_DIR: dataDir, WEIR_PORT: '0' })
  const begunMs = monotonicMs()
  const weir = await start()
  const startMs = monotonicMs() - begunMs
  closers.teardown(() => weir.stop())
  const processes = () => processesBelow(weir.process.pid)
  await untilQuiet(processes)
  return { emulator, streams: [name], nats: await weir.nats(), natsUrl: weir.adminUrl, processes, startMs }
}

async function untilQuiet(processes: () => readonly TreeProcess[]): Promise<void> {
  await sleep(comparisonBeginsMs)
  await until(
    'nothing is left to do after the start',
    async () => {
      const before = totalCpu(cpuUsed(processes()))
      await sleep(quietMs)
      return totalCpu(cpuUsed(processes())) - before < quietShare * quietMs * 1_000
    },
    quietWithinMs,
  )
}

/** Ends when Weir has put everything into an empty NATS. A start that takes too long ends, and the next one goes on. */
async function restore(env: Readonly<Record<string, string>>): Promise<void> {
  for (let start = 1; start <= restoresMax; start += 1) {
    const weir = run('programs/main.js', ['serve'], env)
    const ready = weir.line(/^API: /).then(
      () => true,
      () => false,
    )
    const isReady = await Promise.race([ready, weir.ended.then(() => false)])
    await weir.stop()
    if (isReady) return
  }
  throw new Error(`NATS did not have everything after ${restoresMax} starts.`)
}

/** An edge with five policies, a destination and a subscription. */
async function createOfEach(api: Client, arn: string): Promise<void> {
  const inbound = Array.from({ length: 5 }, (_, n) => ({
    name: `Closed port ${n}`,
    expressions: [`conn.server_port == ${10_000 + n} && conn.client_port > 1023`],
    actions: [{ type: 'deny' as const }],
  }))
  await api.tcpEdge.create({ hostports: ['first.example.com:22'], policies: { inbound } })
  const { id } = await api.eventDestination.create({
    target: { kinesis: { stream_arn: arn, auth: { role: { role_arn: roleArn } } } },
  })
  await api.eventSubscription.create({
    sources: [{ type: 'tcp_connection_closed.v0' }],
    destination_ids: [id],
  })
}

async function multiply(dataDir: string, size: DeploymentSize): Promise<void> {
  const clickhouse = await openClickhouse({ directory: join(dataDir, 'clickhouse') })
  try {
    await multiplyRows(clickhouse, size)
  } finally {
    await clickhouse.close()
  }
}

/** SQL for the id of a resource with this number. */
const idOf = (prefix: string, number: string): string =>
  `concat('${prefix}_', leftPad(toString(${number}), 26, '0'))`

async function multiplyRows(clickhouse: Clickhouse, { accounts, ofEach }: DeploymentSize): Promise<void> {
  const rows = (table: string, count: number, replaced: Readonly<Record<string, string>>): Promise<void> => {
    const columns = Object.entries(replaced).map(([column, value]) => `${value} AS ${column}`)
    return clickhouse.command(
      `INSERT INTO ${table} SELECT ${table}.* REPLACE(${columns.join(', ')})
       FROM ${table} CROSS JOIN numbers(${count}) AS numbers WHERE NOT deleted`,
      {},
      statementMs,
    )
  }
  const ofAccount = { account_id: idOf('ac', `intDiv(number, ${ofEach})`) }
  // Each write of an account has its version: the edges, the destinations, the subscription.
  const version = `2 + number % ${ofEach}`
  await rows('account_versions', accounts, { account_id: idOf('ac', 'number'), id: idOf('ac', 'number') })
  await rows('tcp_edge_versions', accounts * ofEach, {
    ...ofAccount,
    version,
    id: idOf('edgtcp', 'number'),
    hostports: `[concat('host-', toString(number), '.example.com:22')]`,
    // Each edge has expressions of its own.
    policies_inbound: `replaceAll(assumeNotNull(policies_inbound), '1023', toString(number % 1024))`,
  })
  await rows('event_destination_versions', accounts * ofEach, {
    ...ofAccount,
    version: `${version} + ${ofEach}`,
    id: idOf('ed', 'number'),
  })
  await rows('event_subscription_versions', accounts, {
    account_id: idOf('ac', 'number'),
    version: `${2 + 2 * ofEach}`,
    id: idOf('esb', 'number'),
    destination_ids: `[${idOf('ed', `number * ${ofEach}`)}]`,
  })
}
