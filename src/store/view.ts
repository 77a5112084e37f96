/**
 * A process's view of the configuration: the watched bucket in memory.
 *
 * A view becomes usable when the bucket says what it should hold and holds it. Once usable it stays so: when the
 * bucket is made anew or falls behind under a running process, the last good state is kept and a fresh one is read
 * beside it until that is complete, too. Nothing is ever taken for a configuration because something was not found.
 */
import { after, every, type Timer } from '../core/clock.js'
import { messageOf, unavailable } from '../core/errors.js'
import type { Bucket, BucketEntry, Nats } from '../core/nats.js'
import type { Occurrences } from '../core/occurrences.js'
import { ViewState } from './view-state.js'

/** How often the bucket's identity is looked at; every reconnect looks at once. */
const positionCheckMs = 10_000
const reachTimeoutMs = 5_000

export type ChangeListener = (kind: string) => void

interface Waiter {
  readonly accountId: string
  readonly version: number
  resolve(): void
}

export class View {
  readonly #bucket: Bucket
  readonly #occurrences: Occurrences
  readonly #listeners = new Set<ChangeListener>()
  readonly #waiters = new Set<Waiter>()
  readonly #timer: Timer
  #state = new ViewState()
  #usable = false
  #createdAt = ''
  #watch: { close(): void } | undefined
  #following = Promise.resolve()
  #whenUsable: { promise: Promise<void>; resolve: () => void }

  constructor(bucket: Bucket, nats: Nats, occurrences: Occurrences) {
    this.#bucket = bucket
    this.#occurrences = occurrences
    this.#whenUsable = deferred()
    const check = (): Promise<void> => (this.#following = this.#following.then(() => this.#checkPosition()))
    this.#timer = every(positionCheckMs, check)
    nats.onReconnect(() => void check())
  }

  /** Starts to watch; resolves at once, usable or not. */
  async open(): Promise<void> {
    await this.#follow()
  }

  get state(): ViewState {
    return this.#state
  }

  get isUsable(): boolean {
    return this.#usable
  }

  /** Resolves when there is a complete configuration. */
  get usable(): Promise<void> {
    return this.#whenUsable.promise
  }

  /** Calls back with the kind of each row that changed, and with `*` when everything may have. */
  onChange(listener: ChangeListener): void {
    this.#listeners.add(listener)
  }

  /** Resolves when the view has seen this version of the account. */
  async reached(accountId: string, version: number): Promise<void> {
    if ((this.#state.accounts.get(accountId)?.version ?? 0) >= version) return
    await new Promise<void>((resolve, reject) => {
      const waiter: Waiter = { accountId, version, resolve: () => done() }
      const timer = after(reachTimeoutMs, () => {
        this.#waiters.delete(waiter)
        reject(unavailable('The configuration does not arrive: NATS is slow or away.'))
      })
      const done = (): void => {
        timer.stop()
        resolve()
      }
      this.#waiters.add(waiter)
    })
  }

  /** Reads the bucket from its start into a fresh state and follows it. */
  async #follow(): Promise<void> {
    const { createdAt } = await this.#bucket.position()
    const state = new ViewState()
    this.#watch?.close()
    this.#createdAt = createdAt
    if (!this.#usable) this.#state = state
    let isCurrent = false
    this.#watch = await this.#bucket.watch(
      (entry) => this.#take(state, entry, isCurrent),
      () => {
        isCurrent = true
        this.#adopt(state)
      },
    )
  }

  #take(state: ViewState, entry: BucketEntry, isCurrent: boolean): void {
    const kind = state.apply(entry)
    if (state === this.#state && this.#usable) {
      if (kind !== undefined) this.#tell(kind)
      this.#wake()
    } else if (isCurrent) this.#adopt(state)
  }

  /** Makes a fresh state the view's, once it is complete. */
  #adopt(state: ViewState): void {
    if ((state === this.#state && this.#usable) || !state.isComplete()) return
    this.#state = state
    this.#usable = true
    this.#whenUsable.resolve()
    this.#tell('*')
    this.#wake()
  }

  #tell(kind: string): void {
    for (const listener of this.#listeners) listener(kind)
  }

  #wake(): void {
    for (const waiter of this.#waiters) {
      if ((this.#state.accounts.get(waiter.accountId)?.version ?? 0) < waiter.version) continue
      this.#waiters.delete(waiter)
      waiter.resolve()
    }
  }

  /** Was the bucket made anew, or put back to an earlier state? Then everything is read again. */
  async #checkPosition(): Promise<void> {
    try {
      const { createdAt, lastRevision } = await this.#bucket.position()
      if (createdAt === this.#createdAt && lastRevision >= this.#state.revision) return
      this.#occurrences.configurationReread({ created_at: createdAt, last_revision: lastRevision })
      await this.#follow()
    } catch (error) {
      this.#occurrences.configurationUnreachable({ reason: messageOf(error) })
    }
  }

  close(): void {
    this.#timer.stop()
    this.#watch?.close()
  }
}

function deferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}
