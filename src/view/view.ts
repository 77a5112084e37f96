/**
 * A process's view of the configuration: the followed bucket in memory.
 *
 * A view becomes usable when the bucket says what it should hold and holds it. Once usable it stays so: when the
 * bucket is made anew or put back under a running process, the last good state is kept, and a fresh one is read
 * beside it until that is complete, too, and not older. Nothing is ever taken for a configuration because something
 * was not found.
 */
import { after } from '../core/clock.js'
import { unavailable } from '../core/errors.js'
import type { Occurrences } from '../core/occurrences.js'
import { type Bucket, type BucketEntry, waitForBucket } from '../nats/bucket.js'
import { BucketFollower, type Pass } from '../nats/bucket-follower.js'
import type { Nats } from '../nats/nats.js'
import { bucketNames } from '../wire/names.js'
import { Completeness } from './completeness.js'
import { ViewState } from './view-state.js'

const reachTimeoutMs = 5_000

export type ChangeListener = (kind: string) => void

interface Waiter {
  isMet(state: ViewState): boolean
  resolve(): void
}

export class View {
  readonly #bucket: Bucket
  readonly #follower: BucketFollower
  readonly #listeners = new Set<ChangeListener>()
  readonly #waiters = new Set<Waiter>()
  #state = new ViewState()
  #latest = this.#state
  #isUsable = false
  /** How many entries were still to come when the last one of the configuration in use was sent. */
  #pending = 0
  readonly #whenUsable = deferred()
  #whenRead = deferred()

  constructor(bucket: Bucket, occurrences: Occurrences) {
    this.#bucket = bucket
    this.#follower = new BucketFollower(bucket, {
      begin: () => this.#begin(),
      reread: ({ identity, lastRevision }) =>
        occurrences.configurationReread({ bucket: identity, last_revision: lastRevision }),
      unreachable: (reason) => occurrences.configurationUnreachable({ reason }),
    })
  }

  /** Starts to follow; resolves at once, usable or not. */
  open(): Promise<void> {
    return this.#follower.open()
  }

  /** The configuration in use. */
  get state(): ViewState {
    return this.#state
  }

  /** What the bucket says now, complete or not. */
  get latest(): ViewState {
    return this.#latest
  }

  get isUsable(): boolean {
    return this.#isUsable
  }

  /** Resolves when there is a complete configuration. */
  get usable(): Promise<void> {
    return this.#whenUsable.promise
  }

  /** Resolves when `latest` holds everything that was in the bucket. */
  get read(): Promise<void> {
    return this.#whenRead.promise
  }

  /** Reads the bucket again from its start; resolves when `latest` holds it. */
  async reread(): Promise<void> {
    await this.#follower.reread()
    await this.read
  }

  /** Calls back with the kind of each row that changed, and with `*` when everything may have. */
  onChange(listener: ChangeListener): void {
    this.#listeners.add(listener)
  }

  /**
   * Resolves when the configuration in use has this version of the account, and all that was written before it. A key
   * that the next change has written by then is told of with that change, after the version: it is waited for, too.
   */
  async reached(accountId: string, version: number): Promise<void> {
    await this.#until((state) => state.versionOf(accountId) >= version)
    if (this.#pending === 0) return
    const { lastRevision } = await this.#bucket.position()
    await this.#until((state) => state.revision >= lastRevision)
  }

  async #until(isMet: (state: ViewState) => boolean): Promise<void> {
    if (isMet(this.#state)) return
    await new Promise<void>((resolve, reject) => {
      const timer = after(reachTimeoutMs, () => {
        this.#waiters.delete(waiter)
        reject(unavailable('The configuration does not arrive: NATS is slow or away.'))
      })
      const done = (): void => {
        timer.stop()
        resolve()
      }
      const waiter: Waiter = { isMet, resolve: done }
      this.#waiters.add(waiter)
    })
  }

  #begin(): Pass {
    const state = new ViewState()
    const completeness = new Completeness(state)
    this.#latest = state
    this.#whenRead = deferred()
    if (!this.#isUsable) this.#state = state
    return {
      entry: (entry, pending) => {
        this.#take(state, completeness, entry)
        if (state === this.#state) this.#pending = pending
      },
      current: () => {
        completeness.begin()
        this.#whenRead.resolve()
        if (completeness.holds) this.#use(state)
      },
    }
  }

  #take(state: ViewState, completeness: Completeness, entry: BucketEntry): void {
    const epoch = state.meta?.epoch
    const kind = state.apply(entry)
    if (state === this.#state && this.#isUsable) {
      if (kind !== undefined) this.#tell(kind)
      this.#wake()
      // Filled anew: what was taken out for that left no trace.
      if (state.meta?.epoch !== epoch) void this.#follower.reread()
      return
    }
    completeness.note(entry.key)
    if (completeness.holds) this.#use(state)
  }

  /** Puts a complete state to use, unless it is older than the one in use. */
  #use(state: ViewState): void {
    if (this.#isUsable && (state === this.#state || state.isOlderThan(this.#state))) return
    this.#state = state
    this.#pending = 0
    this.#isUsable = true
    this.#whenUsable.resolve()
    this.#tell('*')
    this.#wake()
  }

  #tell(kind: string): void {
    for (const listener of this.#listeners) listener(kind)
  }

  #wake(): void {
    for (const waiter of this.#waiters) {
      if (!waiter.isMet(this.#state)) continue
      this.#waiters.delete(waiter)
      waiter.resolve()
    }
  }

  close(): void {
    this.#follower.close()
  }
}

/** Opens the view of a role that waits for the API to make the bucket. */
export async function openView(nats: Nats, occurrences: Occurrences): Promise<View> {
  const view = new View(await waitForBucket(nats, bucketNames.config), occurrences)
  await view.open()
  return view
}

function deferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}
