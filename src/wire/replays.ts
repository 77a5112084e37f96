/**
 * Replays, as they are in their bucket: `replay.<account>.<id>`. The API writes a replay when someone begins or cancels
 * it; pipelines do it together, and write how far they are. All write by compare-and-set.
 */
import { jsonOf } from '../core/bytes.js'
import type { Bucket, BucketEntry } from '../nats/bucket.js'

export const replayIdPrefix = 'rp_'

export interface StoredReplay {
  readonly id: string
  readonly account_id: string
  readonly destination_id: string
  /** Times of records: RFC 3339 in UTC, with milliseconds. */
  readonly from: string
  readonly to: string
  readonly filter: string | null
  /** Kinds of events; null or missing: all. */
  readonly types?: readonly string[] | null
  /** Kinds whose events the filter keeps back, because they lack its names. */
  readonly types_left_out?: readonly string[]
  /** Its events only: it was created with a start in the past. */
  readonly subscription_id?: string
  /** Until then the replay has no end: records that come in are replayed, too. RFC 3339. */
  readonly open_until?: string
  readonly state: 'running' | 'done' | 'cancelled' | 'failed'
  readonly created_at: string
  readonly ended_at: string | null
  /** One sentence, if it failed. */
  readonly error: string | null
  /** The stream of records, and the messages of it that are replayed: sequences, both included. */
  readonly stream: string
  readonly first: number
  readonly last: number
  /** Everything up to here is replayed. */
  readonly done: number
}

export const replayKey = ({ account_id, id }: Pick<StoredReplay, 'account_id' | 'id'>): string =>
  `replay.${account_id}.${id}`

/** The replay of an entry; undefined for a deletion. */
export const replayIn = ({ value }: BucketEntry): StoredReplay | undefined =>
  value === undefined ? undefined : jsonOf<StoredReplay>(value)

/** Changes a running replay; resolves with what is stored then, changed by this call or by another. */
export async function changeReplay(
  bucket: Pick<Bucket, 'get' | 'replace'>,
  key: string,
  change: (running: StoredReplay) => StoredReplay,
): Promise<StoredReplay | undefined> {
  for (;;) {
    const entry = await bucket.get(key)
    const present = entry && replayIn(entry)
    if (entry === undefined || present?.state !== 'running') return present
    const changed = change(present)
    if (JSON.stringify(changed) === JSON.stringify(present)) return present
    if ((await bucket.replace(key, JSON.stringify(changed), entry.revision)) !== undefined) return changed
  }
}
