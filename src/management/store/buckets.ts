/** The buckets an API process writes to, and how it does. */

import { bucketNames } from '../../delivery/wire/names.js'
import { jsonOf } from '../../ground/core/bytes.js'
import { isObject } from '../../ground/core/json-object.js'
import { answerAgeMaxMs } from '../../ground/core/limits.js'
import type { Bucket, BucketOptions } from '../../ground/nats/bucket.js'
import type { Nats } from '../../ground/nats/nats.js'

export interface StoreBuckets {
  readonly config: Bucket
  readonly secrets: Bucket
  readonly heads: Bucket
  readonly claims: Bucket
  readonly idempotency: Bucket
}

/** A client waits for the write, so it fails if NATS is away for longer. */
const patienceMs = 5_000

/** Creates the buckets that are missing. */
export async function openBuckets(nats: Nats, bytesMax: number): Promise<StoreBuckets> {
  const open = (name: string, options: BucketOptions = {}) =>
    nats.openBucket(name, bytesMax, { patienceMs, isFilledByOwner: true, ...options })
  return {
    config: await open(bucketNames.config),
    secrets: await open(bucketNames.secrets),
    heads: await open(bucketNames.heads),
    claims: await open(bucketNames.claims),
    idempotency: await open(bucketNames.idempotency, { ageMaxMs: answerAgeMaxMs }),
  }
}

/** A key's last revision and its value; the value is undefined if there is none. */
interface Known<T> {
  readonly revision: number
  readonly value: T | undefined
}

/** Throws if the value is damaged; a writer replaces it then, like one that is not there. */
function objectIn(bytes: Uint8Array): object {
  const value = jsonOf(bytes)
  if (isObject(value)) return value
  throw new Error('The value is no object.')
}

/**
 * Writes keys of a change into a bucket.
 *
 * Every write is a compare-and-set on the revision it replaces. A writer that was overtaken (it stalled, another
 * process finished its change, and a newer change followed) therefore fails, sees that its change is done, and stops.
 */
export class BucketWriter {
  readonly #bucket: Bucket
  /** Is the whole change known to be in the bucket? */
  readonly isDone: () => Promise<boolean>

  constructor(bucket: Bucket, isDone: () => Promise<boolean>) {
    this.#bucket = bucket
    this.isDone = isDone
  }

  /**
   * Replaces the value of a key by what `next` returns, unless that is undefined. `known`: its entry before the change
   * was done. Without it the key is read first, and only then is it checked whether the change is done, so no attempt
   * can overwrite the value of a later change.
   */
  async write<T>(
    key: string,
    next: (current: T | undefined) => T | undefined,
    known?: Known<T>,
  ): Promise<void> {
    for (let current = known; ; current = undefined) {
      const before = current ?? (await this.#read<T>(key))
      if (before === undefined) return
      const value = next(before.value)
      if (value === undefined) return
      if ((await this.#bucket.replace(key, JSON.stringify(value), before.revision)) !== undefined) return
    }
  }

  /** Deletes a key. A late deletion is harmless because ids are never reused. */
  async remove(key: string, knownRevision = 0): Promise<void> {
    for (let revision = knownRevision; ; revision = 0) {
      if (revision > 0 && (await this.#bucket.remove(key, revision))) return
      const current = await this.#read(key)
      if (current?.value === undefined) return
      if (await this.#bucket.remove(key, current.revision)) return
    }
  }

  /** Undefined if there is nothing left to do. */
  async #read<T>(key: string): Promise<Known<T> | undefined> {
    const entry = await this.#bucket.get(key)
    if (await this.isDone()) return undefined
    return { revision: entry?.revision ?? 0, value: this.#bucket.decoded(entry, objectIn) as T | undefined }
  }
}
