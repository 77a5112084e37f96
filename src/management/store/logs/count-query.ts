/** Sums over time: queries, their results, and how they are read. */
import type { DecisionRow } from '../../../delivery/wire/decision-rows.js'
import type { LogQueries } from './log-queries.js'
import type { Selection } from './log-selection.js'
import type { RowTime } from './row-times.js'

export interface CountsQuery {
  readonly accountId: string
  /** `none`: all together. */
  readonly dimension: string
  /** Decisions about these are counted as `allow`, `block` and `deny`. */
  readonly sources: readonly DecisionRow['source'][]
  /** Default: when rows were stored. */
  readonly time?: RowTime | undefined
  /** A number of minutes. */
  readonly intervalMs: number
  readonly sinceMs: number
  readonly untilMs: number
  /** The number of values to list: those with the most records. */
  readonly valuesMax: number
  /** Only these decisions are counted. */
  readonly selection?: Selection | undefined
}

/** The part of the sums that answers a query. */
export interface SummedPart {
  readonly dimension: string
  /** Only these values of the dimension. */
  readonly chosen: readonly string[] | undefined
}

/** The dimensions of the sums, by the column that selects one of their values. */
const summedColumns: Readonly<Record<string, string>> = {
  edge_id: 'edge',
  policy: 'policy',
  rule_id: 'rule',
  country: 'country',
}
const summedDimensions = ['none', ...Object.values(summedColumns)]

/**
 * Undefined if only rows answer the query: sums know one dimension each, records or questions, and when these were stored.
 */
export function summedPart({ dimension, selection, sources, time }: CountsQuery): SummedPart | undefined {
  if (time === 'own' || sources.length > 1 || sources.includes('history')) return undefined
  if (!summedDimensions.includes(dimension)) return undefined
  const chosen = Object.entries(selection?.values ?? {})
  if (selection?.clients !== undefined || chosen.length > 1) return undefined
  const [column, values = []] = chosen[0] ?? []
  if (column === undefined) return { dimension, chosen: undefined }
  const selected = summedColumns[column]
  if (selected === undefined) return undefined
  return ['none', selected].includes(dimension)
    ? { dimension: selected, chosen: values.map(String) }
    : undefined
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
  /** All questions, whichever decisions are counted as `allow`, `block` and `deny`. */
  readonly asked: number
}

export interface Counts {
  readonly counts: readonly CountRow[]
  readonly valuesLeftOut: number
}

/** A table of sums per minute, and what of it is read. */
interface SummedTable {
  readonly table: string
  /** The column by whose values sums are listed. */
  readonly value: string
  /** A condition on its rows, in addition to their time. */
  readonly condition: string
  readonly params: Readonly<Record<string, unknown>>
  /** Sums of which the total says which values have the most. */
  readonly ranked: readonly string[]
  /** Expressions of a SELECT. */
  readonly sums: readonly string[]
  /** The total by which values of an interval are sorted. */
  readonly total: string
}

/** Sums by interval and value, oldest first, and how many values have too little to be listed. */
export async function readSums<Row>(
  queries: Pick<LogQueries, 'rows'>,
  { table, value, condition, ranked, sums, total, ...summed }: SummedTable,
  {
    intervalMs,
    sinceMs,
    untilMs,
    valuesMax,
  }: Pick<CountsQuery, 'intervalMs' | 'sinceMs' | 'untilMs' | 'valuesMax'>,
): Promise<{ readonly counts: Row[]; readonly valuesLeftOut: number }> {
  // Rows are of whole minutes: rounding up to a second changes neither comparison.
  const params = {
    ...summed.params,
    since: Math.ceil(sinceMs / 1000),
    until: Math.ceil(untilMs / 1000),
  }
  const rows = `FROM ${table} WHERE ${condition}
AND minute >= toDateTime({since:UInt32}, 'UTC') AND minute < toDateTime({until:UInt32}, 'UTC')`
  const found = await queries.rows<{ value: string }>(
    `SELECT ${value} AS value ${rows} GROUP BY value ORDER BY sum(${ranked.join(' + ')}) DESC, value`,
    params,
  )
  const values = found.slice(0, valuesMax).map((each) => each.value)
  const counts = await queries.rows<Row>(
    `SELECT intDiv(toUnixTimestamp(minute), {seconds:UInt32}) * {seconds:UInt32} * 1000 AS at, ${value} AS value,
${sums.join(', ')} ${rows} AND ${value} IN {values:Array(String)} GROUP BY at, value ORDER BY at, ${total} DESC, value`,
    { ...params, seconds: intervalMs / 1000, values },
  )
  return { counts, valuesLeftOut: found.length - values.length }
}
