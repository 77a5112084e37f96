/** A deployment of Weir in one process: real roles, each with lives of its own, on models of all that is outside of them. */
import { ReleaseStack } from '../../src/ground/core/release.js'
import { createLogger } from '../../src/ground/core/telemetry/log.js'
import { createRegistry, type Registry } from '../../src/ground/core/telemetry/metrics.js'
import { createOccurrences } from '../../src/ground/core/telemetry/occurrences.js'
import { type Nats, openNats } from '../../src/ground/nats/nats.js'
import { Readiness } from '../../src/management/process/readiness.js'
import type { RoleContext, StandIns } from '../../src/management/process/role-context.js'
import type { Settings } from '../../src/management/process/settings.js'
import { openWork } from '../../src/roles/api-work.js'
import { openDecide } from '../../src/roles/decide.js'
import { openDeliver } from '../../src/roles/deliver.js'
import { openPipeline } from '../../src/roles/pipeline.js'
import { trafficEvents } from '../../src/words/event/catalog.js'
import { type ClickhouseWorld, ModelConnection } from './clickhouse/connection.js'
import type { Tables } from './clickhouse/tables.js'
import type { Service } from './destinations/service.js'
import { connectTo } from './nats/transport.js'
import { openQuarantineChild } from './quarantine-child.js'
import type { Network } from './world/network.js'
import { type Process, type Scheduler, world } from './world/scheduler.js'

export type RoleName = 'api' | 'pipeline' | 'deliver' | 'decide'
export type ApiWork = Awaited<ReturnType<typeof openWork>>

/** A life of a role, from its start to its kill or stop. */
export interface Life {
  readonly role: RoleName
  readonly process: Process
  readonly registry: Registry
  readonly release: ReleaseStack
  isReady: boolean
  /** Of the API. */
  work?: ApiWork
  /** Why it ended by itself. */
  failure?: unknown
}

interface Surroundings {
  readonly scheduler: Scheduler
  readonly network: Network
  readonly settings: Settings
  readonly tables: () => Tables
  readonly clickhouse: ClickhouseWorld
  /** By the address of the destination. */
  readonly serviceAt: (address: string) => Service
  /** A line of a role's log. */
  readonly logged: (process: Process, line: string) => void
}

/** A parent that no role needs to ask: health and metrics are read from the role itself. */
const parent = { ask: () => new Promise<never>(() => {}) }

/** After a role that can't start has ended. */
const startAgainMs = 500

const noProgram = { module: '', argumentsOf: () => [] }

export class Deployment {
  readonly #surroundings: Surroundings
  /** Each role that was started, its last life. */
  readonly lives = new Map<string, Life>()
  #count = 0

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings
  }

  /** `name`: of the process; one of this name that lives is killed. */
  start(name: string, role: RoleName): Life {
    this.kill(name)
    this.#count += 1
    const process: Process = { name: `${name}#${this.#count}`, isAlive: true, clockAheadMs: 0 }
    const life: Life = {
      role,
      process,
      registry: createRegistry(),
      release: new ReleaseStack(),
      isReady: false,
    }
    this.lives.set(name, life)
    const open = async (): Promise<void> => {
      try {
        await this.#open(life)
        life.isReady = true
      } catch (error) {
        life.failure = error
        logged(process, JSON.stringify({ level: 50, msg: `The role ends: ${String(error)}` }))
        scheduler.after(startAgainMs, () => this.#startAgain(name, life), world)
      }
    }
    const { scheduler, logged } = this.#surroundings
    scheduler.after(0, () => void open(), process)
    return life
  }

  /** As a supervisor does. */
  #startAgain(name: string, life: Life): void {
    if (this.lives.get(name) === life && life.process.isAlive) this.start(name, life.role)
  }

  async #open(life: Life): Promise<void> {
    const { role, release } = life
    const context = this.#context(life)
    const frame = { parent, release }
    if (role === 'pipeline') await openPipeline(context, frame, noProgram)
    else if (role === 'deliver') await openDeliver(context, frame)
    else if (role === 'decide') await openDecide(context, frame)
    else {
      const readiness = new Readiness(context, parent, release)
      const baseUrl = () => 'http://127.0.0.1:8080'
      const work = await openWork(context, frame, { readiness, addresses: {}, baseUrl })
      release.own(work.live)
      await work.declareReady()
      life.work = work
    }
  }

  #context({ role, process, registry }: Life): RoleContext {
    const { logged, settings } = this.#surroundings
    const logger = createLogger(role, 'info', { write: (line: string) => logged(process, line) })
    const occurrences = createOccurrences({ logger, registry })
    const standIns = this.#standIns()
    return {
      role,
      settings,
      logger,
      registry,
      occurrences,
      eventKinds: trafficEvents,
      telemetry: undefined,
      standIns,
    }
  }

  #standIns(): StandIns {
    const { scheduler, network, tables, clickhouse, serviceAt } = this.#surroundings
    return {
      connectNats: (options) => connectTo(network.dial, options),
      clickhouse: () => new ModelConnection(tables, clickhouse),
      openSender: ({ address }) => serviceAt(address).sender(),
      forkQuarantine: () => openQuarantineChild(scheduler),
    }
  }

  /** A connection of another program. */
  async client(name: string): Promise<Nats> {
    const connect: StandIns['connectNats'] = (options) => connectTo(this.#surroundings.network.dial, options)
    return openNats({ servers: this.#surroundings.settings.nats.servers!, name, replicas: 1, connect })
  }

  /** As `kill -9`: nothing more happens in it, and its connections break. */
  kill(name: string): void {
    const life = this.lives.get(name)
    if (life === undefined) return
    life.process.isAlive = false
    this.#surroundings.network.break((process) => process === life.process)
  }
}
