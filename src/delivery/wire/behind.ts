/**
 * A destination is **behind** when its backlog has filled its share of `WEIR_DELIVERIES`. From then on, pipelines store
 * no packs for it: its records wait in the stream of records, and are processed for it later.
 *
 * Its entry in the bucket, under its id, holds **windows** of the sequences of records. A pipeline leaves the
 * destination out of a message only if a window of an entry that it has read contains the message, and the entry stays
 * until every message of its windows was processed for the destination. Windows never shrink, so a pipeline with an old
 * entry, after a freeze or a lost watch, leaves out less, never more: its events may arrive twice, none is lost. No clock
 * decides anything. While the destination is behind, its last window is extended some seconds ahead of the traffic.
 *
 * Each partition has sequences of its own, so a destination has an entry for each.
 *
 * Entries are written by compare-and-set; each pipeline tries, and one succeeds.
 */
import { jsonOf } from '../../ground/core/bytes.js'
import type { Bucket, BucketEntry, Closable } from '../../ground/nats/bucket.js'
import { BucketFollower } from '../../ground/nats/bucket-follower.js'
import { type Partition, partitionNumbered, partitionsMax, partitionsUpTo } from './partitions.js'

/** Sequences: the first one, and the one after the last. */
export type Window = readonly [from: number, until: number]

export interface BehindDestination {
  /** The id of the catch-up. It names the consumer, and the input in the books. */
  readonly id: string
  readonly account_id: string
  readonly destination_id: string
  /** The partition of the records; missing: 0. */
  readonly partition?: number
  /** When it fell behind: RFC 3339 in UTC, with milliseconds. */
  readonly since: string
  /** The run of the sequences of records: they begin again when the stream is recreated. */
  readonly run: string
  /** Ascending and disjoint. */
  readonly windows: readonly Window[]
  /** Everything up to here is processed for it, or was removed before. */
  readonly done: number
  /** Messages of the windows that left the stream of records before they were processed for it. */
  readonly missed: number
}

/** The key of the entry of a destination for the records of a partition. */
export const behindKey = (destinationId: string, partition: number): string =>
  partition === 0 ? destinationId : `${destinationId}.${partition}`

/** The partition of the records that wait. */
export const partitionOf = ({ partition = 0 }: Pick<BehindDestination, 'partition'>): Partition =>
  partitionNumbered(partition)!

/** The entry of a destination; undefined for a deletion. Throws if it is damaged. */
export function behindIn({ value }: BucketEntry): BehindDestination | undefined {
  if (value === undefined) return undefined
  const entry = jsonOf<BehindDestination>(value)
  const { id, account_id, destination_id, run, windows, done } = entry
  const areTexts = [id, account_id, destination_id, run].every((text) => typeof text === 'string')
  if (areTexts && Array.isArray(windows) && windows.every(isWindow) && Number.isSafeInteger(done))
    return entry
  throw new Error('The value is no entry of a destination that is behind.')
}

const isWindow = (window: unknown): boolean =>
  Array.isArray(window) && window.length === 2 && window.every(Number.isSafeInteger)

type Windows = BehindDestination['windows']

export const covers = (windows: Windows, sequence: number): boolean =>
  windows.some(([from, until]) => from <= sequence && sequence < until)

/** The end of the last window. */
export const untilOf = (windows: Windows): number => windows.at(-1)?.[1] ?? 0

/** Messages of the windows with a sequence above `after`, up to `last`. */
export const messagesWithin = (windows: Windows, after: number, last: number): number =>
  windows.reduce(
    (sum, [from, until]) => sum + Math.max(0, Math.min(until - 1, last) - Math.max(from - 1, after)),
    0,
  )

/** The first message that is not done yet. */
export const firstWaiting = ({ windows, done }: Pick<BehindDestination, 'windows' | 'done'>): number =>
  Math.max(done + 1, windows[0]?.[0] ?? 0)

/** The progress of the live pipelines. */
export interface LivePosition {
  /** The last message that was delivered to a pipeline. */
  readonly delivered: number
  readonly messagesPerSecond: number
  /**
   * A new window begins with this message, although other pipelines may not know it yet; events of messages that they
   * process before they do arrive twice. Undefined: the window may begin once every pipeline knows it.
   */
  readonly from?: number | undefined
}

/** A new window begins so far ahead: until then, every pipeline has read the entry, and nothing is stored twice. */
const leadSeconds = 1
const windowSeconds = 5
/** A window is extended when so much of it is left. */
const extendSeconds = 3
const windowMessagesMin = 16
const windowsMax = 50

const windowEnd = ({ delivered, messagesPerSecond }: LivePosition): number =>
  delivered + windowMessagesMin + Math.ceil(messagesPerSecond * (leadSeconds + windowSeconds))

/** Windows that are not done yet. */
export const undone = (windows: Windows, done: number): Windows =>
  windows.filter(([, until]) => until > done + 1)

export const newWindow = (live: LivePosition): Window => [
  live.from ?? live.delivered + 1 + Math.ceil(live.messagesPerSecond * leadSeconds),
  windowEnd(live) + 1,
]

/**
 * The windows of a destination whose share is still full: the last window extended, or a new one if the traffic has
 * passed its end. Messages between two windows were not left out, and belong to none; if there are too many windows, the
 * last one takes those messages in, and their events arrive twice.
 */
export function extended(windows: Windows, live: LivePosition): Windows {
  const last = windows.at(-1)
  const isPassed = last === undefined || last[1] <= live.delivered
  if (last === undefined) return [newWindow(live)]
  if (isPassed && windows.length < windowsMax) {
    const [from, until] = newWindow(live)
    return [...windows, [Math.max(from, last[1]), until]]
  }
  const left = last[1] - live.delivered
  if (left > Math.max(windowMessagesMin / 2, live.messagesPerSecond * extendSeconds)) return windows
  return [...windows.slice(0, -1), [last[0], Math.max(last[1], windowEnd(live) + 1)]]
}

export interface StoredBehind {
  readonly entry: BehindDestination
  readonly revision: number
}

/** The entries of all destinations that are behind, as the bucket has them now. */
export class BehindEntries implements Closable {
  readonly #follower: BucketFollower
  readonly #ended: (entry: BehindDestination) => void
  /** By key. */
  readonly #stored = new Map<string, StoredBehind>()
  /** Resolves when the whole bucket was read. */
  readonly read: Promise<void>
  #isComplete = false

  /**
   * `ended`: called with an entry that was removed, or replaced by one with another id. `lost`: whether one that NATS lost
   * with its bucket stays, with the revision 0, for the caller to put it back; else it has ended.
   */
  constructor(
    bucket: Bucket,
    ended: (entry: BehindDestination) => void = () => {},
    lost: 'stays' | 'ends' = 'ends',
  ) {
    this.#ended = ended
    let complete = (): void => {}
    this.read = new Promise((resolve) => {
      complete = resolve
    })
    this.#follower = new BucketFollower(bucket, {
      begin: () => {
        const read = new Set<string>()
        return {
          entry: (entry) => {
            read.add(entry.key)
            this.#adapt(entry)
          },
          // The bucket may be another one than that of the last pass.
          current: () => {
            for (const [key, { entry }] of this.#stored) {
              if (read.has(key)) continue
              if (lost === 'stays') this.#stored.set(key, { entry, revision: 0 })
              else this.#end(key)
            }
            this.#isComplete = true
            complete()
          },
        }
      },
    })
  }

  open(): Promise<void> {
    return this.#follower.open()
  }

  #adapt(stored: BucketEntry): void {
    const entry = behindIn(stored)
    if (entry?.id !== this.#stored.get(stored.key)?.entry.id) this.#end(stored.key)
    if (entry !== undefined) this.#stored.set(stored.key, { entry, revision: stored.revision })
  }

  #end(key: string): void {
    const known = this.#stored.get(key)
    this.#stored.delete(key)
    if (known !== undefined) this.#ended(known.entry)
  }

  /** The whole bucket was read. */
  get isComplete(): boolean {
    return this.#isComplete
  }

  get size(): number {
    return this.#stored.size
  }

  of(destination: string, partition: number): StoredBehind | undefined {
    return this.withKey(behindKey(destination, partition))
  }

  withKey(key: string): StoredBehind | undefined {
    return this.#stored.get(key)
  }

  /** Its entries for all partitions. */
  ofDestination(destination: string): BehindDestination[] {
    if (this.#stored.size === 0) return []
    return partitionsUpTo(partitionsMax).flatMap(({ number }) => this.of(destination, number)?.entry ?? [])
  }

  all(): Iterable<StoredBehind> {
    return this.#stored.values()
  }

  close(): void {
    this.#follower.close()
  }
}
