/** Totals of one destination. */
import { type LastOutcomes, noOutcomes } from '../wire/delivery-attempts.js'
import { type DroppedTotals, noneDropped, sumOf } from './dropped.js'

export interface DestinationTotals {
  delivered: number
  dead_lettered: number
  retried: number
  /** For their age. */
  dropped: DroppedTotals
  /** With their packs; part of stored snapshots since it was introduced. */
  vanished: DroppedTotals
  /** Produced in excess of the sources' counts. */
  extra: number
  /** It was deleted, and its undelivered events were dropped. Part of stored snapshots, so the name stays. */
  gone: boolean
  /** Kept after its deletion, so that counters per kind never decrease; null until a deliverer enters it. */
  target: string | null
  last: LastOutcomes
}

export interface DestinationCounts {
  readonly produced: number
  readonly filtered: number
  readonly delivered: number
  readonly dead_lettered: number
  readonly retried: number
  /** For their age, with packs that vanished, or with their destination when it was deleted. */
  readonly dropped: number
  /** Produced, and neither delivered nor dead-lettered nor dropped yet. */
  readonly backlog: number
}

export const newTotals = (): DestinationTotals => ({
  delivered: 0,
  dead_lettered: 0,
  retried: 0,
  dropped: noneDropped,
  vanished: noneDropped,
  extra: 0,
  gone: false,
  target: null,
  last: noOutcomes,
})

export const hasLost = ({ dropped, vanished }: DestinationTotals): boolean =>
  dropped.episode !== null || vanished.episode !== null

export function countsOf(
  { delivered, dead_lettered, retried, dropped: forAge, vanished, gone }: DestinationTotals,
  { produced, filtered }: Pick<DestinationCounts, 'produced' | 'filtered'>,
): DestinationCounts {
  // A fast delivery can be entered before the message that caused it.
  const lost = sumOf(forAge.kinds) + sumOf(vanished.kinds)
  const pending = Math.max(0, produced - delivered - dead_lettered - lost)
  const [dropped, backlog] = gone ? [lost + pending, 0] : [lost, pending]
  return { produced, filtered, delivered, dead_lettered, dropped, retried, backlog }
}
