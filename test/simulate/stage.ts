/** Everything of one world: time, models, the deployment on them, and a witness. */
import { createInbox } from '@nats-io/nats-core'
import { loadSettings } from '../../src/management/process/settings.js'
import type { Fate } from './clickhouse/connection.js'
import { Tables } from './clickhouse/tables.js'
import { Deployment } from './deployment.js'
import { type RequestFate, Service } from './destinations/service.js'
import { ModelServer } from './nats/server.js'
import type { Plan } from './plan.js'
import { Witness } from './witness.js'
import { takeOver } from './world/globals.js'
import { type Host, Network } from './world/network.js'
import { Random } from './world/random.js'
import { type Process, Scheduler, world } from './world/scheduler.js'
import { forgetIds } from './world/ulid.js'

const epochMs = Date.UTC(2026, 0, 1)

const { settings: loaded } = loadSettings({
  environment: {
    WEIR_DATA_DIR: '/nonexistent/simulated',
    WEIR_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
    WEIR_DECISION_LOG: 'off',
    WEIR_STORAGE_MAX: '1GiB',
    NATS_URL: 'nats://n1:4222',
    CLICKHOUSE_URL: 'http://127.0.0.1:8123/weir',
  },
})
const settings = { ...loaded, geo: { databases: [] } }

/** What is waited for is looked at so often. */
const lookEveryMs = 20

let enter: ReturnType<typeof takeOver> | undefined

/** The time of this process is from now on that of the world. */
function enterWorld(source: Parameters<typeof takeOver>[0]): void {
  forgetIds()
  if (enter === undefined) {
    // The library draws where its names begin when it makes the first one: not in a world.
    createInbox()
    enter = takeOver(source)
  } else enter(source)
}

export class Stage {
  readonly plan: Plan
  readonly scheduler = new Scheduler()
  readonly witness: Witness
  readonly network: Network
  readonly server: ModelServer
  readonly host: Host
  readonly deployment: Deployment
  readonly services: readonly Service[]
  tables = new Tables()
  /** What ClickHouse does now. */
  clickhouse: Fate | 'hanging' = 'answered'
  /** What each service does now. */
  readonly fates = new Map<Service, RequestFate>()
  /** The account, and ids of what was made at first. */
  accountId = ''
  readonly destinationIds: string[] = []

  constructor(plan: Plan) {
    this.plan = plan
    const { scheduler } = this
    const { seed, setup } = plan
    enterWorld({ scheduler, seed, epochMs })
    this.witness = new Witness(() => scheduler.nowMs)
    this.network = new Network(scheduler, new Random(seed, 'network'))
    const random = new Random(seed, 'server')
    this.server = new ModelServer({
      now: () => Math.floor(epochMs + scheduler.nowMs),
      after: (ms, fn) => {
        const event = scheduler.after(ms, fn, world)
        return { stop: () => event.cancel() }
      },
      random: () => random.next(),
    })
    this.host = { server: this.server, isUp: true, frozenUntilMs: 0 }
    this.network.hosts.set('n1:4222', this.host)
    this.services = Array.from({ length: setup.services }, (_, index) => this.#service(`s${index + 1}`))
    this.deployment = this.#deployment()
    scheduler.onUncaught = (process, error) => this.witness.deaths.push(`${process.name}: ${String(error)}`)
  }

  #service(name: string): Service {
    const random = new Random(this.plan.seed, name)
    return new Service(name, {
      travelled: () => this.pause(random.between(1, 20)),
      fateOf: (service) => this.fates.get(service) ?? 'accepted',
      random: () => random.next(),
      stored: (_, id, data) =>
        this.witness.stored.push({ service: name, id, data, atMs: this.scheduler.nowMs }),
    })
  }

  #deployment(): Deployment {
    const random = new Random(this.plan.seed, 'clickhouse')
    return new Deployment({
      scheduler: this.scheduler,
      network: this.network,
      settings,
      tables: () => this.tables,
      clickhouse: {
        taken: () => this.#taken(random),
        fateOf: (query) => this.#fateOf(query),
      },
      serviceAt: (address) => this.services.find(({ name }) => address.endsWith(`/${name}`))!,
      logged: ({ name }, line) => this.#logged(name, line),
    })
  }

  /** While it hangs, nothing is answered; later everything is. */
  async #taken(random: Random): Promise<void> {
    await this.pause(random.between(0.5, 5))
    while (this.clickhouse === 'hanging') await this.pause(50)
  }

  #fateOf(query: string): Fate {
    const fate = this.clickhouse === 'hanging' ? 'answered' : this.clickhouse
    // Short is what a read may be.
    return fate === 'short' && !query.startsWith('SELECT') ? 'answered' : fate
  }

  #logged(by: string, line: string): void {
    const { level, time: _, role: __, pid: ___, msg, ...more } = JSON.parse(line)
    if (level >= 30) this.witness.note(by, `${msg} ${JSON.stringify(more)}`)
  }

  pause(ms: number): Promise<void> {
    return new Promise((resolve) => this.scheduler.after(ms, resolve))
  }

  /** Something that a process does on its own. Settles in the world; not if the process is killed meanwhile. */
  inProcess<T>(process: Process, work: () => Promise<T>): Promise<T> {
    const { scheduler } = this
    return new Promise((resolve, reject) => {
      const back = (settle: () => void) => scheduler.after(0, settle, world)
      const run = () =>
        work().then(
          (value) => back(() => resolve(value)),
          (error: unknown) => back(() => reject(error)),
        )
      scheduler.after(0, () => void run(), process)
    })
  }

  /** Lets time pass until this is so, or for so long at most; false if it was not. */
  async until(isSo: () => boolean, withinMs: number): Promise<boolean> {
    const { scheduler } = this
    const endMs = scheduler.nowMs + withinMs
    let lookMs = 0
    const isOver = (): boolean => {
      if (scheduler.nowMs >= endMs) return true
      if (scheduler.nowMs < lookMs) return false
      lookMs = scheduler.nowMs + lookEveryMs
      return isSo()
    }
    // Something always happens: a server and its clients beat.
    const end = scheduler.after(withinMs, () => {}, world)
    await scheduler.run(isOver)
    end.cancel()
    return isSo()
  }

  close(): void {
    for (const name of this.deployment.lives.keys()) this.deployment.kill(name)
    this.server.close()
  }
}
