/**
 * One reading of the ledger: the books from a snapshot, then each later entry as it arrives, until closed.
 *
 * Entries that are in a snapshot are removed from the ledger. With several keepers that can happen at any time, even
 * while another one begins to read. So missing entries are in a newer snapshot; if there is none, the ledger lost them.
 *
 * `nats/bucket-follower.ts` does not fit here: it follows the last value per key, so it needs neither snapshots nor gap
 * detection, and it resumes after a fault where the books begin again from a snapshot.
 */
import { monotonicMs, sleep } from '../../ground/core/clock.js'
import type { FollowedStream } from '../../ground/nats/consumers.js'
import type { Nats } from '../../ground/nats/nats.js'
import { streamIdentity } from '../../ground/nats/streams.js'
import { booksBucket, ledgerStream, ledgerSubject } from '../wire/names.js'
import { Books } from './books.js'
import type { LastSettled } from './input-run.js'
import type { InputStream, LedgerEntry } from './ledger.js'
import { readEntries } from './ledger-lines.js'
import { Snapshots } from './snapshots.js'

const lookEveryMs = 20
const silenceMaxMs = 10_000
/** A snapshot that none of these attempts can read is damaged. */
const triesMax = 10

export class LedgerReading {
  /** Identity of the ledger. */
  readonly since: string
  readonly books: Books
  readonly #onGap: () => void
  readonly #damaged: Pick<Nats['damaged'], 'report'>
  readonly #snapshotSequence: number
  #followed: FollowedStream | undefined
  #heardMs = monotonicMs()
  #hasGap = false
  #hasCaughtUp = false
  #isClosed = false

  private constructor(since: string, books: Books, onGap: () => void, damaged: Nats['damaged']) {
    this.since = since
    this.books = books
    this.#onGap = onGap
    this.#damaged = damaged
    this.#snapshotSequence = books.sequence
  }

  /**
   * Resolves when the books hold everything that was in the ledger when it was called. `onGap` is called if entries are
   * missing later: the reading is useless then.
   */
  static async open(nats: Nats, snapshots: Snapshots, onGap: () => void): Promise<LedgerReading> {
    for (let tries = 1; ; tries += 1) {
      const info = await nats.streamInfo(ledgerStream)
      const since = info === undefined ? '' : streamIdentity(info)
      const books = new Books(await snapshots.load(since))
      const reading = new LedgerReading(since, books, onGap, nats.damaged)
      try {
        await reading.#catchUp(nats)
        if (!reading.#hasGap || tries === triesMax) return reading
        if ((await snapshots.sequence(since)) <= reading.#snapshotSequence) return reading
      } catch (error) {
        await reading.close()
        throw error
      }
      await reading.close()
    }
  }

  async #catchUp(nats: Nats): Promise<void> {
    const info = await nats.streamInfo(ledgerStream)
    if (info === undefined) throw new Error('The ledger is missing.')
    const { first_seq, last_seq, messages } = info.state
    // The ledger was restored to a time before the snapshot: entries that are in both still count once.
    if (this.books.sequence > last_seq) this.books.sequence = 0
    this.#skipTo(messages === 0 ? last_seq + 1 : first_seq)
    const from = this.books.sequence + 1
    this.#followed = await nats.follow(ledgerStream, ledgerSubject, from, (message) => this.#receive(message))
    this.#heardMs = monotonicMs()
    while (this.books.sequence < last_seq) {
      if (monotonicMs() - this.#heardMs > silenceMaxMs) throw new Error('The ledger is silent.')
      await sleep(lookEveryMs)
    }
    this.#hasCaughtUp = true
  }

  #receive({ sequence, data }: { sequence: number; data: Uint8Array }): void {
    this.#heardMs = monotonicMs()
    if (this.#isClosed || sequence <= this.books.sequence) return
    if (this.#hasCaughtUp && sequence > this.books.sequence + 1) {
      this.#onGap()
      return
    }
    this.#skipTo(sequence)
    this.books.sequence = sequence
    const damaged = (error: unknown): void =>
      this.#damaged.report({ stream: ledgerStream, sequence }, data, error)
    for (const entry of readEntries(data, damaged)) this.#add(entry, damaged)
  }

  /** An entry that can't be counted is left out: it must not end this reading, and with it every start. */
  #add(entry: LedgerEntry, damaged: (error: unknown) => void): void {
    try {
      this.books.add(entry)
    } catch (error) {
      damaged(error)
    }
  }

  #skipTo(sequence: number): void {
    if (sequence <= this.books.sequence + 1) return
    this.#hasGap = true
    this.books.sequence = sequence - 1
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#followed?.close()
  }
}

/**
 * Asks the ledger which message of an input was settled last. If that message is no longer in its stream as it was, the
 * stream was put back to an earlier state, and assigns its sequences again.
 */
export class SettledInput {
  readonly #nats: Nats
  #reading: Promise<Books | undefined> | undefined

  constructor(nats: Nats) {
    this.#nats = nats
  }

  /** Undefined if nothing is settled in this run of the input's sequences. */
  async last(stream: InputStream, since: string): Promise<LastSettled | undefined> {
    // The inputs of a process ask at the same time: they share a reading.
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined
    })
    return (await this.#reading)?.lastSettled(stream, since)
  }

  async #read(): Promise<Books | undefined> {
    const bucket = await this.#nats.findBucket(booksBucket)
    // Until a keeper makes the bucket there are no books, so no sequence can be taken for another message's.
    if (bucket === undefined) return undefined
    const snapshots = new Snapshots(bucket, async () => {})
    const reading = await LedgerReading.open(this.#nats, snapshots, () => {})
    await reading.close()
    return reading.books
  }
}
