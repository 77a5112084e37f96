/** Sums of decisions over time: what is asked for, and what comes. */
import type { DecisionRow } from '../../wire/decision-rows.js'

export interface CountsQuery {
  readonly accountId: string
  /** `none`: all together. */
  readonly dimension: string
  /** Whose decisions are counted by word. */
  readonly source: DecisionRow['source']
  /** A number of minutes. */
  readonly intervalMs: number
  readonly sinceMs: number
  readonly untilMs: number
  /** How many values are listed: those with the most records. */
  readonly valuesMax: number
}

export interface CountRow {
  /** The start of the interval. */
  readonly at: number
  readonly value: string
  readonly allow: number
  readonly block: number
  readonly deny: number
  readonly bytes_in: number
  readonly bytes_out: number
  /** All questions, whatever is counted by word. */
  readonly asked: number
}

export interface Counts {
  readonly counts: readonly CountRow[]
  readonly valuesLeftOut: number
}
