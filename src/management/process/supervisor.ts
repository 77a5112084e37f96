/**
 * Start here: processes, independent of their work. How one runs a role is in `child.ts`, what an operator can set in
 * `declared-settings.ts`. This file runs roles as child processes: starts them in parallel, stops them one after the
 * other in the order given, restarts those that end by themselves, and reports the state of all of them.
 *
 * A child is **starting** until it reports that it is ready, then **running**. A child that ends is **waiting** for a
 * delay that grows with each attempt, then starting again, for as long as the supervisor is open. Only the first start
 * of a role is not retried: a person must fix its cause (a bad setting, a missing file), so it is reported instead.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { monotonicMs, sleep, within } from '../../ground/core/clock.js'
import { forkOptions } from '../../ground/core/package.js'
import type { Failing } from '../../ground/core/telemetry/health.js'
import {
  type MetricsSnapshot,
  metricsSnapshot,
  type Registry,
  sumMetrics,
} from '../../ground/core/telemetry/metrics.js'
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import type { Addresses, ChildAnswers, FromChild, FromParent } from './child.js'
import { inquiryMaxMs } from './inquiry.js'
import { childEnvironment } from './settings.js'

export interface RoleSpec {
  readonly name: string
  /** The program, a file that calls `runRole`, and its arguments. */
  readonly module: string
  readonly argv: readonly string[]
  /** Options of Node for this role alone. */
  readonly nodeOptions?: readonly string[]
  /** Secrets of this process' environment that it gets. */
  readonly secrets: readonly string[]
  /** Added to this process' environment. `last`: its addresses before a restart, so that it gets them again. */
  readonly env: (last: Addresses | undefined) => Readonly<Record<string, string>>
  readonly readyTimeoutMs: number
  readonly stopTimeoutMs: number
}

interface SupervisorOptions {
  /** In the order in which they are stopped. */
  readonly roles: readonly RoleSpec[]
  readonly occurrences: Occurrences
  /** Metrics of this process. */
  readonly registry: Registry
  /** Parts of this process that don't work. */
  readonly failing?: () => Failing
}

const restartDelayMs = 100
const restartDelayMaxMs = 10_000
/** After running this long, a process is restarted with the shortest delay again. */
const wellAfterMs = 30_000
/** A process that does not answer within this time is left out of the sum. */
const metricsTimeoutMs = 2_000
/** A process that does not report its state within this time counts as not answering. It may need time to find out. */
export const childAnswerMs = inquiryMaxMs + 500
/** The same for the supervisor itself. */
export const parentAnswerMs = childAnswerMs + 500

export class Supervisor {
  readonly #options: SupervisorOptions
  readonly #children: readonly Child[]
  /** Resolves when all roles are ready, rejects if one can't start. The caller closes it in both cases. */
  readonly ready: Promise<unknown>

  /** Starts all roles. It can be closed before they are ready. */
  constructor(options: SupervisorOptions) {
    this.#options = options
    this.#children = options.roles.map((spec) => new Child(spec, options.occurrences, this))
    this.ready = Promise.all(this.#children.map((child) => child.open()))
    // A caller that closes it first does not wait for it.
    this.ready.catch(() => {})
  }

  addressesOf(role: string): Addresses {
    return this.#children.find((child) => child.name === role)?.addresses ?? {}
  }

  /** Roles that don't run or don't answer, and failing parts of the others. */
  async failing(): Promise<Failing> {
    const below = await Promise.all(this.#children.map((child) => child.failing()))
    return Object.assign({}, this.#options.failing?.(), ...below)
  }

  /** This process and all below it. */
  async snapshots(): Promise<readonly MetricsSnapshot[]> {
    for (const { name, isRunning } of this.#children) {
      this.#options.occurrences.childrenRunning({ role: name }, isRunning ? 1 : 0)
    }
    const below = await Promise.all(this.#children.map((child) => child.snapshots()))
    return [await metricsSnapshot(this.#options.registry), ...below.flat()]
  }

  /** The same, added up, in Prometheus' text. */
  async metrics(): Promise<string> {
    return sumMetrics(await this.snapshots())
  }

  /** In order: a later role takes what an earlier one still passes on while it stops. */
  async close(): Promise<void> {
    for (const child of this.#children) await child.close()
  }
}

class Child {
  readonly #spec: RoleSpec
  readonly #occurrences: Occurrences
  readonly #supervisor: Supervisor
  readonly #closing = new AbortController()
  readonly #pending = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>()
  #lastId = 0
  #process: ChildProcess | undefined
  #addresses: Addresses | undefined
  #running = false
  #ended: Promise<string> = Promise.resolve('')
  #supervision: Promise<void> = Promise.resolve()

  constructor(spec: RoleSpec, occurrences: Occurrences, supervisor: Supervisor) {
    this.#spec = spec
    this.#occurrences = occurrences
    this.#supervisor = supervisor
    for (const begin of [occurrences.childEnded, occurrences.childStopForced, occurrences.childUnready])
      begin({ role: spec.name }, 0)
  }

  get name(): string {
    return this.#spec.name
  }

  get addresses(): Addresses {
    return this.#addresses ?? {}
  }

  get isRunning(): boolean {
    return this.#running
  }

  async open(): Promise<void> {
    const failure = await this.#start()
    if (failure !== undefined) throw new Error(`${this.name} does not start: ${failure}`)
    this.#supervision = this.#supervise()
  }

  /** A running process may be frozen, and one that answers may be cut off from what it needs. */
  async failing(): Promise<Failing> {
    const { name } = this
    if (!this.#running) return { [name]: `The process ${name} is not running; it is being started.` }
    const parts = await this.#ask('failing', childAnswerMs).catch(() => undefined)
    if (!this.#running) return this.failing()
    if (parts === undefined) return { [name]: `The process ${name} does not answer.` }
    return Object.fromEntries(Object.entries(parts).map(([part, why]) => [`${name}.${part}`, why]))
  }

  async snapshots(): Promise<readonly MetricsSnapshot[]> {
    if (!this.#running) return []
    return this.#ask('metrics', metricsTimeoutMs).catch(() => [])
  }

  /** Rejects if the process ends before it answers. */
  async #ask<About extends keyof ChildAnswers>(about: About, ms: number): Promise<ChildAnswers[About]> {
    this.#lastId += 1
    const id = this.#lastId
    const answer = new Promise<unknown>((resolve, reject) => this.#pending.set(id, { resolve, reject }))
    this.#send({ type: 'ask', id, about })
    try {
      return (await within(ms, answer, 'late')) as ChildAnswers[About]
    } finally {
      this.#pending.delete(id)
    }
  }

  async close(): Promise<void> {
    this.#closing.abort()
    this.#send({ type: 'stop' })
    try {
      await within(this.#spec.stopTimeoutMs, this.#ended, 'late')
    } catch {
      this.#occurrences.childStopForced({ role: this.name, stopTimeoutMs: this.#spec.stopTimeoutMs })
      this.#process?.kill('SIGKILL')
    }
    await this.#ended
    await this.#supervision
  }

  /** Restarts the process whenever it ends, until `close`. */
  async #supervise(): Promise<void> {
    let startedMs = monotonicMs()
    for (let delayMs = restartDelayMs; ; delayMs = Math.min(delayMs * 2, restartDelayMaxMs)) {
      const how = await this.#ended
      if (this.#closing.signal.aborted) return
      this.#occurrences.childEnded({ role: this.name, how })
      if (monotonicMs() - startedMs > wellAfterMs) delayMs = restartDelayMs
      await sleep(delayMs, this.#closing.signal)
      if (this.#closing.signal.aborted) return
      startedMs = monotonicMs()
      const failure = await this.#start()
      if (failure !== undefined) this.#occurrences.childUnready({ role: this.name, failure })
    }
  }

  /** Resolves with `undefined` when the process is ready, otherwise with the reason it failed; it is then ending. */
  async #start(): Promise<string | undefined> {
    const { module, argv, nodeOptions = [], secrets, env, readyTimeoutMs } = this.#spec
    const child = fork(module, [...argv], {
      env: childEnvironment(secrets, env(this.#addresses)),
      execArgv: [...forkOptions(), ...nodeOptions],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    this.#process = child
    this.#ended = this.#endOf(child)
    const reported = new Promise<string | undefined>((resolve) => {
      child.on('message', (message: FromChild) => {
        if (message.type === 'ready') resolve(this.#ready(message.addresses))
        else if (message.type === 'failed') resolve(message.msg)
        else void this.#receive(message)
      })
    })
    try {
      return await within(readyTimeoutMs, Promise.race([reported, this.#ended]), 'late')
    } catch {
      child.kill('SIGKILL')
      return `it was not ready after ${readyTimeoutMs / 1000} s.`
    }
  }

  /** Resolves with how the process ended. An `error` is an end only if the process could not be started at all. */
  #endOf(child: ChildProcess): Promise<string> {
    return new Promise((resolve) => {
      const onEnd = (how: string) => {
        this.#running = false
        for (const { reject } of this.#pending.values()) reject(new Error(`The process has ended: ${how}.`))
        resolve(how)
      }
      child.on('error', (error) => child.pid === undefined && onEnd(error.message))
      child.once('exit', (code, signal) => onEnd(signal ?? `exit code ${code}`))
    })
  }

  #ready(addresses: Addresses): undefined {
    this.#addresses = addresses
    this.#running = true
  }

  async #receive(message: FromChild): Promise<void> {
    if (message.type === 'answer') this.#pending.get(message.id)?.resolve(message.value)
    if (message.type !== 'ask') return
    this.#send({ type: 'answer', id: message.id, value: await this.#supervisor[message.about]() })
  }

  /** If the child ends right now, its exit is noticed anyway. */
  #send(message: FromParent): void {
    if (this.#process?.connected) this.#process.send(message, () => {})
  }
}
