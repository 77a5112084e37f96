/**
 * Snapshots of the books in a bucket. Several processes may save at the same time: each first writes parts of its own,
 * then the head that names them, by compare-and-set. Parts that no head names were left by a process that died or
 * lost the race; they are removed when they are old.
 */

import { gunzipSync, gzipSync } from 'node:zlib'
import { jsonOf } from '../../ground/core/bytes.js'
import { monotonicMs, now, randomToken, sleep } from '../../ground/core/clock.js'
import { isObject } from '../../ground/core/json-object.js'
import type { Bucket } from '../../ground/nats/bucket.js'
import type { BooksSnapshot } from './books.js'

const partBytesMax = 256 * 1024
const leftoverAfterMs = 10 * 60_000
const loadTries = 5
const loadAgainMs = 200

interface SnapshotHead {
  readonly sequence: number
  /** Identity of the ledger: a recreated ledger begins new books. */
  readonly since: string
  /** Time of creation and a random token. */
  readonly id: string
  readonly parts: number
}

/** The current ledger and its last sequence. */
export interface LedgerEnd {
  readonly since: string
  readonly sequence: number
}

export class Snapshots {
  readonly #bucket: Bucket
  readonly #makeBucket: () => Promise<unknown>
  /** Parts that no head names, by their snapshot, and since when this process has seen them: monotonic. */
  #unusedSince: ReadonlyMap<string, number> = new Map()

  /** `makeBucket` creates the bucket if it is missing: it may be deleted at any time. */
  constructor(bucket: Bucket, makeBucket: () => Promise<unknown>) {
    this.#bucket = bucket
    this.#makeBucket = makeBucket
  }

  /** Makes the bucket if it is missing; false if it is there. */
  async restore(): Promise<boolean> {
    if ((await this.#bucket.position()).identity !== '') return false
    await this.#makeBucket()
    return true
  }

  /** The last snapshot of this ledger, if there is one that can be read. */
  async load(since: string): Promise<BooksSnapshot | undefined> {
    for (let tries = 1; tries <= loadTries; tries += 1) {
      const head = (await this.#head())?.value
      if (head === undefined || head.since !== since) return undefined
      const bytes = await this.#parts(head)
      const snapshot = bytes === undefined ? undefined : snapshotIn(bytes)
      if (snapshot !== undefined) return snapshot
      // Most likely it was replaced while it was read.
      if (tries === loadTries) await this.#reportDamaged(head)
      else await sleep(loadAgainMs)
    }
    return undefined
  }

  async #reportDamaged(head: SnapshotHead): Promise<void> {
    const entry = await this.#bucket.get(partKey(head, 0))
    if (entry !== undefined) this.#bucket.reportDamaged(entry, new Error('The snapshot cannot be read.'))
  }

  /** The ledger's sequence in the last snapshot; 0 if there is none of this ledger. */
  async sequence(since: string): Promise<number> {
    const head = (await this.#head())?.value
    return head?.since === since ? head.sequence : 0
  }

  /**
   * Resolves with the ledger's sequence in the bucket's snapshot after the call; undefined if that is of another ledger.
   * `ledgerEnd` is read after the head: a head past the ledger's end predates a restore; a head within it was saved by a
   * process that is further along.
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
    const before = known?.value
    const isFurther = before?.since === since && before.sequence >= sequence
    if (isFurther && before.sequence <= end.sequence) return before.sequence
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
    // If the answer was lost, a head that seems to be another process's is our own.
    const isOurs = present?.id === head.id
    await this.#dropParts(isOurs ? known?.value : head)
    if (isOurs) await this.#dropLeftovers(head)
    return present?.since === since ? present.sequence : undefined
  }

  async #head(): Promise<{ value: SnapshotHead | undefined; revision: number } | undefined> {
    const entry = await this.#bucket.get('head')
    if (entry === undefined) return undefined
    // One that is damaged is replaced by the next snapshot.
    return { value: this.#bucket.decoded(entry, headIn), revision: entry.revision }
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

  /** Young parts may belong to a process that is saving now; only old ones are certain to be unused. */
  async #dropLeftovers(head: SnapshotHead): Promise<void> {
    const found = new Map<string, number>()
    for (const key of await this.#bucket.keys('part.>')) {
      const [, id = ''] = key.split('.')
      if (id === head.id) continue
      const sinceMs = this.#unusedSince.get(id) ?? monotonicMs()
      if (monotonicMs() - sinceMs >= leftoverAfterMs) await this.#bucket.forget(key)
      else found.set(id, sinceMs)
    }
    this.#unusedSince = found
  }
}

/** Throws if the value is damaged. */
function headIn(bytes: Uint8Array): SnapshotHead {
  const head = jsonOf<SnapshotHead>(bytes)
  const isWhole =
    isObject(head) &&
    [head.sequence, head.parts].every(Number.isSafeInteger) &&
    [head.since, head.id].every((text) => typeof text === 'string')
  if (isWhole) return head
  throw new Error('The value is no head of a snapshot.')
}

/** Undefined if it is damaged: the ledger is then read without a snapshot. */
function snapshotIn(bytes: Uint8Array): BooksSnapshot | undefined {
  try {
    const snapshot = JSON.parse(gunzipSync(bytes).toString()) as BooksSnapshot
    const { sequence, records, destinations, runs, packs } = snapshot
    const isWhole =
      Number.isSafeInteger(sequence) && isObject(records) && [destinations, runs, packs].every(Array.isArray)
    return isWhole ? snapshot : undefined
  } catch {
    return undefined
  }
}

const partKey = ({ id }: SnapshotHead, part: number): string => `part.${id}.${part}`
