/**
 * Replays, as they are in their bucket. The API writes a replay when someone begins or cancels it; pipelines do it
 * together, and write how far they are.
 */
import { jsonOf } from '../../ground/core/bytes.js'
import type { JobKind } from './job-bucket.js'
import { replaysBucket } from './names.js'

export const replayIdPrefix = 'rp_'

/**
 * A pipeline may evaluate records without a new subscription for so long. A lost watch of the configuration is noticed
 * within 20 s and resumed.
 */
export const replaySeamMs = 30_000

export interface StoredReplay extends ReplayedPart {
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
  /**
   * Set while the replay has no end: records that come in are replayed, too. RFC 3339, as the clock of the API has it; a
   * pipeline ends it when it has known the replay for `replaySeamMs`.
   */
  readonly open_until?: string
  readonly state: 'running' | 'done' | 'cancelled' | 'failed'
  readonly created_at: string
  readonly ended_at: string | null
  /** One sentence, if it failed. */
  readonly error: string | null
  /** The parts in partitions 1 and above; missing if there is none. */
  readonly more?: readonly NumberedPart[]
}

/** The messages of a partition that are replayed; those of a replay itself are in partition 0. */
export interface ReplayedPart {
  /** The identity of the stream of records. */
  readonly stream: string
  /** Sequences, both included. */
  readonly first: number
  readonly last: number
  /** Everything up to here is replayed. */
  readonly done: number
}

/** With the number of its partition. */
export interface NumberedPart extends ReplayedPart {
  readonly partition: number
}

/** The parts of a replay. */
export const replayedParts = (replay: StoredReplay): readonly NumberedPart[] => {
  const { stream, first, last, done, more = [] } = replay
  return [{ partition: 0, stream, first, last, done }, ...more]
}

/** The replay with these parts instead. */
export function withParts(
  replay: Omit<StoredReplay, keyof ReplayedPart | 'more'>,
  [own, ...more]: readonly NumberedPart[],
): StoredReplay {
  const { stream, first, last, done } = own!
  return { ...replay, stream, first, last, done, ...(more.length > 0 && { more }) }
}

export const replayJobs: JobKind<StoredReplay> = {
  name: 'replay',
  idPrefix: replayIdPrefix,
  bucket: replaysBucket,
  bytesMax: 8 * 1024 * 1024,
  ageMaxMs: 7 * 24 * 60 * 60_000,
  encode: (replay) => JSON.stringify(replay),
  decode: jsonOf,
}
