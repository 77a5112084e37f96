/**
 * Snapshots of the books in a bucket. Several processes may save at the same time: each writes parts of its own
 * first, then the head that names them, by compare-and-set. Parts that no head names were left by a process that
 * died, or lost the race; they are taken out when they are old.
 */
import { gunzipSync, gzipSync } from 'node:zlib'
import { now, randomToken, sleep } from '../core/clock.js'
import type { Bucket } from '../nats/bucket.js'
import type { BooksSnapshot } from './books.js'

const partBytesMax = 256 * 1024
const leftoverAfterMs = 10 * 60_000
const loadTries = 5
const loadAgainMs = 200

interface SnapshotHead {
  readonly sequence: number
  /** When the ledger was made: a ledger made anew begins new books. */
  readonly since: string
  /** When it was made, and something of its own. */
  readonly id: string
  readonly parts: number
}

/** The ledger there is now, and the last sequence in it. */
export interface LedgerEnd {
  readonly since: string
  readonly sequence: number
}

export class Snapshots {
  readonly #bucket: Bucket
  readonly #makeBucket: () => Promise<unknown>

  /** `makeBucket` makes it where it is missing: it may be deleted at any time. */
  constructor(bucket: Bucket, makeBucket: () => Promise<unknown>) {
    this.#bucket = bucket
    this.#makeBucket = makeBucket
  }

  /** The last snapshot of this ledger, if there is one that can be read. */
  async load(since: string): Promise<BooksSnapshot | undefined> {
    for (let tries = 1; tries <= loadTries; tries += 1) {
      const head = (await this.#head())?.value
      if (head === undefined || head.since !== since) return undefined
      const bytes = await this.#parts(head)
      const snapshot = bytes === undefined ? undefined : snapshotIn(bytes)
      if (snapshot !== undefined) return snapshot
      // Replaced while it was read, most likely.
      await sleep(loadAgainMs)
    }
    return undefined
  }

  /** Up to which sequence of this ledger the last snapshot reaches; 0 where there is none. */
  async sequence(since: string): Promise<number> {
    const head = (await this.#head())?.value
    return head?.since === since ? head.sequence : 0
  }

  /**
   * Answers up to which sequence of the ledger the bucket's snapshot reaches now; undefined where that is of another
   * ledger. `ledgerEnd` is asked once the head is known: a head beyond the end is of a time before the ledger was put
   * back, and one that is within it of somebody who is further.
   */
  async save(
    snapshot: BooksSnapshot,
    since: string,
    ledgerEnd: () => Promise<LedgerEnd>,
  ): Promise<number | undefined> {
    const { sequence } = snapshot
    await this.#makeBucket()
    const known = await this.#head()
    const end = await ledgerEnd()
    if (end.since !== since || end.sequence < sequence) return undefined
    const isFurther = known?.value.since === since && known.value.sequence >= sequence
    if (isFurther && known.value.sequence <= end.sequence) return known.value.sequence
    const bytes = gzipSync(JSON.stringify(snapshot))
    const head: SnapshotHead = {
      sequence,
      since,
      id: `${now()}-${randomToken(6)}`,
      parts: Math.ceil(bytes.length / partBytesMax),
    }
    for (let part = 0; part < head.parts; part += 1) {
      const slice = bytes.subarray(part * partBytesMax, (part + 1) * partBytesMax)
      await this.#bucket.put(partKey(head, part), slice)
    }
    const revision = await this.#bucket.replace('head', JSON.stringify(head), known?.revision ?? 0)
    const present = revision === undefined ? (await this.#head())?.value : head
    // Where the answer was lost, what looks like somebody else's head is our own.
    const isOurs = present?.id === head.id
    await this.#dropParts(isOurs ? known?.value : head)
    if (isOurs) await this.#dropLeftovers(head)
    return present?.since === since ? present.sequence : undefined
  }

  async #head(): Promise<{ value: SnapshotHead; revision: number } | undefined> {
    const entry = await this.#bucket.get('head')
    if (entry?.value === undefined) return undefined
    const value = JSON.parse(Buffer.from(entry.value).toString()) as SnapshotHead
    return { value, revision: entry.revision }
  }

  async #parts(head: SnapshotHead): Promise<Buffer | undefined> {
    const parts: Uint8Array[] = []
    for (let part = 0; part < head.parts; part += 1) {
      const entry = await this.#bucket.get(partKey(head, part))
      if (entry?.value === undefined) return undefined
      parts.push(entry.value)
    }
    return Buffer.concat(parts)
  }

  async #dropParts(stale: SnapshotHead | undefined): Promise<void> {
    for (let part = 0; part < (stale?.parts ?? 0); part += 1) await this.#bucket.forget(partKey(stale!, part))
  }

  /** A process that saves at this moment has young parts: only old ones are surely named by no head. */
  async #dropLeftovers(head: SnapshotHead): Promise<void> {
    const oldestMs = now() - leftoverAfterMs
    for (const key of await this.#bucket.keys('part.>')) {
      const [, id = ''] = key.split('.')
      const [madeMs = ''] = id.split('-')
      if (id !== head.id && Number(madeMs) < oldestMs) await this.#bucket.forget(key)
    }
  }
}

/** Undefined for what is damaged: the ledger is read without it then, as where there is none. */
function snapshotIn(bytes: Uint8Array): BooksSnapshot | undefined {
  try {
    return JSON.parse(gunzipSync(bytes).toString()) as BooksSnapshot
  } catch {
    return undefined
  }
}

const partKey = ({ id }: SnapshotHead, part: number): string => `part.${id}.${part}`
