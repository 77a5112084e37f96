/**
 * Decisions are searched for in windows of time, the newest hour first, and each window is longer than the one before it: a
 * value that comes often is found in few rows, and one that never comes costs four statements.
 */

import { type DecisionRow, decisionColumns } from '../../../delivery/wire/decision-rows.js'
import { now } from '../../../ground/core/clock.js'
import { type Selection, selectionSql } from './log-selection.js'
import { conditionSql, type LogCondition, selected } from './log-sql.js'
import { decisionsTable } from './log-tables.js'
import { beforeSql, newestFirst, type RowTime, sinceSql, untilSql } from './row-times.js'

/** Entries are sorted by time and, within a millisecond, by their place in the stream of records. */
export type LogPosition = Pick<DecisionRow, 'at' | 'sequence' | 'line' | 'partition'> & {
  /** In a list by own times. */
  readonly ownAt?: number
}

export interface DecisionsQuery extends Selection {
  readonly accountId: string
  /** Default: when rows were stored. */
  readonly time?: RowTime | undefined
  readonly sinceMs?: number | undefined
  readonly untilMs?: number | undefined
  /** Only entries that come after this one in the list. */
  readonly before?: LogPosition | undefined
  /** A condition that all wanted rows meet; other rows may meet it, too. */
  readonly condition?: LogCondition | undefined
  readonly limit: number
}

/** A part of the searched time; the newest one has no end unless the query has. */
interface Window {
  readonly sinceMs: number
  readonly untilMs: number | undefined
  /** Everything from this time on has been looked through; undefined: nothing yet. */
  readonly reachedMs: number | undefined
}

const hourMs = 60 * 60_000
/** Lengths of the windows before the last, which reaches back to the start. */
const windowsMs = [hourMs, 6 * hourMs, 36 * hourMs]

const columns = selected(decisionColumns)

/** The rows of one window. */
export function windowStatement(query: DecisionsQuery & Window) {
  const { accountId, sinceMs, untilMs, before, limit, time = 'stored' } = query
  const params: Record<string, unknown> = { account: accountId, limit, since: sinceMs, until: untilMs }
  const { narrow, exact } = selectionSql(query, params)
  const filter = ['account_id = {account:String}', ...narrow]
  // These are checked in the rows that the filter found; ClickHouse finds granules by them, too.
  const rest = [...sinceSql(time), ...exact]
  if (query.condition !== undefined) rest.push(conditionSql(query.condition, params))
  if (untilMs !== undefined) rest.push(untilSql(time))
  if (before !== undefined) {
    const { at, sequence, line, partition, ownAt = at } = before
    rest.push(...beforeSql(time))
    Object.assign(params, { at, sequence, line, partition, own: ownAt })
  }
  const sql = `SELECT ${columns} FROM ${decisionsTable}
PREWHERE ${filter.join(' AND ')} WHERE ${rest.join(' AND ')}
ORDER BY ${newestFirst(time)} LIMIT {limit:UInt32}`
  return { sql, params }
}

/** Adjoining windows of the searched time, newest first. */
export function* windowsOf({ sinceMs = 0, untilMs, before, time }: DecisionsQuery): Generator<Window> {
  let endMs = untilMs
  let reachedMs: number | undefined
  const beforeMs = time === 'own' ? (before?.ownAt ?? before?.at) : before?.at
  let startMs = Math.min(untilMs ?? now(), beforeMs ?? now())
  for (const lengthMs of windowsMs) {
    startMs -= lengthMs
    if (startMs <= sinceMs) break
    yield { sinceMs: startMs, untilMs: endMs, reachedMs }
    reachedMs = startMs
    endMs = startMs
  }
  yield { sinceMs, untilMs: endMs, reachedMs }
}

/** Before all rows that are older than this. */
export const positionAt = (ms: number, time: RowTime = 'stored'): LogPosition => ({
  at: time === 'own' ? 0 : ms,
  sequence: 0,
  line: 0,
  partition: 0,
  ...(time === 'own' && { ownAt: ms }),
})
