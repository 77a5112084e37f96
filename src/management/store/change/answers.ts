/**
 * Answers to requests that carry an idempotency key.
 *
 * An answer is part of the change that its request made, and is written here before that change is marked done, so the
 * account's next writer finds it, in any process. Answers are not configuration: they expire, and are lost with the
 * bucket, which ClickHouse can't refill.
 */
import { jsonOf } from '../../../ground/core/bytes.js'
import { badRequest } from '../../../ground/core/errors.js'
import { hash128 } from '../../../ground/core/ids.js'
import { isObject } from '../../../ground/core/json-object.js'
import type { Bucket } from '../../../ground/nats/bucket.js'
import { unknown } from './outcome.js'

/** The answer to a write. */
export interface WriteAnswer {
  readonly status: 200 | 201 | 202 | 204
  /** Path of a new resource. */
  readonly location?: string
  readonly body?: object
  /** Members of the body that are returned once, such as a token; never stored. */
  readonly once?: object
  /** Sentences about what was written and has no effect at present. */
  readonly warnings?: readonly string[]
}

/** A request that may be repeated. */
export interface RequestKey {
  /** The account's key, in the bucket's spelling. */
  readonly key: string
  /** Hash that distinguishes requests. */
  readonly request: string
}

/** An answer as it is stored in a change and in the bucket. */
export interface StoredAnswer extends RequestKey {
  readonly answer: WriteAnswer
}

/** A commit whose request may be repeated. */
export interface Repeatable<T> {
  readonly request: RequestKey
  /** The first answer to the request. */
  before(): Promise<T | undefined>
  kept(result: T): StoredAnswer
}

/** `request`: text with everything that makes this request differ from others. */
export const requestKey = (accountId: string, key: string, request: string): RequestKey => ({
  key: hash128(accountId, key),
  request: hash128(request),
})

export const storedAnswer = (
  { key, request }: RequestKey,
  { once: _, ...answer }: WriteAnswer,
): StoredAnswer => ({
  key,
  request,
  answer,
})

export class Answers {
  readonly #bucket: Bucket

  constructor(bucket: Bucket) {
    this.#bucket = bucket
  }

  /** The first answer to the request; a `WeirError` if the key belongs to another request, or that is unknown. */
  async find({ key, request }: RequestKey): Promise<WriteAnswer | undefined> {
    const entry = await this.#bucket.get(key).catch((error: unknown) => {
      throw unknown('it was not read whether the request was made before', error)
    })
    const stored = this.#bucket.decoded(entry, storedIn)
    return stored && answerTo({ key, request }, stored)
  }

  /** Writes the answer once: carrying the change out again finds it there. */
  async keep(kept: StoredAnswer): Promise<void> {
    const text = JSON.stringify(kept)
    if ((await this.#bucket.replace(kept.key, text, 0)) !== undefined) return
    const entry = await this.#bucket.get(kept.key)
    const isDamaged = entry?.value !== undefined && this.#bucket.decoded(entry, storedIn) === undefined
    if (isDamaged) await this.#bucket.replace(kept.key, text, entry.revision)
  }
}

/** Throws if the value is damaged: the answer is lost then, like one that has expired. */
function storedIn(value: Uint8Array): StoredAnswer {
  const stored = jsonOf<StoredAnswer>(value)
  if (isObject(stored) && typeof stored.request === 'string' && isObject(stored.answer)) return stored
  throw new Error('The value is no stored answer.')
}

/** The answer that is stored for a key, if it is that of this request; otherwise throws a `WeirError`. */
export function answerTo({ request }: RequestKey, stored: StoredAnswer): WriteAnswer {
  if (stored.request === request) return stored.answer
  throw badRequest(
    'This "Idempotency-Key" was used with another request before: use a new key for each method, path and body.',
  )
}
