/** Carries out the faults of a plan, and mends everything in the end. */
import type { RoleName } from '../deployment.js'
import type { Stream } from '../nats/stream.js'
import { type Action, processesOf, type ServiceFate } from '../plan.js'
import type { Stage } from '../stage.js'
import { world } from '../world/scheduler.js'
import { noteLost } from './loss.js'

/** A server that is killed to lose something is back after so long. */
const restartMs = 300

export class Saboteur {
  readonly #stage: Stage
  readonly #down = new Set<string>()
  readonly #copies = new Map<string, Stream>()

  constructor(stage: Stage) {
    this.#stage = stage
  }

  #after(ms: number, act: () => void): void {
    this.#stage.scheduler.after(ms, act, world)
  }

  do(action: Action): void {
    const { atMs: _, does, ...about } = action
    this.#stage.witness.note('fault', `${does} ${JSON.stringify(about)}`)
    switch (action.does) {
      case 'kill':
        this.#kill(action.process, action.downMs)
        break
      case 'kill all':
        for (const name of processesOf(this.#stage.plan.setup)) this.#kill(name, action.downMs)
        break
      case 'break':
        this.#stage.network.break(({ name }) => name.startsWith(`${action.process}#`))
        break
      case 'kill server':
        this.#killServer(action.downMs)
        break
      case 'freeze server':
        this.#stage.host.frozenUntilMs = this.#stage.scheduler.nowMs + action.ms
        break
      case 'clickhouse':
        this.#disturbClickhouse(action.fate, action.ms)
        break
      case 'service':
        this.#disturbService(action.service, action.fate, action.ms)
        break
      case 'lose last':
        this.#loseLast(action.stream, action.count)
        break
      case 'forget':
        this.#forget(action.stream, action.kills)
        break
      case 'put back':
        this.#putBack(action.stream)
        break
      case 'clock':
        this.#setClock(action.process, action.byMs)
        break
      default:
        throw new Error(`${action.does} is no fault.`)
    }
  }

  #disturbClickhouse(fate: Stage['clickhouse'], ms: number): void {
    this.#stage.clickhouse = fate
    this.#after(ms, () => {
      this.#stage.clickhouse = 'answered'
    })
  }

  #disturbService(index: number, fate: ServiceFate, ms: number): void {
    const service = this.#stage.services[index]!
    this.#stage.fates.set(service, fate)
    this.#after(ms, () => this.#stage.fates.delete(service))
  }

  #setClock(name: string, byMs: number): void {
    const life = this.#stage.deployment.lives.get(name)
    if (life !== undefined) life.process.clockAheadMs += byMs
  }

  #kill(name: string, downMs: number): void {
    if (this.#down.has(name)) return
    this.#stage.deployment.kill(name)
    this.#down.add(name)
    this.#after(downMs, () => this.#start(name))
  }

  #start(name: string): void {
    if (!this.#down.delete(name)) return
    this.#stage.deployment.start(name, name.replace(/-\d+$/, '') as RoleName)
  }

  #killServer(downMs: number): void {
    const { host, network, server } = this.#stage
    server.jetstream.restart()
    host.isUp = false
    network.break(() => true)
    this.#after(downMs, () => {
      host.isUp = true
    })
  }

  /** Keeps the stream as it is, to be put back later. */
  copy(stream: string): void {
    const found = this.#stage.server.jetstream.streams.get(stream)
    if (found !== undefined) this.#copies.set(stream, found.copy())
  }

  #putBack(stream: string): void {
    const copy = this.#copies.get(stream)
    if (copy === undefined) return
    noteLost(this.#stage, stream, [])
    this.#killServer(restartMs)
    this.#stage.server.jetstream.putBack(copy)
  }

  #forget(stream: string, kills: boolean): void {
    const { jetstream } = this.#stage.server
    const found = jetstream.streams.get(stream)
    if (found === undefined) return
    noteLost(this.#stage, stream, [...found.messages.values()])
    if (kills) this.#killServer(restartMs)
    jetstream.forgetStream(stream)
  }

  #loseLast(stream: string, count: number): void {
    const found = this.#stage.server.jetstream.streams.get(stream)
    if (found === undefined) return
    noteLost(this.#stage, stream, found.loseLast(count))
    this.#killServer(restartMs)
  }

  mend(): void {
    const { host, fates, scheduler } = this.#stage
    host.isUp = true
    host.frozenUntilMs = Math.min(host.frozenUntilMs, scheduler.nowMs)
    fates.clear()
    this.#stage.clickhouse = 'answered'
    for (const name of [...this.#down]) this.#start(name)
  }
}
