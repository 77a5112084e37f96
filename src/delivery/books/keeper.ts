/**
 * Keeps the books of a process up to date: a snapshot, and the ledger from there on. Any process may keep them. Each of
 * them saves a snapshot periodically, and removes from the ledger what is in the snapshot.
 *
 * The ledger is read again if it has a gap, was recreated or restored from a backup, or grows while none of it arrives:
 * a server that was killed and restarted may have lost its followers, which takes the client a minute to notice.
 */
import { every, monotonicMs, sleep, type Timer } from '../../ground/core/clock.js'
import { messageOf } from '../../ground/core/errors.js'
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import type { Bucket } from '../../ground/nats/bucket.js'
import { waitForBucket } from '../../ground/nats/bucket-stream.js'
import type { Nats } from '../../ground/nats/nats.js'
import { streamIdentity } from '../../ground/nats/streams.js'
import { booksBucket, ledgerStream } from '../wire/names.js'
import { whenStream } from '../wire/streams.js'
import { Books } from './books.js'
import { LedgerReading } from './reading.js'
import { type LedgerEnd, Snapshots } from './snapshots.js'

const snapshotEveryMs = 5_000
/** A snapshot is saved only after this many new messages in the ledger. */
const snapshotAfterMessages = 200
const checkEveryMs = 2_000
/** While nothing is entered, the ledger is looked at less often. */
const checkEveryMaxMs = 10_000
const reopenPauseMs = 500
const reopenPauseMaxMs = 4_000

export class BooksKeeper {
  readonly #nats: Nats
  readonly #snapshots: Snapshots
  readonly #occurrences: Occurrences
  readonly #timers: Timer[] = []
  #reading: LedgerReading | undefined
  #savedSequence = 0
  /** The books' sequence at the last check, if the ledger was ahead. */
  #behindAt: number | undefined
  /** The last check found nothing new in the ledger. */
  #quiet: { readonly sequence: number; readonly atMs: number } | undefined
  #reopening: Promise<void> | undefined
  #restoring: Promise<void> = Promise.resolve()
  #isClosed = false

  constructor(nats: Nats, bucket: Bucket, makeBucket: () => Promise<unknown>, occurrences: Occurrences) {
    this.#nats = nats
    this.#snapshots = new Snapshots(bucket, makeBucket)
    this.#occurrences = occurrences
  }

  get books(): Books {
    return this.#reading?.books ?? new Books()
  }

  /** Resolves when the books hold everything that was in the ledger when it was called. */
  async open(): Promise<void> {
    await this.#readAgain()
    this.#timers.push(
      every(snapshotEveryMs, () => this.#save(snapshotAfterMessages)),
      every(checkEveryMs, () => this.#check()),
      { stop: this.#nats.onReconnect(() => void this.#reopen('reconnected')) },
    )
  }

  /** One reading at a time. */
  #readAgain(): Promise<void> {
    this.#reopening ??= this.#readUntilDone().finally(() => {
      this.#reopening = undefined
    })
    return this.#reopening
  }

  async #readUntilDone(): Promise<void> {
    for (let pauseMs = reopenPauseMs; !this.#isClosed; pauseMs = Math.min(pauseMs * 2, reopenPauseMaxMs)) {
      try {
        return await this.#read()
      } catch (error) {
        this.#occurrences.booksReopened({ reason: messageOf(error) })
        await sleep(pauseMs)
      }
    }
  }

  /** The previous books stay in use until everything is read. */
  async #read(): Promise<void> {
    const before = this.#reading
    const onGap = () => void this.#reopen('gap')
    await this.#restoring
    const reading = await LedgerReading.open(this.#nats, this.#snapshots, onGap)
    if (this.#isClosed) return reading.close()
    this.#reading = reading
    this.#behindAt = undefined
    // The saved snapshot may predate a restore of the ledger.
    this.#savedSequence = 0
    await before?.close()
  }

  async #check(): Promise<void> {
    try {
      // Entries can arrive while we wait, so compare with the sequence from before the request.
      const reading = this.#reading
      const { sequence } = this.books
      const quiet = this.#quiet
      if (quiet?.sequence === sequence && monotonicMs() - quiet.atMs < checkEveryMaxMs) return
      this.#quiet = undefined
      const info = await this.#nats.streamInfo(ledgerStream)
      if (info === undefined || this.#reopening !== undefined || this.#reading !== reading) return
      const { last_seq } = info.state
      const isBehind = last_seq > sequence
      if (streamIdentity(info) !== reading?.since) await this.#reopen('recreated')
      else if (last_seq < sequence) await this.#reopen('restored')
      else if (isBehind && this.#behindAt === sequence) await this.#reopen('silent')
      else this.#behindAt = isBehind ? sequence : undefined
      if (last_seq === sequence) this.#quiet = { sequence, atMs: monotonicMs() }
    } catch {
      // NATS is unreachable; the next check decides.
    }
  }

  #reopen(reason: string): Promise<void> {
    if (this.#reopening === undefined) this.#occurrences.booksReopened({ reason })
    return this.#readAgain()
  }

  /**
   * Makes the bucket again if NATS has lost it. What left the ledger is only in these books then, so they are stored before
   * they are read again.
   */
  restoreSnapshots(): Promise<void> {
    const restoring = this.#restore()
    // A failure is the caller's.
    this.#restoring = restoring.catch(() => {})
    return restoring
  }

  async #restore(): Promise<void> {
    if (!(await this.#snapshots.restore())) return
    this.#savedSequence = 0
    await this.#store()
  }

  async #save(afterMessages: number): Promise<void> {
    const { sequence } = this.books
    if (sequence - this.#savedSequence < afterMessages || this.#reopening !== undefined) return
    await this.#store()
  }

  async #store(): Promise<void> {
    try {
      const saved = await this.#snapshots.save(this.books.snapshot(), this.#reading!.since, () =>
        this.#ledger(),
      )
      if (saved === undefined) return
      this.#savedSequence = saved
      await this.#nats.purgeUpTo(ledgerStream, saved)
    } catch (error) {
      this.#occurrences.booksUnsaved({ reason: messageOf(error) })
    }
  }

  /** The current end of the ledger. */
  async #ledger(): Promise<LedgerEnd> {
    const info = await this.#nats.streamInfo(ledgerStream)
    if (info === undefined) throw new Error('The ledger is missing.')
    return { since: streamIdentity(info), sequence: info.state.last_seq }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    for (const timer of this.#timers) timer.stop()
    await this.#save(1)
    await this.#reading?.close()
  }
}

/** Only a role that may make the bucket is given `makeBucket`; the others wait for it. */
export async function openBooks(
  nats: Nats,
  occurrences: Occurrences,
  makeBucket?: () => Promise<Bucket>,
): Promise<BooksKeeper> {
  await whenStream(nats, ledgerStream)
  const bucket = await (makeBucket?.() ?? waitForBucket(nats, booksBucket))
  const keeper = new BooksKeeper(nats, bucket, makeBucket ?? (async () => {}), occurrences)
  await keeper.open()
  return keeper
}
