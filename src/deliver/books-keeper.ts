/**
 * Keeps the books of a process up to date: a snapshot, and the ledger from there on. Any process may keep them, and
 * each of them saves a snapshot now and then, so that the ledger needs to reach back no further.
 *
 * What a snapshot holds is taken out of the ledger. A keeper that lagged behind finds a gap then, and reads the
 * newer snapshot; so it does when the ledger was made anew or put back.
 */
import { every, sleep, type Timer, within } from '../core/clock.js'
import { messageOf } from '../core/errors.js'
import type { Nats } from '../core/nats.js'
import type { Bucket } from '../core/nats-bucket.js'
import type { Followed } from '../core/nats-consumers.js'
import { streamIdentity } from '../core/nats-streams.js'
import type { Occurrences } from '../core/occurrences.js'
import { Books } from './books.js'
import { Snapshots } from './books-snapshots.js'
import { type LedgerEntry, ledgerStream, ledgerSubject } from './ledger.js'

export { booksBucket } from './books-snapshots.js'

const snapshotEveryMs = 5_000
/** A snapshot is worth its while after this many messages of the ledger. */
const snapshotAfterMessages = 200
const checkEveryMs = 10_000
const catchUpTimeoutMs = 30_000
const reopenPauseMs = 500

export class BooksKeeper {
  readonly #nats: Nats
  readonly #snapshots: Snapshots
  readonly #occurrences: Occurrences
  readonly #timers: Timer[] = []
  #books = new Books()
  #since = ''
  #savedSequence = 0
  #followed: Followed | undefined
  /** Each reading of the ledger has its number, so that what an earlier one still brings is left out. */
  #reading = 0
  #reopening: Promise<void> | undefined
  #isClosed = false

  constructor(nats: Nats, bucket: Bucket, makeBucket: () => Promise<unknown>, occurrences: Occurrences) {
    this.#nats = nats
    this.#snapshots = new Snapshots(bucket, makeBucket)
    this.#occurrences = occurrences
  }

  get books(): Books {
    return this.#books
  }

  /** Resolves when the books hold everything that was in the ledger at the time of the call. */
  async open(): Promise<void> {
    await this.#read()
    this.#timers.push(
      every(snapshotEveryMs, () => this.#save(snapshotAfterMessages)),
      every(checkEveryMs, () => this.#check()),
    )
    this.#nats.onReconnect(() => void this.#check())
  }

  /** From the snapshot and the ledger behind it; what was known before stays in use until that is read. */
  async #read(): Promise<void> {
    await this.#followed?.close()
    this.#reading += 1
    const reading = this.#reading
    const info = await this.#nats.streamInfo(ledgerStream)
    const since = info === undefined ? '' : streamIdentity(info)
    const books = new Books(await this.#snapshots.load(since))
    const savedSequence = books.sequence
    const target = info?.state.last_seq ?? 0
    const isEmpty = (info?.state.messages ?? 0) === 0
    const caughtUp = new Promise<void>((resolve, reject) => {
      const reached = (): void => {
        if (isEmpty || books.sequence >= target) resolve()
      }
      const hear = ({ sequence, data }: { sequence: number; data: Uint8Array }): void => {
        if (reading === this.#reading) this.#add(books, sequence, data)
        reached()
      }
      const follow = this.#nats.follow(ledgerStream, ledgerSubject, books.sequence + 1, hear)
      follow.then((followed) => {
        this.#followed = followed
        reached()
      }, reject)
    })
    await within(catchUpTimeoutMs, caughtUp, 'The ledger can not be followed.')
    this.#books = books
    this.#since = since
    this.#savedSequence = savedSequence
  }

  #add(books: Books, sequence: number, data: Uint8Array): void {
    if (sequence <= books.sequence) return
    const hasGap = sequence > books.sequence + 1
    // A snapshot that another process saved meanwhile holds what is missing; the first pass has just read it.
    if (hasGap && books === this.#books) {
      void this.#reopen('gap')
      return
    }
    books.sequence = sequence
    for (const line of Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString().split('\n'))
      if (line !== '') books.add(JSON.parse(line) as LedgerEntry)
  }

  /** Was the ledger made anew, or put back to an earlier state? */
  async #check(): Promise<void> {
    try {
      const info = await this.#nats.streamInfo(ledgerStream)
      if (info === undefined) return
      const isAnother = streamIdentity(info) !== this.#since
      if (isAnother || info.state.last_seq < this.#books.sequence)
        await this.#reopen(isAnother ? 'made anew' : 'put back')
    } catch {
      // NATS is away; the next look will tell.
    }
  }

  #reopen(reason: string): Promise<void> {
    this.#reopening ??= this.#reopenUntilRead(reason).finally(() => {
      this.#reopening = undefined
    })
    return this.#reopening
  }

  async #reopenUntilRead(reason: string): Promise<void> {
    this.#occurrences.booksReopened({ reason })
    while (!this.#isClosed) {
      try {
        return await this.#read()
      } catch (error) {
        this.#occurrences.booksReopened({ reason: messageOf(error) })
        await sleep(reopenPauseMs)
      }
    }
  }

  async #save(afterMessages: number): Promise<void> {
    const { sequence } = this.#books
    if (sequence - this.#savedSequence < afterMessages || this.#reopening !== undefined) return
    try {
      this.#savedSequence = await this.#snapshots.save(this.#books.snapshot(), this.#since)
      await this.#nats.purgeUpTo(ledgerStream, this.#savedSequence)
    } catch (error) {
      this.#occurrences.booksUnsaved({ reason: messageOf(error) })
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    for (const timer of this.#timers) timer.stop()
    await this.#followed?.close()
    await this.#save(1)
  }
}
