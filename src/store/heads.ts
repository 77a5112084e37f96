/**
 * The heads of accounts: their write-ahead records.
 *
 * A change is committed by replacing the head, which fails if another writer committed first. From then on it can't be
 * lost: its writer, the account's next writer or a sweep carries it out and marks the head done. Every step can be
 * repeated. There are no leases and no clocks: the commit of a stalled writer fails, whenever it comes.
 */
import { jsonOf } from '../core/bytes.js'
import { every, now, type Timer } from '../core/clock.js'
import { deferred, eachOf } from '../core/concurrency.js'
import { badRequest, messageOf, unavailable, WeirError } from '../core/errors.js'
import type { Occurrences } from '../core/telemetry/occurrences.js'
import type { Bucket, BucketEntry } from '../nats/bucket.js'
import { BucketFollower } from '../nats/bucket-follower.js'
import { type Change, type Head, subjectOf, versioned } from './change.js'

/** Ids of recent changes kept in a head, so that a writer that missed the answer can find its own change. */
const recentChangesMax = 32
/** Unfinished changes of other processes that are finished concurrently. */
const headsAtOnceMax = 8

/** A recreated head starts this far above the highest known version, so versions of the lost head are never reused. */
export const versionGap = 1_000

const sweepMs = 1_000

/** A head with nothing left to carry out. */
export interface FinishedHead {
  readonly version: number
  /** The version a view must have to plan the next change. */
  readonly seen: number
  readonly revision: number
  readonly recent: readonly string[]
}

interface HeadsParts {
  readonly bucket: Bucket
  /** The size of a message: a larger head does not fit. */
  readonly bytesMax: () => number
  readonly occurrences: Occurrences
  /** Every step after the commit; may run several times for one commit, also in several processes at once. */
  readonly carryOut: (accountId: string, version: number, changes: readonly Change[]) => Promise<void>
  /** May this account's abandoned change be finished? Not if the database contradicts the buckets. */
  readonly maySweep: (accountId: string) => boolean
  /**
   * For an account without a head: the highest known version, and the one in the configuration. `highest`: that of ClickHouse, if
   * the caller has it.
   */
  readonly known: (accountId: string, highest?: number) => Promise<{ highest: number; seen: number }>
}

/** An unfinished change that this process learned of. */
interface Unfinished {
  readonly since: number
  readonly isRepair: boolean
}

/** Committed changes, the last one as this version. */
interface Commit extends Pick<Head, 'version' | 'recent'> {
  readonly changes: readonly Change[]
  /** The revision of the head that holds them; undefined if another process has already finished it. */
  readonly revision: number | undefined
}

export class Heads {
  readonly #parts: HeadsParts
  readonly #follower: BucketFollower
  /** By account. */
  #unfinished = new Map<string, Unfinished>()
  /** Accounts with a change that this process is carrying out. */
  readonly #inProgress = new Set<string>()
  /** Accounts whose repairs are the caller's. */
  readonly #repaired = new Set<string>()
  readonly #whenRead = deferred()
  #sweep: Timer | undefined

  constructor(parts: HeadsParts) {
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
    this.#sweep = every(sweepMs, () => this.#finishLeftBehind())
  }

  /**
   * Carries out the changes that heads of these accounts hold. One that fails is reported, and swept later. Repairs are
   * left to the caller, because they may take long: see `repairIn`.
   */
  async finishAll(accountIds: Iterable<string>): Promise<void> {
    const waiting = [...accountIds].filter((accountId) => this.#unfinished.get(accountId)?.isRepair === false)
    await eachOf(waiting, headsAtOnceMax, (accountId) => this.#finish(accountId))
  }

  async #finish(accountId: string): Promise<void> {
    try {
      await this.finished(accountId)
      this.#parts.occurrences.changeFinished({ account_id: accountId })
    } catch {
      // Reported where it failed; the next sweep tries again.
    }
  }

  /**
   * The account's head, after carrying out the change that it may hold. `highest`: the highest version in ClickHouse, which is
   * asked otherwise if there is no head.
   */
  async finished(accountId: string, highest?: number): Promise<FinishedHead> {
    for (;;) {
      const entry = await this.#parts.bucket.get(accountId)
      if (entry?.value === undefined) return this.#recreated(accountId, entry?.revision ?? 0, highest)
      const { revision } = entry
      const { version, change, earlier = [], recent } = decodeHead(entry.value)
      if (change === null) return { version, seen: version, revision, recent }
      await this.carryOut(accountId, { version, changes: [...earlier, change], recent, revision })
    }
  }

  /** The repair that the head holds, to be continued; undefined if it holds none. */
  async repairIn(accountId: string): Promise<Commit | undefined> {
    const entry = await this.#parts.bucket.get(accountId)
    if (entry?.value === undefined) return undefined
    const { version, change, recent } = decodeHead(entry.value)
    if (!change?.isRepair) return undefined
    return { version, changes: [change], recent, revision: entry.revision }
  }

  async #recreated(accountId: string, revision: number, known?: number): Promise<FinishedHead> {
    const { highest, seen } = await this.#parts.known(accountId, known)
    return { version: highest === 0 ? 0 : highest + versionGap, seen, revision, recent: [] }
  }

  /** Repairs of these accounts are not swept until the result is called: it would read each account by itself. */
  keepRepairs(accountIds: Iterable<string>): () => void {
    const kept = [...accountIds]
    for (const accountId of kept) this.#repaired.add(accountId)
    return () => {
      for (const accountId of kept) this.#repaired.delete(accountId)
    }
  }

  /** The bytes of a head. */
  get bytesMax(): number {
    return this.#parts.bytesMax()
  }

  /**
   * Commits the account's next changes as the versions that follow, or up to `version`; undefined if another writer
   * committed first.
   */
  async commit(
    accountId: string,
    known: FinishedHead,
    changes: readonly Change[],
    version = known.version + changes.length,
  ): Promise<Commit | undefined> {
    const change = changes.at(-1)!
    const earlier = changes.length > 1 ? { earlier: changes.slice(0, -1) } : {}
    const recent = [...known.recent, change.id].slice(-recentChangesMax)
    const text = encodeHead({ version, change, ...earlier, recent }, this.bytesMax)
    const revision = await this.#parts.bucket.replace(accountId, text, known.revision)
    const committed = { version, changes, recent, revision }
    return revision === undefined ? this.#lookUp(accountId, known, committed) : committed
  }

  /** Throws if `commit` would refuse the change for its size. */
  checkSize({ recent }: FinishedHead, version: number, change: Change): void {
    encodeHead({ version, change, recent }, this.bytesMax)
  }

  /** The commit that was first may be our own, if the answer to our first try was lost. */
  async #lookUp(accountId: string, known: FinishedHead, committed: Commit): Promise<Commit | undefined> {
    const { id } = committed.changes.at(-1)!
    const entry = await this.#parts.bucket.get(accountId)
    if (entry?.value === undefined) return undefined
    const head = decodeHead(entry.value)
    if (head.change?.id === id) return { ...committed, revision: entry.revision }
    if (head.recent.includes(id)) return committed
    const before = known.recent.at(-1)
    const reachesBack =
      before === undefined ? head.recent.length < recentChangesMax : head.recent.includes(before)
    if (reachesBack) return undefined
    throw unavailable(
      'The outcome of this change is unknown because many changes were made at once. Read the resource before trying again.',
    )
  }

  /** Carries out changes and marks them done, unless another process was faster. */
  async carryOut(accountId: string, committed: Commit): Promise<void> {
    const { version, changes, revision } = committed
    if (revision === undefined) return
    this.#inProgress.add(accountId)
    try {
      await this.#parts.carryOut(accountId, version, changes)
      await this.done(accountId, committed, revision)
      for (const { version, change } of versioned(committed.version, changes))
        this.#report(accountId, version, change)
    } catch (error) {
      this.#parts.occurrences.changeUnfinished({ account_id: accountId, version, reason: messageOf(error) })
      if (error instanceof WeirError) throw error
      throw unavailable(
        'The change is committed and will take effect, but part of the store is unavailable right now.',
        error,
      )
    } finally {
      this.#inProgress.delete(accountId)
    }
  }

  /** Marks changes as carried out, unless another process did so first. */
  async done(
    accountId: string,
    { version, recent }: Pick<Commit, 'version' | 'recent'>,
    revision: number,
  ): Promise<void> {
    const head: Head = { version, change: null, recent }
    await this.#parts.bucket.replace(accountId, JSON.stringify(head), revision)
  }

  /** Every process that carries a change out reports it: rather twice than not at all. */
  #report(account_id: string, version: number, change: Change): void {
    const subject = subjectOf(change)
    if (subject === undefined) return
    const { source, credentialId: key_id, operationId: operation_id } = change.principal
    const origin = { operation_id, key_id, source }
    this.#parts.occurrences.resourceChanged({ ...subject, account_id, version, ...origin })
  }

  #notice({ key, value }: BucketEntry): void {
    const change = value === undefined ? null : decodeHead(value).change
    if (change === null) this.#unfinished.delete(key)
    else this.#unfinished.set(key, { since: now(), isRepair: change.isRepair === true })
  }

  /** Finishes changes that their writers abandoned. */
  async #finishLeftBehind(): Promise<void> {
    const isKept = (accountId: string, isRepair: boolean): boolean =>
      this.#inProgress.has(accountId) || (isRepair && this.#repaired.has(accountId))
    const isDue = ([accountId, { since, isRepair }]: [string, Unfinished]): boolean =>
      now() - since >= sweepMs && !isKept(accountId, isRepair) && this.#parts.maySweep(accountId)
    const due = [...this.#unfinished].filter(isDue)
    await eachOf(due, headsAtOnceMax, ([accountId]) => this.#finish(accountId))
  }

  close(): void {
    this.#sweep?.stop()
    this.#follower.close()
  }
}

export const decodeHead = (value: Uint8Array): Head => jsonOf<Head>(value)

/** As text that fits a message: removed rows that would not fit are left out, and read from ClickHouse later. */
export function encodeHead(head: Head, bytesMax: number): string {
  const whole = JSON.stringify(head)
  if (Buffer.byteLength(whole) <= bytesMax || head.change === null) return whole
  const removals = head.change.removals.map(({ kind, id }) => ({ kind, id, row: null }))
  const slim = JSON.stringify({ ...head, change: { ...head.change, removals } } satisfies Head)
  const bytes = Buffer.byteLength(slim)
  if (bytes <= bytesMax) return slim
  throw badRequest(
    `The change has ${bytes} bytes: at most ${bytesMax} are allowed. Split it into several requests.`,
  )
}
