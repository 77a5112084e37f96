/**
 * Events of a destination that it will never get: how many of each kind, and what is known of the last **episode**. Within
 * an episode, less than an hour passes from one drop to the next.
 */
import { unknownKind } from '../wire/event-template.js'
import { parseSegments } from '../wire/pack-message.js'
import type { DroppedEvents } from './ledger.js'
import type { OpenPack } from './open-pack.js'

/**
 * - `age`: a deliverer dropped them, because they had become older than the retention.
 * - `vanished`: their packs left the stream of deliveries in another way. Someone purged it or deleted messages, or it was
 *   recreated or restored to an earlier state.
 */
export const dropReasons = ['age', 'vanished'] as const
export type DropReason = (typeof dropReasons)[number]

export type KindCounts = Readonly<Record<string, number>>

interface DropEpisode {
  /** When its first and its last events were dropped: milliseconds since the epoch, as are the other times. */
  readonly beganAt: number
  readonly endedAt: number
  readonly kinds: KindCounts
  /** The times of its oldest and its newest event. */
  readonly first: number
  readonly last: number
}

export interface DroppedTotals {
  readonly kinds: KindCounts
  /** Null if nothing was dropped ever. */
  readonly episode: DropEpisode | null
}

interface DroppedByReason {
  dropped: DroppedTotals
  vanished: DroppedTotals
}

export const noneDropped: DroppedTotals = { kinds: {}, episode: null }

const episodeGapMs = 60 * 60_000

export const sumOf = (kinds: KindCounts): number =>
  Object.values(kinds).reduce((sum, count) => sum + count, 0)

/**
 * Adds the dropped events of a pack to the totals of its destination, and returns how many these are: those of the messages
 * whose events the pack counts, all if `sequences` is null, and no more than `max`.
 */
export function addDropped(
  totals: DroppedByReason,
  dropped: DroppedEvents | undefined,
  sequences: readonly number[] | null,
  max: number,
): number {
  if (dropped === undefined) return 0
  const kinds = countedOf(dropped, sequences, max)
  const events = sumOf(kinds)
  if (events > 0) totals.dropped = withDropped(totals.dropped, kinds, dropped)
  return events
}

/**
 * Adds the events of a pack that vanished. Of a pack that counts only some of its events, the kinds of these are not known:
 * the first ones are taken. That needs a pipeline that was killed, and two kinds in a pack.
 */
export function addVanished(
  totals: DroppedByReason,
  { events, kinds = [], first, last }: OpenPack,
  at: number,
): void {
  const counts: Record<string, number> = {}
  let left = events
  for (const [kind, count] of [...kinds, [unknownKind, left] as const]) {
    if (left > 0) counts[kind] = (counts[kind] ?? 0) + Math.min(left, count)
    left -= Math.min(left, count)
  }
  totals.vanished = withDropped(totals.vanished, counts, { first: first ?? at, last: last ?? at, at })
}

function countedOf({ kinds }: DroppedEvents, sequences: readonly number[] | null, max: number): KindCounts {
  const counted = sequences && new Set(sequences)
  const counts: Record<string, number> = {}
  let left = max
  for (const [kind, segments] of kinds) {
    let events = 0
    for (const { range, events: ofEach } of parseSegments(segments))
      for (let sequence = range[0]; sequence <= range[1]; sequence += 1)
        if (counted === null || counted.has(sequence)) events += ofEach
    const count = Math.min(left, events)
    left -= count
    if (count > 0) counts[kind] = count
  }
  return counts
}

function withDropped(
  { kinds, episode }: DroppedTotals,
  more: KindCounts,
  { first, last, at }: Pick<DroppedEvents, 'first' | 'last' | 'at'>,
): DroppedTotals {
  const known =
    episode !== null && at - episode.endedAt < episodeGapMs
      ? episode
      : { beganAt: at, endedAt: at, kinds: {}, first, last }
  return {
    kinds: added(kinds, more),
    episode: {
      beganAt: known.beganAt,
      endedAt: Math.max(known.endedAt, at),
      kinds: added(known.kinds, more),
      first: Math.min(known.first, first),
      last: Math.max(known.last, last),
    },
  }
}

function added(counts: KindCounts, more: KindCounts): KindCounts {
  const sums: Record<string, number> = { ...counts }
  for (const [kind, count] of Object.entries(more)) sums[kind] = (sums[kind] ?? 0) + count
  return sums
}
