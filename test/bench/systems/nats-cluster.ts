/** Servers of their own for Weir: one, or three that form a cluster, with the leaders of partitions spread over them. */
import { connect } from '@nats-io/transport-node'
import {
  type Partition,
  partitionsUpTo,
  streamsOf,
  subjectMappings,
} from '../../../src/delivery/wire/partitions.js'
import { sleep } from '../../../src/ground/core/clock.js'
import { connectionOptions } from '../../../src/ground/nats/connection.js'
import { type Nats, openNats } from '../../../src/ground/nats/nats.js'
import { clusterName, serverName, startNatsCluster } from '../../harness/nats-cluster.js'
import { OwnNats } from '../../harness/own-nats.js'
import { tempDir } from '../../harness/temp-dir.js'
import { until } from '../../harness/weir.js'
import { type Closers, openWeir, type System } from './system.js'
import { Throughput } from './throughput.js'

const electedWithinMs = 500
const answeredWithinMs = 5_000

export interface Layout {
  readonly servers: 1 | 3
  /** Copies of each stream. */
  readonly replicas: 1 | 3
  readonly partitions: number
  /** Destinations that get equal parts of the events, each at home in another partition of so many. */
  readonly destinations: number
  /** Of a message; a pack gets a quarter as large. Default: that of nats-server, 1 MiB. */
  readonly payloadBytesMax?: number
}

interface LaidOut {
  readonly servers: readonly OwnNats[]
  readonly weir: System
  readonly throughput: Throughput
  /** A connection to each server: ingress nodes may use any. */
  readonly ingress: readonly Nats[]
}

async function startServers(closers: Closers, layout: Layout): Promise<readonly OwnNats[]> {
  const { servers, partitions, payloadBytesMax = 1024 * 1024 } = layout
  const settings = `mappings: ${JSON.stringify(subjectMappings(partitions))}\nmax_payload: ${payloadBytesMax}`
  if (servers === 3) {
    const cluster = await startNatsCluster(tempDir(closers), settings)
    closers.teardown(() => cluster.close())
    return cluster.servers
  }
  const server = new OwnNats(tempDir(closers), [], settings)
  await server.start()
  closers.teardown(() => server.stop())
  return [server]
}

/** Weir with this layout of NATS; leaders are spread. */
export async function openLayout(closers: Closers, layout: Layout): Promise<LaidOut> {
  const { partitions, replicas, destinations } = layout
  const servers = await startServers(closers, layout)
  const weir = await openWeir(closers, {
    servers,
    dividedBy: destinations,
    env: {
      WEIR_PARTITIONS: String(partitions),
      WEIR_NATS_REPLICAS: String(replicas),
    },
  })
  if (servers.length > 1) {
    await spreadLeaders(servers, layout)
    await reportLeaders(weir.nats, layout)
  }
  const ingress = await Promise.all(
    servers.map(({ url }) => openNats({ servers: [url], name: 'ingress', replicas })),
  )
  for (const connection of ingress) closers.teardown(() => connection.close())
  return { servers, weir, throughput: new Throughput(weir), ingress }
}

const leaderOf = async (nats: Nats, stream: string): Promise<string | undefined> =>
  (await nats.streamInfo(stream))?.cluster?.leader

async function spreadLeaders(servers: readonly OwnNats[], { partitions, replicas }: Layout): Promise<void> {
  const url = servers[0]!.url
  const connection = await connect(connectionOptions({ servers: [url], name: 'bench', replicas: 1 }))
  const ask: Ask = async (subject, body = '') =>
    (await connection.request(`$JS.API.${subject}`, body, { timeout: answeredWithinMs })).json()
  await (replicas === 1 ? spreadStreams : spreadCopies)(ask, partitionsUpTo(partitions), servers.length)
  await connection.close()
}

/** Streams with one copy: partition n has its records on server n, n + 3 …, and its packs on the next one. */
async function spreadStreams(ask: Ask, partitions: readonly Partition[], servers: number): Promise<void> {
  for (const partition of partitions)
    for (const [at, stream] of streamsOf([partition]).entries())
      await place(ask, stream, serverName((partition.number + at) % servers))
}

/**
 * Streams of which each server has a copy: both of partition n, and their consumers, are led by server n, n + 3 … ; all
 * others by the last server, so that it is the same one each time.
 */
async function spreadCopies(ask: Ask, partitions: readonly Partition[], servers: number): Promise<void> {
  for (const partition of partitions)
    for (const stream of streamsOf([partition]))
      await leadAll(ask, stream, serverName(partition.number % servers))
  const { streams = [] } = await ask('STREAM.NAMES')
  const others = streams.filter((stream) => !streamsOf(partitions).includes(stream))
  for (const stream of others) await lead(ask, 'STREAM', stream, serverName(servers - 1))
}

/** Answers of JetStream's API. */
interface Answer {
  readonly cluster?: { readonly leader?: string; readonly replicas?: readonly unknown[] }
  readonly config?: object
  readonly error?: { readonly description: string }
  readonly consumers?: readonly string[]
  readonly streams?: readonly string[]
}

type Ask = (subject: string, body?: string) => Promise<Answer>

/** Moves a stream with one copy: NATS puts it where it thinks that there is most room, often all on one server. */
async function place(ask: Ask, stream: string, server: string): Promise<void> {
  const { config, cluster } = await ask(`STREAM.INFO.${stream}`)
  if (cluster?.leader === server) return
  const { error } = await ask(
    `STREAM.UPDATE.${stream}`,
    JSON.stringify({ ...config, placement: { cluster: clusterName, tags: [server] } }),
  )
  if (error !== undefined) throw new Error(`${stream} can't be moved to ${server}: ${error.description}`)
  await until(`${stream} is on ${server}`, async () => {
    const { cluster: present } = await ask(`STREAM.INFO.${stream}`)
    return present?.leader === server && (present.replicas?.length ?? 0) === 0
  })
}

async function leadAll(ask: Ask, stream: string, server: string): Promise<void> {
  await lead(ask, 'STREAM', stream, server)
  const { consumers = [] } = await ask(`CONSUMER.NAMES.${stream}`)
  for (const consumer of consumers) await lead(ask, 'CONSUMER', `${stream}.${consumer}`, server)
}

/** Lets the leader step down until this server leads; older servers choose any. */
const lead = (ask: Ask, kind: 'STREAM' | 'CONSUMER', name: string, server: string): Promise<void> =>
  until(`${name} is led by ${server}`, async () => {
    const { cluster } = await ask(`${kind}.INFO.${name}`)
    if (cluster?.leader === server) return true
    const body = JSON.stringify({ placement: { cluster: clusterName, preferred: server } })
    await ask(`${kind}.LEADER.STEPDOWN.${name}`, body)
    await sleep(electedWithinMs)
    return false
  })

async function reportLeaders(nats: Nats, { partitions, replicas }: Layout): Promise<void> {
  const leaders = new Map<string, number>()
  for (const stream of streamsOf(partitionsUpTo(partitions))) {
    const leader = (await leaderOf(nats, stream)) ?? 'none'
    leaders.set(leader, (leaders.get(leader) ?? 0) + 1)
  }
  const counts = [...leaders].toSorted().map(([server, count]) => `${server} ${count}`)
  console.log(`  leaders of ${partitions} partitions, R${replicas}: ${counts.join(', ')}`)
}
