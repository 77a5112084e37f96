/**
 * The systems that rows of the whole path compare: Weir, or the floor program, each with a nats-server and an AWS emulator
 * of its own. Five conditions, 100 networks, one event of nine fields per record and destination.
 */

import { homeOf, partitionsUpTo } from '../../../src/delivery/wire/partitions.js'
import { type Nats, openNats } from '../../../src/ground/nats/nats.js'
import type { Keep } from '../../../src/outside/emulator/wire.js'
import { type Client, openClient } from '../../../src/words/client/client.js'
import { untilInUse } from '../../harness/in-use.js'
import { OwnNats } from '../../harness/own-nats.js'
import { run } from '../../harness/processes.js'
import { tempDir } from '../../harness/temp-dir.js'
import { processesBelow, type TreeProcess } from '../../harness/tree.js'
import { type Emulator, type Serve, startEmulator, startWeir } from '../../harness/weir.js'
import { token } from '../../integration/deployment.js'
import { serverPort, usualServer } from './traffic.js'

export interface Closers {
  teardown(close: () => unknown): void
}

/** Calls `work`, then closes what it opened, the last first. */
export async function withClosers<T>(work: (closers: Closers) => Promise<T>): Promise<T> {
  const open: (() => unknown)[] = []
  try {
    return await work({ teardown: (close) => void open.push(close) })
  } finally {
    for (const close of open.toReversed()) await close()
  }
}

export interface System {
  /** With all rights. */
  readonly nats: Nats
  /** Where connections have all rights. */
  readonly natsUrl: string
  readonly emulator: Emulator
  /** Names of the Kinesis streams that get an event of every record. */
  readonly streams: readonly string[]
  /** Its processes without the emulator. */
  processes(): readonly TreeProcess[]
}

interface WeirSystem extends System {
  readonly api: Client
  /** The edge of all records. */
  readonly edgeId: string
  /** An API client of another account, which is made for it. */
  openAccount(): Promise<Client>
  /** Another connection. */
  openNats(): Promise<Nats>
}

interface Options {
  readonly destinations?: number
  /** The part of arriving events that the emulator remembers; default: counts. */
  readonly keep?: Keep
}

export interface WeirOptions extends Options {
  /** Expressions of the edge's policies, each of which denies; none may hold. Default: five cheap ones. */
  readonly conditions?: readonly string[]
  /** Default: that of most records. */
  readonly serverName?: string
  /** Default: `weir serve` of this build. */
  readonly serve?: Serve | undefined
  readonly env?: Readonly<Record<string, string>>
  /** Default: the one that `weir serve` starts. */
  readonly servers?: readonly OwnNats[]
  /** So many destinations share the events of the only stream equally, each at home in another of as many partitions. */
  readonly dividedBy?: number
}

interface FloorOptions extends Options {
  /** How long events wait for others; default: not at all. */
  readonly lingerMs?: number
  /** With two, events are stored in between, as Weir does; default: one. */
  readonly stages?: 1 | 2
}

interface Sink {
  readonly emulator: Emulator
  readonly streams: readonly string[]
  readonly arns: readonly string[]
}

async function openSink(closers: Closers, { destinations = 1, keep = 'counts' }: Options): Promise<Sink> {
  const emulator = await startEmulator()
  closers.teardown(() => emulator.stop())
  const unlimited = { recordsPerSecond: null, bytesPerSecond: null, requestsPerSecond: null }
  const streams = Array.from({ length: destinations }, (_, n) => `events-${n}`)
  const arns: string[] = []
  for (const name of streams)
    arns.push(await emulator.client.addResource({ service: 'kinesis', name, ...unlimited, keep }))
  return { emulator, streams, arns }
}

export async function openWeir(closers: Closers, options: WeirOptions = {}): Promise<WeirSystem> {
  const sink = await openSink(closers, options)
  const env = {
    AWS_ENDPOINT_URL: sink.emulator.url,
    WEIR_BOOTSTRAP_TOKEN: token,
    WEIR_RATE_LIMIT: '0',
    // Measured by itself, in the row "decision-log".
    WEIR_DECISION_LOG: 'off',
    ...(options.servers && { NATS_URL: options.servers.map(({ url }) => url).join(',') }),
    ...options.env,
  }
  const dataDir = tempDir(closers)
  const weir = await startWeir(dataDir, env, '', options.serve)
  closers.teardown(() => weir.stop())
  const edgeId = await configure(weir.api, sink, options)
  await untilInUse(weir)
  const servers = (options.servers ?? []).map(({ pid }, n) => ({ pid, role: `nats-server ${n}` }))
  const processes = (): readonly TreeProcess[] => [...processesBelow(weir.process.pid), ...servers]
  return {
    ...sink,
    nats: await weir.nats(),
    openNats: () => weir.nats(),
    natsUrl: weir.adminUrl,
    api: weir.api,
    edgeId,
    openAccount: () => openAccount(dataDir, weir.url),
    processes,
  }
}

async function openAccount(dataDir: string, url: string): Promise<Client> {
  const command = run('programs/main.js', ['account', 'create', '--name', 'neighbour'], {
    WEIR_DATA_DIR: dataDir,
  })
  await command.ended
  const [, token = ''] = /(weir_\S+)/.exec(command.output()) ?? []
  return openClient({ url, token })
}

const cheapConditions = [
  'conn.server_port == 2222',
  'conn.client_port < 1024',
  "conn.server_name == 'closed.example.com'",
  "conn.server_ip == '198.51.100.1'",
  "inCidrRange(conn.client_ip, '127.0.0.0/8')",
]

const deniedBy = (expressions: readonly string[]) =>
  expressions.map((expression, n) => ({
    name: `condition ${n}`,
    expressions: [expression],
    actions: [{ type: 'deny' as const }],
  }))

/** Returns the id of the edge. */
async function configure(api: Client, sink: Sink, options: WeirOptions): Promise<string> {
  const { conditions = cheapConditions, serverName = usualServer } = options
  const { emulator, arns } = sink
  const policy = await api.ipPolicy.create({})
  const networks = Array.from({ length: 100 }, (_, n) => ({
    cidr: `10.${n}.0.0/16`,
    action: 'allow' as const,
  }))
  await api.replaceRules(policy.id, networks)
  const { id: edgeId } = await api.tcpEdge.create({
    hostports: [`${serverName}:${serverPort}`],
    ip_restriction: { ip_policy_ids: [policy.id] },
    policies: { inbound: deniedBy(conditions) },
  })
  const { accessKeyId, secretAccessKey } = emulator.key
  const creds = { aws_access_key_id: accessKeyId, aws_secret_access_key: secretAccessKey }
  const makeDestination = async (stream_arn: string): Promise<string> =>
    (await api.eventDestination.create({ target: { kinesis: { stream_arn, auth: { creds } } } })).id
  const { dividedBy } = options
  if (dividedBy !== undefined) {
    await divideEvents(api, dividedBy, () => makeDestination(arns[0]!))
    return edgeId
  }
  const destination_ids: string[] = []
  for (const arn of arns) destination_ids.push(await makeDestination(arn))
  await api.eventSubscription.create({ sources: [{ type: 'tcp_connection_closed.v0' }], destination_ids })
  return edgeId
}

/**
 * A destination at home in each of `count` partitions, each with an equal part of the events. Ids are random: some are made
 * in vain.
 */
async function divideEvents(
  api: Client,
  count: number,
  makeDestination: () => Promise<string>,
): Promise<void> {
  for (const { number } of partitionsUpTo(count)) {
    let id = await makeDestination()
    while (homeOf(id, count).number !== number) id = await makeDestination()
    const filter = `conn.bytes_in % ${count} == ${number}`
    const sources = [{ type: 'tcp_connection_closed.v0' as const, filter }]
    await api.eventSubscription.create({ sources, destination_ids: [id] })
  }
}

export async function openFloor(closers: Closers, options: FloorOptions = {}): Promise<System> {
  const { emulator, streams, arns } = await openSink(closers, options)
  const server = new OwnNats(tempDir(closers))
  await server.start()
  closers.teardown(() => server.stop())
  const { accessKeyId, secretAccessKey } = emulator.key
  const { lingerMs = 0, stages = 1 } = options
  const name = stages === 1 ? 'end-to-end' : 'two-stages'
  const program = run(`test/bench/floor/${name}.js`, [
    server.url,
    emulator.url,
    arns[0]!,
    accessKeyId,
    secretAccessKey,
    String(lingerMs),
  ])
  closers.teardown(() => program.stop())
  await program.line(/^ready$/)
  const nats = await openNats({ servers: [server.url], name: 'bench', replicas: 1 })
  closers.teardown(() => nats.close())
  const processes = [
    { pid: program.pid, role: 'floor' },
    { pid: server.pid, role: 'nats-server' },
  ]
  return { emulator, streams, nats, natsUrl: server.url, processes: () => processes }
}
