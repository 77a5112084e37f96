/** A store for several processes: a nats-server, a ClickHouse front, and any number of APIs. */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort, readGreeting } from '../../src/delivery/nats-server/nats-probe.js'
import { auditStream } from '../../src/delivery/wire/names.js'
import { readPack } from '../../src/delivery/wire/pack.js'
import { type Nats, openNats } from '../../src/ground/nats/nats.js'
import {
  type AdminCommand,
  readRuntime,
  sendAdminCommand,
} from '../../src/management/process/running-service.js'
import { localNatsServer } from '../../src/management/process/settings.js'
import { all, type Caller, openCaller, statusOf } from './caller.js'
import { clusterName, writeClusterConfig } from './clickhouse-cluster.js'
import { type ClickhouseFront, startClickhouseFront } from './clickhouse-front.js'
import { jetstreamIn } from './own-nats.js'
import { type Running, run } from './processes.js'
import { until } from './weir.js'

const token = 'token-of-the-first-key'

export interface StoreRole {
  readonly process: Running
  readonly url: string
}

export interface StoreApi extends StoreRole {
  readonly client: Caller
}

/** An audit event as it is stored in its stream. */
interface Audited {
  readonly id: string
  readonly type: string
  readonly object: { readonly id: string }
  /** Sequence of its message. */
  readonly sequence: number
}

export class StoreFixture {
  readonly dir = mkdtempSync(join(tmpdir(), 'weir-store-'))
  readonly secretKey = randomBytes(32).toString('base64')
  front!: ClickhouseFront
  #frontPort = 0
  /** The configuration of the cluster that ClickHouse is. */
  readonly #cluster: string | undefined
  #natsPort = 0
  #natsServer: ChildProcess | undefined
  readonly #apis: Running[] = []
  readonly #opened: Nats[] = []

  constructor({ isCluster = false } = {}) {
    this.#cluster = isCluster ? writeClusterConfig(this.dir) : undefined
  }

  get natsUrl(): string {
    return `nats://127.0.0.1:${this.#natsPort}`
  }

  async open(): Promise<void> {
    this.#natsPort = await freePort()
    await Promise.all([this.startNats(), this.startFront()])
  }

  async startFront(database = 'clickhouse'): Promise<void> {
    this.front = await startClickhouseFront(join(this.dir, database), this.#frontPort, this.#cluster)
    this.#frontPort = Number(new URL(this.front.url).port)
  }

  async startNats(): Promise<void> {
    const args = [...jetstreamIn(join(this.dir, 'nats')), '-a', '127.0.0.1', '-p', String(this.#natsPort)]
    this.#natsServer = spawn(localNatsServer() ?? 'nats-server', args, { stdio: 'ignore' })
    await until('nats-server answers', async () => (await readGreeting(this.#natsPort)) !== undefined)
  }

  async killNats(): Promise<void> {
    const server = this.#natsServer
    const ended = new Promise((resolve) => server?.once('exit', resolve))
    server?.kill('SIGKILL')
    await ended
  }

  wipeNats(): void {
    rmSync(join(this.dir, 'nats'), { recursive: true })
  }

  /** Settings of a host with access to the store. */
  environment(name: string): Readonly<Record<string, string>> {
    const dataDir = join(this.dir, name)
    mkdirSync(dataDir, { recursive: true })
    return {
      WEIR_DATA_DIR: dataDir,
      WEIR_PORT: '0',
      WEIR_BOOTSTRAP_TOKEN: token,
      WEIR_SECRET_KEY: this.secretKey,
      WEIR_RATE_LIMIT: '0',
      // No records come.
      WEIR_DECISION_LOG: 'off',
      NATS_URL: this.natsUrl,
      CLICKHOUSE_URL: this.front.url,
      ...(this.#cluster !== undefined && { CLICKHOUSE_CLUSTER: clusterName }),
    }
  }

  /**
   * Starts an API. `name`: its data directory; the same name means the same host. `answering`: the status with which it
   * answers the first key once it is ready.
   */
  async startApi(
    name = 'one',
    env: Readonly<Record<string, string>> = {},
    { answering = 'ok' }: { readonly answering?: number | 'ok' } = {},
  ): Promise<StoreApi> {
    const dataDir = join(this.dir, name)
    const process = run('programs/main.js', ['api'], { ...this.environment(name), ...env })
    this.#apis.push(process)
    const isOver = () => process.child.exitCode !== null
    await until('the API is ready', () => readRuntime(dataDir) !== undefined || isOver())
    const runtime = readRuntime(dataDir)
    if (runtime === undefined) throw new Error(process.output())
    const url = runtime.apiUrl
    const client = openCaller({ base: url, token })
    await until(
      'the first account exists',
      async () => (await statusOf(all(client.apiKey.list())).catch(() => undefined)) === answering,
    )
    return { process, url, client }
  }

  /** Starts another role on the fixture's NATS; it may never become ready. */
  async startRole(role: 'pipeline' | 'deliver' | 'decide', name: string = role): Promise<StoreRole> {
    const port = String(await freePort())
    const process = run('programs/main.js', [role], { ...this.environment(name), WEIR_PORT: port })
    this.#apis.push(process)
    return { process, url: `http://127.0.0.1:${port}` }
  }

  /** Runs a command of the command line in the API of this name; resolves with its answer. */
  command(name: string, command: AdminCommand): Promise<string> {
    const runtime = readRuntime(join(this.dir, name))
    if (runtime === undefined) throw new Error(`The API ${name} does not run.`)
    return sendAdminCommand(runtime.adminUrl, runtime.adminToken, command)
  }

  async nats(): Promise<Nats> {
    const nats = await openNats({ servers: [this.natsUrl], name: 'test', replicas: 1 })
    this.#opened.push(nats)
    return nats
  }

  /** All audit events, in order. */
  async audited(): Promise<Audited[]> {
    const nats = await this.nats()
    const events: Audited[] = []
    for (let sequence = 1; ; sequence += 1) {
      const message = await nats.nextMessage(auditStream, 'weir.events.audit.*', sequence)
      if (message === undefined) return events
      sequence = message.sequence
      for (const { data } of readPack(message.data).events) {
        const { event_id: id, event_type: type, object } = JSON.parse(data.toString())
        events.push({ id, type, object, sequence })
      }
    }
  }

  async close(): Promise<void> {
    for (const api of this.#apis) await api.kill()
    for (const nats of this.#opened) await nats.close()
    await this.killNats()
    await this.front.process.kill()
    rmSync(this.dir, { recursive: true, force: true })
  }
}
