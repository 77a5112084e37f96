/** Totals of one destination. */
import { type LastOutcomes, noOutcomes } from '../wire/last-outcomes.js'

export interface DestinationTotals {
  delivered: number
  dead_lettered: number
  retried: number
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
  readonly dropped: number
  /** Produced, and neither delivered nor dead-lettered yet. */
  readonly backlog: number
}

export const newTotals = (): DestinationTotals => ({
  delivered: 0,
  dead_lettered: 0,
  retried: 0,
  extra: 0,
  gone: false,
  target: null,
  last: noOutcomes,
})

export function countsOf(
  { delivered, dead_lettered, retried, gone }: DestinationTotals,
  { produced, filtered }: Pick<DestinationCounts, 'produced' | 'filtered'>,
): DestinationCounts {
  // A fast delivery can be entered before the message that caused it.
  const pending = Math.max(0, produced - delivered - dead_lettered)
  const [dropped, backlog] = gone ? [pending, 0] : [0, pending]
  return { produced, filtered, delivered, dead_lettered, retried, dropped, backlog }
}
