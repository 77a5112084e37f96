/**
 * The heads of accounts: their write-ahead records.
 *
 * A change is committed by replacing the head, which fails if another writer committed first. From then on it can't be
 * lost: its writer, the account's next writer or a sweep carries it out and marks the head done. Every step can be
 * repeated. There are no leases and no clocks: the commit of a stalled writer fails, whenever it comes.
 */
import { messageOf, unavailable } from '../../../ground/core/errors.js'
import type { Occurrences } from '../../../ground/core/telemetry/occurrences.js'
import { traced } from '../../../ground/core/telemetry/tracing.js'
import type { Bucket } from '../../../ground/nats/bucket.js'
import { isRefusal, type Patience } from '../../../ground/nats/retry.js'
import { answerTo, type RequestKey } from './answers.js'
import { type Change, type Head, subjectOf, versioned } from './change.js'
import { decodeHead, encodeHead } from './head-text.js'
import { LeftBehind } from './left-behind.js'
import * as outcome from './outcome.js'

/** Ids of recent changes kept in a head, so that a writer that missed the answer can find its own change. */
const recentChangesMax = 32

/** A recreated head starts this far above the highest known version, so versions of the lost head are never reused. */
export const versionGap = 1_000

const nats = { 'messaging.system': 'nats' }

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
   * For an account without a head: the highest known version, and the one in the configuration. `highest`: that of
   * ClickHouse, if the caller has it.
   */
  readonly known: (accountId: string, highest?: number) => Promise<{ highest: number; seen: number }>
}

/** Committed changes, the last one as this version. */
interface Commit extends Pick<Head, 'version' | 'recent'> {
  readonly changes: readonly Change[]
  /** The revision of the head that holds them; undefined if another process has already finished it. */
  readonly revision: number | undefined
}

export class Heads {
  readonly #parts: HeadsParts
  /** Changes that other processes left in heads. */
  readonly leftBehind: LeftBehind
  /** Accounts with a change that this process is carrying out. */
  readonly #inProgress = new Set<string>()

  constructor(parts: HeadsParts) {
    this.#parts = parts
    this.leftBehind = new LeftBehind({
      ...parts,
      isInProgress: (accountId) => this.#inProgress.has(accountId),
      finish: (accountId) => this.finished(accountId),
    })
  }

  /**
   * The account's head, after carrying out the change that it may hold. The failure of that is not the caller's, whose
   * change comes later. `highest`: the highest version in ClickHouse, which is asked otherwise if there is no head.
   */
  async finished(accountId: string, highest?: number): Promise<FinishedHead> {
    for (;;) {
      const { bucket } = this.#parts
      const entry = await bucket.get(accountId)
      const revision = entry?.revision ?? 0
      const head = bucket.decoded(entry, decodeHead)
      if (head === undefined) return this.#recreated(accountId, revision, highest)
      const { version, change, earlier = [], recent } = head
      if (change === null) return { version, seen: version, revision, recent }
      try {
        await this.#carryOut(accountId, { version, changes: [...earlier, change], recent, revision })
      } catch (error) {
        throw unavailable(
          'An earlier change of the account is committed and waits for a part of the store that is unavailable right now.',
          error,
        )
      }
    }
  }

  /** The repair that the head holds, to be continued; undefined if it holds none. */
  async repairIn(accountId: string): Promise<Commit | undefined> {
    const held = await this.#held(accountId)
    const { change } = held ?? {}
    return change?.isRepair && held !== undefined ? { ...held, changes: [change] } : undefined
  }

  async #held(
    accountId: string,
    patience?: Patience,
  ): Promise<(Head & Pick<FinishedHead, 'revision'>) | undefined> {
    const { bucket } = this.#parts
    const entry = await bucket.get(accountId, patience)
    const head = bucket.decoded(entry, decodeHead)
    return head && { ...head, revision: entry!.revision }
  }

  async #recreated(accountId: string, revision: number, known?: number): Promise<FinishedHead> {
    const { highest, seen } = await this.#parts.known(accountId, known)
    return { version: highest === 0 ? 0 : highest + versionGap, seen, revision, recent: [] }
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
    const held = heldOf(changes)
    const recent = [...known.recent, held.change.id].slice(-recentChangesMax)
    const text = encodeHead({ version, ...held, recent }, this.bytesMax)
    const committed = { version, changes, recent }
    // An attempt without an answer may have been stored, and may be stored still.
    let isInDoubt = false
    const failed = (error: unknown): void => {
      isInDoubt ||= !isRefusal(error)
    }
    try {
      const { bucket } = this.#parts
      const replace = () => bucket.replace(accountId, text, known.revision, failed)
      const revision = await traced('head', { kind: 'client', attributes: nats }, replace)
      if (revision !== undefined) return { ...committed, revision }
      return isInDoubt ? await this.#lookUp(accountId, known, committed) : undefined
    } catch (error) {
      if (outcome.outcomeOf(error) !== undefined) throw error
      throw isInDoubt ? outcome.unknown('NATS did not answer', error) : outcome.refusedBy(error)
    }
  }

  /** Throws if `commit` would refuse the changes for their size. */
  checkSize({ recent }: FinishedHead, version: number, changes: readonly Change[]): void {
    encodeHead({ version, ...heldOf(changes), recent }, this.bytesMax)
  }

  /** The commit that was first may be our own, if the answer to our first try was lost. */
  async #lookUp(
    accountId: string,
    known: FinishedHead,
    committed: Omit<Commit, 'revision'>,
  ): Promise<Commit | undefined> {
    const { id } = committed.changes.at(-1)!
    const head = await this.#held(accountId)
    if (head === undefined) throw outcome.unknown('NATS lost the head of the account')
    if (head.change?.id === id) return { ...committed, revision: head.revision }
    if (head.recent.includes(id)) return { ...committed, revision: undefined }
    const before = known.recent.at(-1)
    const reachesBack =
      before === undefined ? head.recent.length < recentChangesMax : head.recent.includes(before)
    if (reachesBack) return undefined
    throw outcome.unknown('many changes were made at once')
  }

  /** Carries out changes that this process committed. `seen`: the last step, which waits until its readers have them. */
  async carryOut(accountId: string, committed: Commit, seen: () => Promise<void>): Promise<void> {
    try {
      await this.#carryOut(accountId, committed)
      await traced('reach', { kind: 'internal' }, seen)
    } catch (error) {
      if (await this.#isLost(accountId, committed, error))
        throw outcome.unknown('NATS lost its data while the change was carried out', error)
      throw outcome.committed(error)
    }
  }

  /** Has NATS lost the head, so that no one carries out what is left of these changes? */
  async #isLost(accountId: string, { version }: Commit, error: unknown): Promise<boolean> {
    if (outcome.isBucketLost(error)) return true
    try {
      const head = await this.#held(accountId, { triesMax: 1 })
      return head === undefined || head.version < version
    } catch (unread) {
      // A server that does not answer has not lost anything.
      return outcome.isBucketLost(unread)
    }
  }

  /** Does the head hold a change, not carried out yet, of a request with this idempotency key? */
  async holdsRequest(accountId: string, request: RequestKey): Promise<boolean> {
    const held = await this.#held(accountId).catch((error: unknown) => {
      throw outcome.unknown('it was not read whether the request was made before', error)
    })
    const { change, earlier = [] } = held ?? {}
    const stored = [...earlier, change].find((each) => each?.answer?.key === request.key)?.answer
    return stored !== undefined && answerTo(request, stored) !== undefined
  }

  /** Carries out changes and marks them done, unless another process was faster. */
  async #carryOut(accountId: string, committed: Commit): Promise<void> {
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
      throw error
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
}

/** Changes as a head holds them. */
const heldOf = (changes: readonly Change[]) => ({
  change: changes.at(-1)!,
  ...(changes.length > 1 && { earlier: changes.slice(0, -1) }),
})
