/**
 * Keeps the books of a process up to date: a snapshot, and the ledger from there on. Any process may keep them, and
 * each of them writes a snapshot now and then, so that the ledger needs to reach back no further.
 */
import { gunzipSync, gzipSync } from 'node:zlib'
import { every, type Timer, within } from '../core/clock.js'
import { messageOf } from '../core/errors.js'
import type { Bucket, Followed, Nats } from '../core/nats.js'
import type { Occurrences } from '../core/occurrences.js'
import { Books, type BooksSnapshot } from './books.js'
import { type LedgerEntry, ledgerStream, ledgerSubject } from './ledger.js'

export const booksBucket = 'weir_books'

const snapshotEveryMs = 5_000
/** A snapshot is worth its while after this many messages of the ledger. */
const snapshotAfterMessages = 200
const partBytesMax = 256 * 1024
const catchUpTimeoutMs = 30_000

interface SnapshotHead {
  readonly sequence: number
  readonly parts: number
  /** When the ledger was made: a ledger made anew begins new books. */
  readonly since: string
}

export class BooksKeeper {
  readonly #nats: Nats
  readonly #bucket: Bucket
  readonly #occurrences: Occurrences
  #books = new Books()
  #since = ''
  #savedSequence = 0
  #followed: Followed | undefined
  #timer: Timer | undefined

  constructor(nats: Nats, bucket: Bucket, occurrences: Occurrences) {
    this.#nats = nats
    this.#bucket = bucket
    this.#occurrences = occurrences
  }

  get books(): Books {
    return this.#books
  }

  /** Resolves when the books hold everything that was in the ledger at the time of the call. */
  async open(): Promise<void> {
    const info = await this.#nats.streamInfo(ledgerStream)
    this.#since = String(info?.created ?? '')
    const saved = await this.#load()
    this.#books = new Books(saved)
    this.#savedSequence = this.#books.sequence
    const target = info?.state.last_seq ?? 0
    await new Promise<void>((resolve, reject) => {
      const caughtUp = (): void => {
        if (this.#books.sequence >= target) resolve()
      }
      const follow = this.#nats.follow(ledgerStream, ledgerSubject, this.#books.sequence + 1, (message) => {
        this.#add(message.sequence, message.data)
        caughtUp()
      })
      within(catchUpTimeoutMs, follow, 'The ledger can not be followed.').then((followed) => {
        this.#followed = followed
        caughtUp()
        // Messages that were purged below the target are in the snapshot.
        if ((info?.state.messages ?? 0) === 0) resolve()
      }, reject)
    })
    this.#timer = every(snapshotEveryMs, () => this.#save())
  }

  #add(sequence: number, data: Uint8Array): void {
    if (sequence <= this.#books.sequence) return
    this.#books.sequence = sequence
    for (const line of Buffer.from(data).toString().split('\n')) {
      if (line !== '') this.#books.add(JSON.parse(line) as LedgerEntry)
    }
  }

  async #load(): Promise<BooksSnapshot | undefined> {
    const head = await this.#head()
    if (head === undefined || head.value.since !== this.#since) return undefined
    const parts: Uint8Array[] = []
    for (let part = 0; part < head.value.parts; part += 1) {
      const entry = await this.#bucket.get(partKey(head.value.sequence, part))
      if (entry?.value === undefined) return this.#load()
      parts.push(entry.value)
    }
    return JSON.parse(gunzipSync(Buffer.concat(parts)).toString()) as BooksSnapshot
  }

  async #head(): Promise<{ value: SnapshotHead; revision: number } | undefined> {
    const entry = await this.#bucket.get('head')
    if (entry?.value === undefined) return undefined
    return {
      value: JSON.parse(Buffer.from(entry.value).toString()) as SnapshotHead,
      revision: entry.revision,
    }
  }

  /** Parts first, then the head that names them; then what the snapshot holds is taken out of the ledger. */
  async #save(force = false): Promise<void> {
    const { sequence } = this.#books
    if (sequence - this.#savedSequence < (force ? 1 : snapshotAfterMessages)) return
    try {
      const known = await this.#head()
      if (known !== undefined && known.value.since === this.#since && known.value.sequence >= sequence) {
        this.#savedSequence = known.value.sequence
        return
      }
      const bytes = gzipSync(JSON.stringify(this.#books.snapshot()))
      const parts = Math.ceil(bytes.length / partBytesMax)
      for (let part = 0; part < parts; part += 1) {
        await this.#bucket.put(
          partKey(sequence, part),
          bytes.subarray(part * partBytesMax, (part + 1) * partBytesMax),
        )
      }
      const head: SnapshotHead = { sequence, parts, since: this.#since }
      const stored = await this.#bucket.replace('head', JSON.stringify(head), known?.revision ?? 0)
      const stale = stored === undefined ? { sequence, parts } : known?.value
      if (stale !== undefined) await this.#dropParts(stale.sequence, stale.parts)
      if (stored === undefined) return
      this.#savedSequence = sequence
      await this.#nats.purgeUpTo(ledgerStream, sequence)
    } catch (error) {
      this.#occurrences.booksUnsaved({ reason: messageOf(error) })
    }
  }

  async #dropParts(sequence: number, parts: number): Promise<void> {
    for (let part = 0; part < parts; part += 1) await this.#bucket.forget(partKey(sequence, part))
  }

  async close(): Promise<void> {
    this.#timer?.stop()
    await this.#followed?.close()
    await this.#save(true)
  }
}

const partKey = (sequence: number, part: number): string => `part.${sequence}.${part}`
