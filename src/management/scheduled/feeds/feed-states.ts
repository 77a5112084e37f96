/**
 * How the fetches of IP lists from their sources went, in a bucket of its own: these states change with every fetch, and a
 * fetch is no change of the list.
 *
 * The entry of a list also says whether a process fetches it: a process **claims** the list by a compare-and-set, and writes
 * its claim again every few seconds. Others see that the entry changes. If it does not for 12 s, its process has died, and
 * another one fetches the list: no clock is compared with that of another machine. All API processes follow the bucket and
 * show what is in it.
 */

import { feedsBucket } from '../../../delivery/wire/names.js'
import { jsonOf } from '../../../ground/core/bytes.js'
import { every, monotonicMs, now } from '../../../ground/core/clock.js'
import type { Bucket, BucketEntry } from '../../../ground/nats/bucket.js'
import { EntryFollower } from '../../../ground/nats/bucket-follower.js'
import type { Nats } from '../../../ground/nats/nats.js'
import type { FeedErrorCode } from '../../../words/resource/fields/ip-list-source.js'

/** Times are in milliseconds since the epoch. */
export interface FeedState {
  /** The identity of the source that it is about. */
  readonly of: string
  /** Since when the list has this source. */
  readonly since_ms: number
  readonly fetched_ms: number | null
  readonly changed_ms: number | null
  readonly etag: string | null
  readonly last_modified: string | null
  /** A hash of what was fetched last without a fault. */
  readonly content: string | null
  /**
   * A hash of what was fetched last, if it could not be read: the same is not read again. Missing in states of earlier
   * versions.
   */
  readonly refused?: string | null
  /** A hash of the parts of the list that it became. If the list has others, it must be fetched whatever the server says. */
  readonly parts: string | null
  /** Fetches that failed, one after the other. */
  readonly failures: number
  readonly error: { readonly code: FeedErrorCode; readonly message: string; readonly since_ms: number } | null
  readonly next_ms: number
  /** Until then, one process alone may fetch it, as earlier versions read it; null if none does. */
  readonly claimed_ms: number | null
}

/** Some 1 KiB for each list, up to 3 KiB if an error is long. */
const bucketBytesMax = 8 * 1024 * 1024
/** A call of the bucket is retried for so long. */
const patienceMs = 5_000

/** A claim that was not written again for so long is that of a process that died. */
const claimMs = 12_000
const claimAgainMs = 3_000

interface Claim {
  /** Writes what is known of the list now, unless another process has claimed it meanwhile. */
  end(state: FeedState): Promise<void>
  /** Without a new state: the claim ends by itself. */
  stop(): void
}

interface Known {
  readonly revision: number
  readonly state: FeedState | undefined
}

export class FeedStates {
  readonly #bucket: () => Promise<Bucket>
  readonly #known = new Map<string, FeedState>()
  /**
   * By list: the revision of what this process wrote, until its entry has come. Those before it are older than what is
   * known.
   */
  readonly #awaited = new Map<string, number>()
  /** By list: its last revision that was seen here, and when, on the monotonic clock. */
  readonly #changes = new Map<string, { readonly revision: number; readonly atMs: number }>()
  /** The revision of the last entry that came. */
  #seen = 0
  #follower: EntryFollower | undefined

  /** `bucket`: creates it if NATS has lost it. */
  constructor(bucket: () => Promise<Bucket>) {
    this.#bucket = bucket
  }

  /** Resolves when what is in the bucket is known. */
  async follow(bucket: Bucket): Promise<void> {
    this.#follower = new EntryFollower(bucket, (entry) => this.#take(entry))
    await this.#follower.open()
  }

  #take({ key, value, revision }: BucketEntry): void {
    this.#seen = revision
    this.#note(key, revision)
    if (revision < (this.#awaited.get(key) ?? 0)) return
    this.#awaited.delete(key)
    const state = value && stateIn(value)
    if (value === undefined) this.#changes.delete(key)
    if (state === undefined) this.#known.delete(key)
    else this.#known.set(key, state)
  }

  /** As far as this process knows. */
  get(listId: string): FeedState | undefined {
    return this.#known.get(listId)
  }

  get lists(): IterableIterator<string> {
    return this.#known.keys()
  }

  /** As it is in the bucket. */
  async read(listId: string): Promise<Known> {
    const bucket = await this.#bucket()
    const entry = await bucket.get(listId)
    const revision = entry?.revision ?? 0
    this.#note(listId, revision)
    return { revision, state: bucket.decoded(entry, stateIn) }
  }

  #note(listId: string, revision: number): void {
    if (revision > (this.#changes.get(listId)?.revision ?? 0))
      this.#changes.set(listId, { revision, atMs: monotonicMs() })
  }

  /** Does a process that lives fetch the list in this state? */
  isClaimed(listId: string, state: FeedState | undefined): boolean {
    const changedMs = this.#changes.get(listId)?.atMs ?? Number.NEGATIVE_INFINITY
    return (state?.claimed_ms ?? null) !== null && monotonicMs() - changedMs < claimMs
  }

  /** Claims a list, and keeps the claim until it is ended; undefined if another process wrote first. */
  async claim(listId: string, state: FeedState, revision: number): Promise<Claim | undefined> {
    const claimed = () => ({ ...state, claimed_ms: now() + claimMs })
    let held = await this.replace(listId, claimed(), revision)
    if (held === undefined) return undefined
    let writing = Promise.resolve()
    const again = async (): Promise<void> => {
      // Without an answer the next one tries again; if another process has the list, the revision is not the last one any
      // more.
      held = (await this.replace(listId, claimed(), held!).catch(() => held)) ?? held
    }
    const timer = every(claimAgainMs, () => {
      writing = writing.then(again)
      return writing
    })
    return {
      stop: () => timer.stop(),
      end: async (ended) => {
        timer.stop()
        await writing
        await this.replace(listId, ended, held!)
      },
    }
  }

  /** Compare-and-set: the new revision, or undefined if another process wrote first. */
  async replace(listId: string, state: FeedState, revision: number): Promise<number | undefined> {
    const written = await (await this.#bucket()).replace(listId, JSON.stringify(state), revision)
    if (written === undefined) return undefined
    this.#note(listId, written)
    this.#known.set(listId, state)
    if (written > this.#seen) this.#awaited.set(listId, written)
    return written
  }

  /** For lists that are gone. */
  async forget(listId: string): Promise<void> {
    await (await this.#bucket()).forget(listId)
    this.#known.delete(listId)
    this.#changes.delete(listId)
  }

  close(): void {
    this.#follower?.close()
  }
}

/** The latest time that a date can hold. */
const timeMaxMs = 8_640_000_000_000_000

const isTime = (value: unknown): boolean => Number.isInteger(value) && Math.abs(value as number) <= timeMaxMs
const isTimeOrNull = (value: unknown): boolean => value === null || isTime(value)

/** Throws if the entry is damaged: the list is then fetched like a new one. */
function stateIn(value: Uint8Array): FeedState {
  const state = jsonOf<FeedState>(value)
  const { of, since_ms, fetched_ms, changed_ms, next_ms, claimed_ms, error } = state
  const areTimes =
    [since_ms, next_ms].every(isTime) && [fetched_ms, changed_ms, claimed_ms].every(isTimeOrNull)
  const isWhole = typeof of === 'string' && (error === null || isTime(error.since_ms))
  if (areTimes && isWhole) return state
  throw new Error('The value is no state of a feed.')
}

/** For the API, which creates the bucket. `bytesMax`: of any small bucket. */
export async function openFeedStates(nats: Pick<Nats, 'openBucket'>, bytesMax: number): Promise<FeedStates> {
  // It shares the room of one bucket with the destinations that are behind (`wire/streams.ts`).
  const bucket = () =>
    nats.openBucket(feedsBucket, Math.min(Math.floor(bytesMax / 4), bucketBytesMax), { patienceMs })
  const states = new FeedStates(bucket)
  await states.follow(await bucket())
  return states
}
