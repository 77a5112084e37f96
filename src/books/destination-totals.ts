/** What the books know of one destination. */
import { type LastOutcomes, noOutcomes } from '../wire/last-outcomes.js'

export interface DestinationTotals {
  delivered: number
  dead_lettered: number
  retried: number
  /** Produced beyond what the sources say. */
  extra: number
  /** It was deleted: what is not delivered was dropped. */
  gone: boolean
  /** Its kind outlives it, so that the counters of the kind never step back; null until a deliverer has told it. */
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
  /** Produced, and not come to an end. */
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
  // A quick delivery can be entered before the message that caused it is.
  const unended = Math.max(0, produced - delivered - dead_lettered)
  const [dropped, backlog] = gone ? [unended, 0] : [0, unended]
  return { produced, filtered, delivered, dead_lettered, retried, dropped, backlog }
}
