/** Finds changes in heads that their writers left behind, and has them finished. */
import { every, monotonicMs, type Timer } from '../../../ground/core/clock.js'
import { deferred, eachOf } from '../../../ground/core/concurrency.js'
import type { Occurrences } from '../../../ground/core/telemetry/occurrences.js'
import type { Bucket, BucketEntry } from '../../../ground/nats/bucket.js'
import { BucketFollower } from '../../../ground/nats/bucket-follower.js'
import { decodeHead } from './head-text.js'

/** Unfinished changes of other processes that are finished concurrently. */
const headsAtOnceMax = 8
const sweepMs = 1_000

interface LeftBehindParts {
  readonly bucket: Bucket
  readonly occurrences: Occurrences
  /** May this account's abandoned change be finished? */
  readonly maySweep: (accountId: string) => boolean
  /** Does this process carry out a change of the account? */
  readonly isInProgress: (accountId: string) => boolean
  /** Carries out the change that the account's head holds, and reports a failure. */
  readonly finish: (accountId: string) => Promise<unknown>
}

/** An unfinished change that this process learned of. */
interface Unfinished {
  readonly sinceMs: number
  readonly isRepair: boolean
}

export class LeftBehind {
  readonly #parts: LeftBehindParts
  readonly #follower: BucketFollower
  /** By account. */
  #unfinished = new Map<string, Unfinished>()
  /** Accounts whose repairs are the caller's. */
  readonly #repaired = new Set<string>()
  readonly #whenRead = deferred()
  #sweep: Timer | undefined

  constructor(parts: LeftBehindParts) {
    this.#parts = parts
    this.#follower = new BucketFollower(parts.bucket, {
      begin: () => {
        this.#unfinished = new Map()
        return { entry: (entry) => this.#notice(entry), current: () => this.#whenRead.resolve() }
      },
      unreachable: (reason) => parts.occurrences.configurationUnreachable({ reason }),
    })
  }

  /** Resolves when it knows every head that holds a change. */
  async open(): Promise<void> {
    await this.#follower.open()
    await this.#whenRead.promise
    this.#sweep = every(sweepMs, () => this.#finishDue())
  }

  /**
   * Carries out the changes that heads of these accounts hold. One that fails is reported, and swept later. Repairs are
   * left to the caller, because they may take long: see `Heads.repairIn`.
   */
  async finishAll(accountIds: Iterable<string>): Promise<void> {
    const waiting = [...accountIds].filter((accountId) => this.#unfinished.get(accountId)?.isRepair === false)
    await eachOf(waiting, headsAtOnceMax, (accountId) => this.#finish(accountId))
  }

  async #finish(accountId: string): Promise<void> {
    try {
      await this.#parts.finish(accountId)
      this.#parts.occurrences.changeFinished({ account_id: accountId })
    } catch {
      // Reported where it failed; the next sweep tries again.
    }
  }

  /** Repairs of these accounts are not swept until the result is called: it would read each account by itself. */
  keepRepairs(accountIds: Iterable<string>): () => void {
    const kept = [...accountIds]
    for (const accountId of kept) this.#repaired.add(accountId)
    return () => {
      for (const accountId of kept) this.#repaired.delete(accountId)
    }
  }

  #notice({ key, value }: BucketEntry): void {
    const change = value === undefined ? null : decodeHead(value).change
    if (change === null) this.#unfinished.delete(key)
    else this.#unfinished.set(key, { sinceMs: monotonicMs(), isRepair: change.isRepair === true })
  }

  async #finishDue(): Promise<void> {
    const { isInProgress, maySweep } = this.#parts
    const isKept = (accountId: string, isRepair: boolean): boolean =>
      isInProgress(accountId) || (isRepair && this.#repaired.has(accountId))
    const isDue = ([accountId, { sinceMs, isRepair }]: [string, Unfinished]): boolean =>
      monotonicMs() - sinceMs >= sweepMs && !isKept(accountId, isRepair) && maySweep(accountId)
    const due = [...this.#unfinished].filter(isDue)
    await eachOf(due, headsAtOnceMax, ([accountId]) => this.#finish(accountId))
  }

  close(): void {
    this.#sweep?.stop()
    this.#follower.close()
  }
}
