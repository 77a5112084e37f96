/**
 * Start here: a process's view of the configuration, which is the configuration bucket followed in memory. A view only
 * reads; it must never know the store, or ClickHouse.
 *
 * A view becomes usable when it holds everything that the bucket says it should hold. Once usable it stays so: if the
 * bucket is recreated or restored under a running process, the last good state stays in use, and a fresh one is read
 * next to it until that is complete, too, and not older. A missing entry never counts as an empty configuration.
 *
 * The view of an API that starts may be usable before it is complete: without the accounts that the API is repairing.
 */

import { bucketNames } from '../../delivery/wire/names.js'
import { after, every, type Timer } from '../../ground/core/clock.js'
import { deferred } from '../../ground/core/concurrency.js'
import { unavailable } from '../../ground/core/errors.js'
import { checkFormat } from '../../ground/core/files/data-format.js'
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import type { Bucket, BucketEntry } from '../../ground/nats/bucket.js'
import { BucketFollower, type Pass } from '../../ground/nats/bucket-follower.js'
import { waitForBucket } from '../../ground/nats/bucket-stream.js'
import type { Nats } from '../../ground/nats/nats.js'
import type { KindName } from '../resource/registry.js'
import { Completeness, LackReports } from './completeness.js'
import { epochOf } from './keys.js'
import { ViewState } from './view-state.js'

const reachTimeoutMs = 5_000
const lookEveryMs = 5_000

type ChangeListener = (kind: string) => void

interface Waiter {
  isMet(state: ViewState): boolean
  resolve(): void
}

export class View {
  readonly #bucket: Bucket
  readonly #kinds: ReadonlySet<KindName> | undefined
  readonly #follower: BucketFollower
  readonly #listeners = new Set<ChangeListener>()
  readonly #waiters = new Set<Waiter>()
  #state: ViewState
  #latest: ViewState
  #completeness: Completeness
  #isUsable = false
  #isWhole = false
  #withheld: ReadonlySet<string> = new Set()
  #reporting: Timer | undefined
  readonly #lacks: LackReports
  /** Entries that were still to come when the last entry of the configuration in use was sent. */
  #pending = 0
  readonly #whenUsable = deferred()
  #whenRead = deferred()

  /** `kinds`: the only ones whose rows it holds, for a role that needs few; reading the others takes time. */
  constructor(bucket: Bucket, occurrences: Occurrences, kinds?: readonly KindName[]) {
    this.#bucket = bucket
    this.#lacks = new LackReports(occurrences)
    this.#kinds = kinds && new Set(kinds)
    // Not everyone who has a view waits for it.
    this.#whenUsable.promise.catch(() => {})
    this.#state = new ViewState(this.#kinds)
    this.#latest = this.#state
    this.#completeness = new Completeness(this.#state)
    this.#follower = new BucketFollower(bucket, {
      begin: () => this.#begin(),
      reread: ({ identity, lastRevision }) =>
        occurrences.configurationReread({ bucket: identity, last_revision: lastRevision }),
      unreachable: (reason) => occurrences.configurationUnreachable({ reason }),
    })
  }

  /** Starts to follow; resolves at once, usable or not. */
  open(): Promise<void> {
    this.#reporting = every(lookEveryMs, () => this.#lacks.look(this.lack))
    return this.#follower.open()
  }

  /** The configuration in use. */
  get state(): ViewState {
    return this.#state
  }

  /** The bucket's present contents, complete or not. */
  get latest(): ViewState {
    return this.#latest
  }

  get isUsable(): boolean {
    return this.#isUsable
  }

  /** Does the configuration in use hold everything there is? Only then is something deleted because it is not found. */
  get isComplete(): boolean {
    return this.#isWhole && this.#withheld.size === 0
  }

  /** Accounts that are being repaired: their rows in the view may be wrong, so they are not served. */
  get withheld(): ReadonlySet<string> {
    return this.#withheld
  }

  /** Uses the configuration as soon as it is complete but for these accounts; none: all of it counts again. */
  useWithout(accountIds: ReadonlySet<string>): void {
    this.#withheld = accountIds
    this.#consider(this.#latest, this.#completeness)
  }

  /** Throws for an account that is being repaired. */
  checkServed(accountId: string): void {
    if (!this.#withheld.has(accountId)) return
    throw unavailable(
      'This account is being brought up to date from ClickHouse, and is served again after that. Try again in a few seconds.',
    )
  }

  /** The reason why the bucket's present contents are not in use, as a clause; undefined if they are. */
  get lack(): string | undefined {
    if (this.#isUsable && this.#latest === this.#state) return undefined
    return (
      this.#completeness.lack ?? 'the bucket has older versions of accounts than the configuration in use'
    )
  }

  /** Resolves when there is a complete configuration. Rejects with a `StartFault` if a later version of Weir wrote it. */
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

  /** Calls back with the kind of each changed row, and with `*` if everything may have changed. */
  onChange(listener: ChangeListener): void {
    this.#listeners.add(listener)
  }

  /**
   * Resolves when the configuration in use has this version of the account, and all that was written before it; rejects if
   * that takes long. If the next change has already overwritten a key, the key's entry comes after the version, so that is
   * awaited, too.
   */
  async reached(accountId: string, version: number, withinMs = reachTimeoutMs): Promise<void> {
    await this.#until((state) => state.versionOf(accountId) >= version, withinMs)
    if (this.#pending > 0) await this.caughtUp(withinMs)
  }

  /** Resolves when what is in the bucket now is in the configuration in use; rejects if that takes long. */
  async caughtUp(withinMs = reachTimeoutMs): Promise<void> {
    const { lastRevision } = await this.#bucket.position()
    await this.#until((state) => state.revision >= lastRevision, withinMs)
  }

  async #until(isMet: (state: ViewState) => boolean, withinMs: number): Promise<void> {
    if (isMet(this.#state)) return
    await new Promise<void>((resolve, reject) => {
      const timer = after(withinMs, () => {
        this.#waiters.delete(waiter)
        reject(unavailable('Timed out waiting for the configuration: NATS is slow or away.'))
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
    const state = new ViewState(this.#kinds)
    const completeness = new Completeness(state)
    this.#latest = state
    this.#completeness = completeness
    // A replaced pass never completes, so its waiters wait for the pass that replaces it.
    const replaced = this.#whenRead
    this.#whenRead = deferred()
    void this.#whenRead.promise.then(replaced.resolve)
    if (!this.#isUsable) this.#state = state
    return {
      entry: (entry, pending) => {
        this.#take(state, completeness, entry)
        if (state === this.#state) this.#pending = pending
      },
      current: () => {
        completeness.begin()
        this.#whenRead.resolve()
        this.#consider(state, completeness)
      },
    }
  }

  #take(state: ViewState, completeness: Completeness, entry: BucketEntry): void {
    const epoch = state.meta?.epoch
    const kind = this.#apply(state, entry)
    if (state === this.#state && this.#isUsable) {
      if (kind !== undefined) this.#notify(kind)
      this.#wake()
      // The bucket was refilled; keys deleted for that left no tombstones.
      if (state.meta?.epoch !== epoch) void this.#follower.reread()
      if (this.#isWhole) return
    }
    completeness.note(entry.key)
    this.#consider(state, completeness)
  }

  /** Does this version know its format? If not, a role that starts does not use it; one that runs goes on. */
  #isKnown({ meta }: ViewState): boolean {
    if (this.#isUsable) return true
    try {
      checkFormat('The configuration in NATS', meta)
      return true
    } catch (error) {
      this.#whenUsable.reject(error as Error)
      return false
    }
  }

  #apply(state: ViewState, entry: BucketEntry): string | undefined {
    try {
      return state.apply(entry)
    } catch (error) {
      // It changes nothing here; the API repairs it from ClickHouse.
      return void this.#bucket.reportDamaged(entry, error)
    }
  }

  /** Starts to use a state that is complete, or is but for accounts that are being repaired. */
  #consider(state: ViewState, completeness: Completeness): void {
    if (!this.#isKnown(state)) return
    if (completeness.holds) this.#isWhole = this.#use(state) || this.#isWhole
    else if (!this.#isWhole && completeness.holdsWithout(this.#withheld)) this.#use(state)
  }

  /** False if the state is older than the one in use, which then stays. */
  #use(state: ViewState): boolean {
    if (this.#isUsable && state === this.#state) return true
    if (this.#isUsable && isOlder(state, this.#state)) return false
    this.#state = state
    this.#pending = 0
    this.#isUsable = true
    this.#whenUsable.resolve()
    this.#notify('*')
    this.#wake()
    return true
  }

  #notify(kind: string): void {
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
    this.#reporting?.stop()
    this.#follower.close()
  }
}

/** Has an account an earlier version, though the bucket was not refilled? Then it was restored from a backup. */
export function isOlder(state: ViewState, inUse: ViewState): boolean {
  if (state.meta?.deployment_id !== inUse.meta?.deployment_id) return false
  if (epochOf(state.meta) > epochOf(inUse.meta)) return false
  return [...inUse.accounts].some(([accountId, { version }]) => state.versionOf(accountId) < version)
}

/** Opens the view of a role that waits for the API to make the bucket. `kinds`: all that the role needs. */
export async function openView(
  nats: Nats,
  occurrences: Occurrences,
  kinds?: readonly KindName[],
): Promise<View> {
  const view = new View(await waitForBucket(nats, bucketNames.config), occurrences, kinds)
  await view.open()
  return view
}
