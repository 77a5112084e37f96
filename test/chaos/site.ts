/**
 * A deployment for faults: each role a process of its own behind a wire of its own, six destinations, and a nats-server, or
 * three, whose life is in the scenario's hands. Roles are started again by the scenario, at once: what is measured is Weir,
 * and not how long a supervisor waits after so many deaths.
 */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { partitionsUpTo, subjectMappings } from '../../src/delivery/wire/partitions.js'
import { monotonicMs } from '../../src/ground/core/clock.js'
import { type Nats, openNats } from '../../src/ground/nats/nats.js'
import { type Client, openClient } from '../../src/words/client/client.js'
import type { Closers } from '../bench/systems/system.js'
import { type ClickhouseFront, startClickhouseFront } from '../harness/clickhouse-front.js'
import { newestRevision, revisionOf } from '../harness/in-use.js'
import { serverName, startNatsCluster } from '../harness/nats-cluster.js'
import { OwnNats } from '../harness/own-nats.js'
import { type Running, run } from '../harness/processes.js'
import { tempDir } from '../harness/temp-dir.js'
import { type Emulator, startEmulator, until } from '../harness/weir.js'
import { type AnswerWire, startAnswerWire } from './answer-wire.js'
import { openSinks, type Sink } from './destinations.js'
import { fields, narrowFilter } from './issue.js'
import { startWire, type Wire } from './wire.js'

export type Role = 'api' | 'pipeline' | 'deliver'

export interface Worker {
  readonly role: Role
  readonly wire: Wire
  /** Between it and AWS. */
  readonly answers: AnswerWire
  running: Running
  /** When it was started last. */
  startedMs: number
}

export interface SiteOptions {
  readonly partitions: number
  /** Pipelines, and as many deliverers. */
  readonly workers: number
  /** Three servers with three copies of each stream. */
  readonly isCluster?: boolean
  readonly env?: Readonly<Record<string, string>>
}

export interface SiteDestination extends Sink {
  readonly id: string
}

const token = 'a-token-of-the-faults-0001'

export class Site {
  readonly closers: Closers
  readonly options: SiteOptions
  readonly dir: string
  readonly servers: readonly OwnNats[]
  readonly emulator: Emulator
  clickhouse: ClickhouseFront
  readonly nats: Nats
  readonly workers: Worker[] = []
  readonly #env: Record<string, string>
  #partitionsMax: number
  #destinations: readonly SiteDestination[] = []
  #accountId = ''
  #edgeId = ''
  #apiUrl = ''

  constructor(
    parts: Pick<Site, 'closers' | 'options' | 'dir' | 'servers' | 'emulator' | 'clickhouse' | 'nats'> & {
      readonly env: Readonly<Record<string, string>>
    },
  ) {
    this.closers = parts.closers
    this.options = parts.options
    this.dir = parts.dir
    this.servers = parts.servers
    this.emulator = parts.emulator
    this.clickhouse = parts.clickhouse
    this.nats = parts.nats
    this.#env = { ...parts.env }
    this.#partitionsMax = parts.options.partitions
  }

  get accountId(): string {
    return this.#accountId
  }

  get edgeId(): string {
    return this.#edgeId
  }

  get apiUrl(): string {
    return this.#apiUrl
  }

  get api(): Client {
    return openClient({ url: this.#apiUrl, token })
  }

  /** A request to the API as it is, for answers that the client would wait out. */
  request(method: string, path: string, body: object): Promise<Response> {
    const headers = {
      authorization: `Bearer ${token}`,
      'service-version': '2',
      'content-type': 'application/json',
    }
    return fetch(`${this.#apiUrl}${path}`, { method, headers, body: JSON.stringify(body) })
  }

  /** Where a server of a cluster stores. */
  storeOf(index: number): string {
    return join(this.dir, 'nats', serverName(index), 'jetstream')
  }

  get destinations(): readonly SiteDestination[] {
    return this.#destinations
  }

  /** All that there ever were: what is in one that is not written to any more is delivered, too. */
  get partitions() {
    return partitionsUpTo(this.#partitionsMax)
  }

  ofRole(role: Role): Worker[] {
    return this.workers.filter((worker) => worker.role === role)
  }

  /** The addresses of all servers, without wires. */
  get natsUrl(): string {
    return this.servers.map(({ url }) => url).join(',')
  }

  async start(role: Role): Promise<Worker> {
    const wire = await startWire(this.servers[this.workers.length % this.servers.length]!.url)
    this.closers.teardown(() => wire.close())
    const answers = await startAnswerWire(this.emulator.url)
    this.closers.teardown(() => answers.close())
    const startedMs = monotonicMs()
    const place = { role, wire, answers }
    const worker: Worker = { ...place, startedMs, running: this.#run(place, this.workers.length) }
    this.workers.push(worker)
    this.closers.teardown(() => worker.running.kill())
    if (role === 'api') await this.#meetApi(worker)
    return worker
  }

  /** Starts one that has ended. */
  async restart(worker: Worker): Promise<void> {
    worker.startedMs = monotonicMs()
    worker.running = this.#run(worker, this.workers.indexOf(worker))
    if (worker.role === 'api') await this.#meetApi(worker)
  }

  /** Changes the number of partitions as a user does: mappings of the servers, the API, other roles one after the other. */
  async spreadOver(partitions: number, settings: string): Promise<void> {
    for (const server of this.servers) await server.reload(settings)
    this.#env['WEIR_PARTITIONS'] = String(partitions)
    this.#partitionsMax = Math.max(this.#partitionsMax, partitions)
    for (const worker of this.workers) {
      await worker.running.stop()
      await this.restart(worker)
    }
  }

  /** Starts ClickHouse that was killed, at its address. */
  async restartClickhouse(): Promise<void> {
    const port = Number(new URL(this.clickhouse.url).port)
    this.clickhouse = await startClickhouseFront(join(this.dir, 'clickhouse'), port)
    const { process } = this.clickhouse
    this.closers.teardown(() => process.kill())
  }

  #run({ role, wire, answers }: Pick<Worker, 'role' | 'wire' | 'answers'>, index: number): Running {
    // A server of a cluster names the others, which no wire stands in front of.
    const url = this.options.isCluster ? this.natsUrl : wire.url
    const own = {
      WEIR_DATA_DIR: join(this.dir, `${role}-${index}`),
      WEIR_LOG_LEVEL: role === 'pipeline' ? 'info' : 'warn',
      NATS_URL: url,
      AWS_ENDPOINT_URL: answers.url,
    }
    const port = role === 'api' && this.#apiUrl !== '' ? new URL(this.#apiUrl).port : '0'
    return run('programs/main.js', [role], { ...this.#env, ...own, WEIR_PORT: port })
  }

  async #meetApi({ running }: Worker): Promise<void> {
    const [, url = ''] = await running.line(/^API: (\S+)$/)
    this.#apiUrl = url
    const [, made] = /^account: (\S+)$/m.exec(running.output()) ?? []
    this.#accountId = made ?? this.#accountId
  }

  /** An edge, the destinations, and two subscriptions: one for all records, one for those that pass a filter. */
  async furnish(sinks: readonly Sink[]): Promise<void> {
    const { api } = this
    this.#edgeId = (await api.tcpEdge.create({ hostports: ['traffic.example:22'] })).id
    const made: SiteDestination[] = []
    for (const sink of sinks) {
      const { id } = await api.eventDestination.create({ target: sink.target })
      made.push({ ...sink, id })
    }
    this.#destinations = made
    for (const isNarrow of [false, true]) {
      const source = { type: 'tcp_connection_closed.v0', fields, ...(isNarrow && { filter: narrowFilter }) }
      const ids = made.filter((each) => each.isNarrow === isNarrow).map(({ id }) => id)
      await api.eventSubscription.create({ sources: [source], destination_ids: ids })
    }
  }

  /** Resolves when each pipeline uses all that the API has answered so far. */
  async untilInUse(): Promise<void> {
    const newest = await newestRevision(this.nats)
    const isUsed = () => this.ofRole('pipeline').every(({ running }) => revisionOf(running) >= newest)
    await until(`revision ${newest} is in use`, isUsed)
  }
}

/** With all its processes at work. What is opened is closed by `closers`. */
export async function openSite(closers: Closers, options: SiteOptions): Promise<Site> {
  const dir = tempDir(closers)
  const settings = `mappings: ${JSON.stringify(subjectMappings(options.partitions))}`
  const servers = await startServers(closers, join(dir, 'nats'), options, settings)
  const emulator = await startEmulator()
  closers.teardown(() => emulator.stop())
  const clickhouse = await startClickhouseFront(join(dir, 'clickhouse'))
  closers.teardown(() => clickhouse.process.kill())
  const { sinks, env } = await openSinks(closers, emulator)
  const replicas = options.isCluster ? 3 : 1
  const nats = await openNats({ servers: servers.map(({ url }) => url), name: 'test', replicas })
  closers.teardown(() => nats.close())
  const all = {
    ...env,
    CLICKHOUSE_URL: clickhouse.url,
    WEIR_NATS_REPLICAS: String(replicas),
    WEIR_PARTITIONS: String(options.partitions),
    WEIR_SECRET_KEY: randomBytes(32).toString('base64'),
    WEIR_OPS_PORT: '0',
    WEIR_STORAGE_MAX: '1GiB',
    WEIR_BOOTSTRAP_TOKEN: token,
    ...options.env,
  }
  const site = new Site({ closers, options, dir, servers, emulator, clickhouse, nats, env: all })
  await site.start('api')
  await site.furnish(sinks)
  for (const role of ['pipeline', 'deliver'] satisfies Role[])
    for (let n = 0; n < options.workers; n += 1) await site.start(role)
  await site.untilInUse()
  return site
}

async function startServers(
  closers: Closers,
  dir: string,
  { isCluster }: SiteOptions,
  settings: string,
): Promise<readonly OwnNats[]> {
  if (isCluster) {
    const cluster = await startNatsCluster(dir, settings)
    closers.teardown(() => cluster.close())
    return cluster.servers
  }
  const server = new OwnNats(dir, [], settings)
  await server.start()
  closers.teardown(() => server.kill())
  return [server]
}
