/**
 * What requests under an idempotency key were answered.
 *
 * An answer stands in the change that its request made, and is written here before that change is marked done: whoever
 * writes to the account next, in whichever process, finds it. Answers are no configuration: they are forgotten when
 * they are old, and with the bucket, which ClickHouse can't fill again.
 */
import { badRequest } from '../core/errors.js'
import { hash128 } from '../core/ids.js'
import type { Bucket } from '../nats/bucket.js'

/** What a write is answered. */
export interface Answer {
  readonly status: 200 | 201 | 204
  /** Where a new resource is. */
  readonly location?: string
  readonly body?: object
  /** Members of the body that are told once, such as a token: they are never kept. */
  readonly once?: object
}

/** A request that may come again. */
export interface RequestKey {
  /** The account's key, in the bucket's spelling. */
  readonly key: string
  /** Tells one request from another. */
  readonly request: string
}

/** An answer as a change and the bucket hold it. */
export interface KeptAnswer extends RequestKey {
  readonly answer: Answer
}

/** A commit whose request may come again. */
export interface Repeatable<T> {
  /** What the request was answered before. */
  before(): Promise<T | undefined>
  kept(result: T): KeptAnswer
}

/** The key of an account's request, whose text says all that makes it this one. */
export const requestKey = (accountId: string, key: string, request: string): RequestKey => ({
  key: hash128(accountId, key),
  request: hash128(request),
})

export const keptAnswer = ({ key, request }: RequestKey, { once: _, ...answer }: Answer): KeptAnswer => ({
  key,
  request,
  answer,
})

export class Answers {
  readonly #bucket: Bucket

  constructor(bucket: Bucket) {
    this.#bucket = bucket
  }

  /** What the request was answered before; a `WeirError` where the key stands for another request. */
  async find({ key, request }: RequestKey): Promise<Answer | undefined> {
    const entry = await this.#bucket.get(key)
    if (entry?.value === undefined) return undefined
    const kept = JSON.parse(Buffer.from(entry.value).toString()) as KeptAnswer
    if (kept.request === request) return kept.answer
    throw badRequest(
      'The header "Idempotency-Key" was given with another request before: a key stands for one method, path and body.',
    )
  }

  /** Written once: whoever carries the change out again finds it there. */
  async keep(kept: KeptAnswer): Promise<void> {
    await this.#bucket.replace(kept.key, JSON.stringify(kept), 0)
  }
}
