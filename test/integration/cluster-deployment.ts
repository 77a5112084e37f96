/** A deployment on three nats-servers with three copies of each stream: two pipelines and two deliverers, each a process. */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { StreamInfo } from '@nats-io/jetstream'
import type { Test } from 'tap'
import { partitionsUpTo, streamsOf, subjectMappings } from '../../src/delivery/wire/partitions.js'
import { type Nats, openNats } from '../../src/ground/nats/nats.js'
import { retried } from '../../src/ground/nats/retry.js'
import { openClient } from '../../src/words/client/client.js'
import { startClickhouseFront } from '../harness/clickhouse-front.js'
import { newestRevision, revisionOf } from '../harness/in-use.js'
import { type NatsCluster, startNatsCluster } from '../harness/nats-cluster.js'
import type { OwnNats } from '../harness/own-nats.js'
import { type Running, run } from '../harness/processes.js'
import { tempDir } from '../harness/temp-dir.js'
import { type RunningWeir, startEmulator, until } from '../harness/weir.js'
import { configure, type Deployment, token } from './deployment.js'

/** Lines of the configuration of each nats-server. */
const settingsFor = (partitions: number): string => `mappings: ${JSON.stringify(subjectMappings(partitions))}`

type Role = 'api' | 'pipeline' | 'deliver'

export interface ClusterDeployment extends Deployment {
  readonly cluster: NatsCluster
  /** To all servers, with all rights. */
  readonly nats: Nats
  readonly pipelines: Running[]
  readonly deliverers: Running[]
  start(role: Role): Running
  /** Resolves when each pipeline uses all that the API has answered so far. */
  untilInUse(): Promise<void>
  /** Changes the number of partitions as a user does: mappings, the API, other roles one after the other. */
  spreadOver(partitions: number): Promise<void>
}

export async function openClusterDeployment(
  t: Test,
  partitions: number,
  storageMax: string,
  more: Readonly<Record<string, string>> = {},
): Promise<ClusterDeployment> {
  const dir = tempDir(t)
  const cluster = await startNatsCluster(dir, settingsFor(partitions))
  t.teardown(() => cluster.close())
  const emulator = await startEmulator()
  t.teardown(() => emulator.stop())
  const clickhouse = await startClickhouseFront(join(dir, 'clickhouse'))
  t.teardown(() => clickhouse.process.kill())
  const env: Record<string, string> = {
    NATS_URL: cluster.url,
    WEIR_NATS_REPLICAS: '3',
    WEIR_PARTITIONS: String(partitions),
    CLICKHOUSE_URL: clickhouse.url,
    WEIR_SECRET_KEY: randomBytes(32).toString('base64'),
    WEIR_PORT: '0',
    WEIR_OPS_PORT: '0',
    WEIR_STORAGE_MAX: storageMax,
    WEIR_BOOTSTRAP_TOKEN: token,
    AWS_ENDPOINT_URL: emulator.url,
    ...more,
  }
  const start = (role: Role): Running => {
    const own = { WEIR_DATA_DIR: join(dir, role), WEIR_LOG_LEVEL: role === 'pipeline' ? 'info' : 'warn' }
    const running = run('programs/main.js', [role], { ...env, ...own })
    t.teardown(() => running.kill())
    return running
  }
  const nats = await openNats({ servers: cluster.url.split(','), name: 'test', replicas: 3 })
  t.teardown(() => nats.close())
  const weir = await weirOf(start('api'), cluster.url, nats)
  const { destinations, edgeId } = await configure(weir.api, emulator)
  const pipelines = [start('pipeline'), start('pipeline')]
  const deliverers = [start('deliver'), start('deliver')]
  const parts = { emulator, weir, dataDir: dir, env, destinations, edgeId }
  const deployment: ClusterDeployment = {
    ...parts,
    cluster,
    nats,
    pipelines,
    deliverers,
    start,
    untilInUse: async () => {
      const newest = await newestRevision(nats)
      await until(`revision ${newest} is in use`, () => pipelines.every((each) => revisionOf(each) >= newest))
    },
    spreadOver: async (count) => {
      await cluster.reload(settingsFor(count))
      env['WEIR_PARTITIONS'] = String(count)
      await deployment.weir.stop()
      deployment.weir = await weirOf(start('api'), cluster.url, nats)
      await restartAll(pipelines, () => start('pipeline'))
      await restartAll(deliverers, () => start('deliver'))
    },
  }
  return deployment
}

async function restartAll(processes: Running[], start: () => Running): Promise<void> {
  for (const [index, process] of processes.entries()) {
    await process.stop()
    processes[index] = start()
  }
}

/** The deployment, as its API shows it. */
async function weirOf(process: Running, natsUrl: string, nats: Nats): Promise<RunningWeir> {
  const [, url = ''] = await process.line(/^API: (\S+)$/)
  const api = openClient({ url, token })
  const addresses = { url, token, natsUrl, adminUrl: natsUrl, accountId: '' }
  return { ...addresses, process, api, nats: async () => nats, stop: () => process.stop() }
}

/** A server that comes back refuses to answer at first. */
const infosOf = (nats: Nats, partitions: number): Promise<(StreamInfo | undefined)[]> =>
  Promise.all(
    streamsOf(partitionsUpTo(partitions)).map((stream) =>
      retried(() => nats.streamInfo(stream), { patienceMs: 60_000 }),
    ),
  )

/** A server that leads the records of a partition. */
export async function leaderOf(cluster: NatsCluster, nats: Nats, partitions: number): Promise<OwnNats> {
  const [info] = await infosOf(nats, partitions)
  const name = info?.cluster?.leader ?? ''
  return cluster.servers[Number(name.replace('nats-', ''))]!
}

/** Each stream of these partitions has a leader again, and three copies that are as new as one another. */
export async function untilWhole(nats: Nats, partitions: number): Promise<void> {
  const isWhole = (info: StreamInfo | undefined): boolean => {
    const { leader = '', replicas = [] } = info?.cluster ?? {}
    return leader !== '' && replicas.length === 2 && replicas.every(({ current }) => current)
  }
  await until('each stream has a leader and three copies', async () =>
    (await infosOf(nats, partitions)).every(isWhole),
  )
}
