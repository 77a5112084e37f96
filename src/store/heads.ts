/**
 * The heads of accounts: their write-ahead records.
 *
 * A change is committed by replacing the head, which fails where somebody else committed first. From then on it can't
 * be lost: it is carried out by its writer, or by the next one, or by a sweep, and the head is marked done. Every step
 * of that can be repeated. There are no leases and no clocks: a writer that stalls is refused, not hidden.
 */
import { every, now, type Timer } from '../core/clock.js'
import { eachOf } from '../core/concurrency.js'
import { badRequest, messageOf, unavailable, WeirError } from '../core/errors.js'
import { headsAtOnceMax, recentChangesMax } from '../core/limits.js'
import type { Occurrences } from '../core/occurrences.js'
import type { Bucket, BucketEntry } from '../nats/bucket.js'
import { BucketFollower } from '../nats/bucket-follower.js'
import type { Change, Head } from './change.js'
import type { Basis } from './projection.js'

/** A head made anew starts this far above what is known: versions of a lost head are never used again. */
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

export interface HeadsParts {
  readonly bucket: Bucket
  /** A larger head does not fit a message. */
  readonly bytesMax: () => number
  readonly occurrences: Occurrences
  /** All that follows a commit; may be called several times for one change, and by several processes at once. */
  readonly carryOut: (accountId: string, version: number, change: Change, basis?: Basis) => Promise<void>
  /** May changes left behind be finished? Not into a database that contradicts what was written since. */
  readonly maySweep: () => boolean
  /** What is known of an account without a head: the highest version, and the one the configuration has. */
  readonly known: (accountId: string) => Promise<{ highest: number; seen: number }>
}

/** `revision`: of the head that holds the change; undefined where somebody else has finished it already. */
export type Committed = { readonly version: number; readonly revision: number | undefined }

export class Heads {
  readonly #parts: HeadsParts
  readonly #follower: BucketFollower
  /** Accounts with a change that is not carried out, and since when this process knows. */
  #unfinished = new Map<string, number>()
  /** Accounts this process is carrying out a change of. */
  readonly #inHand = new Set<string>()
  #sweep: Timer | undefined

  constructor(parts: HeadsParts) {
    this.#parts = parts
    this.#follower = new BucketFollower(parts.bucket, {
      begin: () => {
        this.#unfinished = new Map()
        return { entry: (entry) => this.#notice(entry), current: () => {} }
      },
      unreachable: (reason) => parts.occurrences.configurationUnreachable({ reason }),
    })
  }

  async open(): Promise<void> {
    await this.#follower.open()
    this.#sweep = every(sweepMs, () => this.#finishLeftBehind())
  }

  /** The account's head, after the change it may hold was carried out. */
  async finished(accountId: string): Promise<FinishedHead> {
    for (;;) {
      const entry = await this.#parts.bucket.get(accountId)
      if (entry?.value === undefined) return this.#anew(accountId, entry?.revision ?? 0)
      const { version, change, recent } = decodeHead(entry.value)
      if (change === null) return { version, seen: version, revision: entry.revision, recent }
      await this.carryOut(accountId, { version, change, recent }, entry.revision)
    }
  }

  async #anew(accountId: string, revision: number): Promise<FinishedHead> {
    const { highest, seen } = await this.#parts.known(accountId)
    return { version: highest === 0 ? 0 : highest + versionGap, seen, revision, recent: [] }
  }

  /** Commits the account's next change as `version`; undefined where somebody else committed first. */
  async commit(
    accountId: string,
    known: FinishedHead,
    version: number,
    change: Change,
  ): Promise<Committed | undefined> {
    const { bucket } = this.#parts
    const recent = [...known.recent, change.id].slice(-recentChangesMax)
    const text = encodeHead({ version, change, recent }, this.#parts.bytesMax())
    const revision = await bucket.replace(accountId, text, known.revision)
    if (revision !== undefined) return { version, revision }
    return this.#lookUp(accountId, known, version, change)
  }

  /** Refuses a change that `commit` would refuse for its size. */
  checkSize({ recent }: FinishedHead, version: number, change: Change): void {
    encodeHead({ version, change, recent }, this.#parts.bytesMax())
  }

  /** A commit that lost may have been our own, its first answer lost on the way. */
  async #lookUp(
    accountId: string,
    known: FinishedHead,
    version: number,
    change: Change,
  ): Promise<Committed | undefined> {
    const entry = await this.#parts.bucket.get(accountId)
    if (entry?.value === undefined) return undefined
    const head = decodeHead(entry.value)
    if (head.change?.id === change.id) return { version, revision: entry.revision }
    if (head.recent.includes(change.id)) return { version, revision: undefined }
    const before = known.recent.at(-1)
    const reachesBack =
      before === undefined ? head.recent.length < recentChangesMax : head.recent.includes(before)
    if (reachesBack) return undefined
    throw unavailable('Whether the change was made can not be told: others made many at the same time.')
  }

  /** Carries the head's change out and marks it done. `basis`: of a change of the own process. */
  async carryOut(accountId: string, head: Head, revision: number, basis?: Basis): Promise<void> {
    const { version, change, recent } = head
    if (change === null) return
    this.#inHand.add(accountId)
    try {
      await this.#parts.carryOut(accountId, version, change, basis)
      await this.done(accountId, version, recent, revision)
    } catch (error) {
      this.#parts.occurrences.changeUnfinished({ account_id: accountId, version, reason: messageOf(error) })
      if (error instanceof WeirError) throw error
      throw unavailable(
        'The change is committed and will take effect, but the store is away at the moment.',
        error,
      )
    } finally {
      this.#inHand.delete(accountId)
    }
  }

  /** Marks a change as carried out; where somebody else did so first, nothing is left to do. */
  async done(accountId: string, version: number, recent: readonly string[], revision: number): Promise<void> {
    const head: Head = { version, change: null, recent }
    await this.#parts.bucket.replace(accountId, JSON.stringify(head), revision)
  }

  #notice({ key, value }: BucketEntry): void {
    if (value === undefined || decodeHead(value).change === null) this.#unfinished.delete(key)
    else this.#unfinished.set(key, now())
  }

  /** Finishes changes whose writers did not get to it. */
  async #finishLeftBehind(): Promise<void> {
    if (!this.#parts.maySweep()) return
    const due = [...this.#unfinished].filter(
      ([accountId, since]) => now() - since >= sweepMs && !this.#inHand.has(accountId),
    )
    await eachOf(due, headsAtOnceMax, async ([accountId]) => {
      try {
        await this.finished(accountId)
        this.#parts.occurrences.changeFinished({ account_id: accountId })
      } catch {
        // Told where it failed; the next sweep tries again.
      }
    })
  }

  close(): void {
    this.#sweep?.stop()
    this.#follower.close()
  }
}

export const decodeHead = (value: Uint8Array): Head => JSON.parse(Buffer.from(value).toString()) as Head

/** As text that fits a message: removed rows are left to ClickHouse where they would not fit. */
function encodeHead(head: Head, bytesMax: number): string {
  const whole = JSON.stringify(head)
  if (Buffer.byteLength(whole) <= bytesMax || head.change === null) return whole
  const removals = head.change.removals.map(({ kind, id }) => ({ kind, id, row: null }))
  const slim = JSON.stringify({ ...head, change: { ...head.change, removals } } satisfies Head)
  const bytes = Buffer.byteLength(slim)
  if (bytes <= bytesMax) return slim
  throw badRequest(
    `The change is too large: ${bytes} bytes, at most ${bytesMax} are allowed at once. Make it in several steps.`,
  )
}
