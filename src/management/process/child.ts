/**
 * Runs a role as a process, from opening to closing, alone or as a child of `serve`.
 *
 * A child ignores the signals that reach the whole process group (Ctrl-C, a service manager's stop): its parent
 * stops its children in order by a message to each. A child whose parent has ended stops at once, gracefully if that is
 * quick. A role that runs on its own is stopped by the signals. No role outlives the time limit of its stop, whatever
 * its main thread does.
 */
import { executionAsyncResource } from 'node:async_hooks'
import { once } from 'node:events'
import { monotonicMs, yieldTurn } from '../../ground/core/clock.js'
import { messageOf, StartFault } from '../../ground/core/errors.js'
import { ReleaseStack } from '../../ground/core/release.js'
import type { Failing } from '../../ground/core/telemetry/health.js'
import { endAtOnce, LastResort } from '../../ground/core/telemetry/last-resort.js'
import type { Logger } from '../../ground/core/telemetry/log.js'
import type { MetricsSnapshot } from '../../ground/core/telemetry/metrics.js'
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'

/** Addresses of a role by name: `{ api: 'http://127.0.0.1:8080' }`. */
export type Addresses = Readonly<Record<string, string>>

/** A parent's answers to a child: the state of all processes together. */
interface ParentAnswers {
  /** Prometheus' text. */
  readonly metrics: string
  readonly failing: Failing
}

/** A child's answers to its parent: its own state, and that of processes it runs itself. */
export interface ChildAnswers {
  readonly metrics: readonly MetricsSnapshot[]
  readonly failing: Failing
}

export type FromChild =
  | { readonly type: 'ready'; readonly addresses: Addresses }
  | { readonly type: 'failed'; readonly msg: string }
  | { readonly type: 'answer'; readonly id: number; readonly value: unknown }
  | { readonly type: 'ask'; readonly id: number; readonly about: keyof ParentAnswers }

export type FromParent =
  | { readonly type: 'stop' }
  | { readonly type: 'ask'; readonly id: number; readonly about: keyof ChildAnswers }
  | { readonly type: 'answer'; readonly id: number; readonly value: unknown }

export interface Role {
  readonly addresses: Addresses
  /** Parts that don't work, also those of processes it runs itself. */
  failing(): Promise<Failing>
  /** Its own metrics, and those of processes it runs itself. */
  metrics(): Promise<readonly MetricsSnapshot[]>
}

/** Passed to every role when it is opened. */
export interface Frame {
  /** Set if the role runs as a child. */
  readonly parent: Pick<Parent, 'ask'> | undefined
  /** Everything that is opened is added at once: a stop may come before the role is ready. */
  readonly release: ReleaseStack
}

interface RoleOptions {
  readonly logger: Logger
  readonly occurrences: Occurrences
  /** Resolves when the role is ready. */
  readonly open: (frame: Frame) => Promise<Role>
  /** Closed last, within its own bound. */
  readonly telemetry?: { close(): Promise<void> } | undefined
}

/** A role that runs on its own ends itself after this time: no parent would kill it. */
const stopTimeoutMs = 30_000
/** A role that is not ready has little to finish. */
const stopStartingMs = 4_000
/** An orphan hurries: a new start may soon take its place, and nats-server ended with the parent. */
const orphanMs = 4_500

/** Runs a role until it is stopped, and ends the process: with 0 after a stop, with 1 if the role can't start. */
export async function runRole(options: RoleOptions): Promise<never> {
  const { logger, telemetry } = options
  const parent = process.send === undefined ? undefined : new Parent()
  const report = (error: unknown): void => {
    if (!(error instanceof StartFault)) logger.error({ err: error }, 'The process ends.')
    // A parent shows the message itself.
    else if (parent === undefined) process.stderr.write(`weir: ${error.message}\n`)
  }
  const fail = (error: unknown): never => {
    report(error)
    return end(1, parent)
  }
  // Node would print an uncaught error only after the listeners of `exit`, one of which may end the process.
  process.on('uncaughtException', fail)
  const lastResort = await guard(parent !== undefined)
  const stop = parent === undefined ? stopAlone(lastResort) : parent.stopped(options.occurrences)
  const release = new ReleaseStack()
  try {
    const opening = options.open({ parent, release })
    const role = await Promise.race([opening, stop])
    if (role === undefined) {
      // It may wait for other processes forever, so it is not awaited; everything it has opened so far is closed.
      lastResort.endWithin(stopStartingMs)
      opening.catch(() => {})
    } else parent?.ready(role)
    await stop
    await release.release()
  } catch (error) {
    await parent?.failed(messageOf(error))
    report(error)
    await telemetry?.close()
    return end(1, parent)
  }
  await telemetry?.close()
  return end(0, parent)
}

/** No process reads the exit code of an orphan, so it need not wait for anything. */
function end(code: number, parent: Parent | undefined): never {
  if (parent !== undefined && !process.connected) endAtOnce()
  process.exit(code)
}

/**
 * From here on this process is guaranteed to end after its parent, also while it loads and opens its parts. If the
 * parent ended before its process id is read here, the closed channel shows it after one turn of the event loop.
 */
export async function guard(isChild: boolean): Promise<LastResort> {
  keepTickClass()
  const lastResort = new LastResort({ parentPid: isChild ? process.ppid : undefined, orphanMs })
  if (isChild) {
    void parentEnded().then(() => lastResort.endWithin(orphanMs))
    await yieldTurn()
  }
  return lastResort
}

const keptTicks = new Set<object>()

/**
 * Keeps one entry of the queue of `process.nextTick`, and with it the hidden class of these entries. The queue is mostly
 * empty, and V8 (seen with Node 20) forgets a class that no object has when it collects the whole heap. After that it
 * makes each entry property by property for as long as the process runs: a tick takes six times as long, and Node needs
 * several ticks for an HTTP request.
 */
function keepTickClass(): void {
  process.nextTick(() => keptTicks.add(executionAsyncResource()))
}

/** The parent may have ended before this process listened to it. */
const parentEnded = (): Promise<unknown> =>
  process.connected ? once(process, 'disconnect') : Promise.resolve()

async function stopAlone(lastResort: LastResort): Promise<void> {
  await stopSignal(endAtOnce)
  lastResort.endWithin(stopTimeoutMs)
}

/** npm forwards Ctrl-C to a process that already got it, so only a later signal counts as a second one. */
const sameSignalMs = 1_000

/**
 * Resolves at the first SIGINT or SIGTERM, and when a parent with a channel to this process ends or closes it. A second
 * signal calls `endNow`.
 */
export function stopSignal(endNow: () => void = () => process.exit(1)): Promise<void> {
  return new Promise((resolve) => {
    let firstMs: number | undefined
    const onSignal = () => {
      firstMs ??= monotonicMs()
      if (monotonicMs() - firstMs > sameSignalMs) endNow()
      resolve()
    }
    process.on('SIGINT', onSignal)
    process.on('SIGTERM', onSignal)
    process.once('disconnect', resolve)
    // The channel must not keep this process alive.
    process.channel?.unref()
  })
}

/** The connection to the process that runs this one. */
export class Parent {
  readonly #waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>()
  #lastId = 0
  /** Resolves when the parent asks this process to stop, which may happen while it still loads. */
  readonly #stopRequest: Promise<void>
  #role: Role | undefined

  /** Earlier messages are delivered now, to every listener that is added in this turn of the event loop. */
  constructor() {
    this.#stopRequest = new Promise((resolve) => {
      process.on('message', (message: FromParent) => {
        if (message.type === 'stop') resolve()
        else void this.#receive(message)
      })
    })
    process.on('SIGINT', () => {})
    process.on('SIGTERM', () => {})
    process.on('disconnect', () => {
      for (const { reject } of this.#waiting.values()) reject(new Error('The parent process has ended.'))
      this.#waiting.clear()
    })
  }

  /** Resolves when the parent asks for it, or has ended. */
  async stopped(occurrences: Occurrences): Promise<void> {
    const lost = parentEnded().then(() => occurrences.parentLost({}))
    await Promise.race([this.#stopRequest, lost])
  }

  ready(role: Role): void {
    this.#role = role
    this.#send({ type: 'ready', addresses: role.addresses })
  }

  /** Resolves when the message was handed to the channel: the process ends right after. */
  failed(msg: string): Promise<void> {
    return new Promise((resolve) => {
      if (!process.connected) return resolve()
      process.send?.({ type: 'failed', msg } satisfies FromChild, () => resolve())
    })
  }

  /** Rejects if the parent ends before it answers. */
  ask<About extends keyof ParentAnswers>(about: About): Promise<ParentAnswers[About]> {
    this.#lastId += 1
    const id = this.#lastId
    return new Promise((resolve, reject) => {
      if (!process.connected) return reject(new Error('The parent process has ended.'))
      this.#waiting.set(id, { resolve: (value) => resolve(value as ParentAnswers[About]), reject })
      this.#send({ type: 'ask', id, about })
    })
  }

  async #receive(message: FromParent): Promise<void> {
    if (message.type === 'ask') {
      const value = (await this.#role?.[message.about]()) ?? (message.about === 'metrics' ? [] : {})
      this.#send({ type: 'answer', id: message.id, value })
    } else if (message.type === 'answer') {
      this.#waiting.get(message.id)?.resolve(message.value)
      this.#waiting.delete(message.id)
    }
  }

  /** If the parent ends right now, `disconnect` is noticed anyway. */
  #send(message: FromChild): void {
    if (process.connected) process.send?.(message, () => {})
  }
}
