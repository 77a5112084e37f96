/**
 * Reads the decision log: decisions newest first, and sums. Each search is of one account, and bounded in time.
 *
 * Decisions are searched for in windows of time, the newest hour first, and each window is longer than the one before
 * it: a value that comes often is found in few rows, and one that never comes costs four statements. Within a window
 * ClickHouse reads the columns of the filter alone, and the others only near the rows that were found.
 */

import { monotonicMs, now, yieldTurn } from '../../core/clock.js'
import { type DecisionRow, decisionColumns } from '../../wire/decision-rows.js'
import type { LogMode } from '../../wire/log-publisher.js'
import type { Clickhouse } from '../clickhouse/clickhouse.js'
import {
  type CountRow,
  type Counts,
  type CountsQuery,
  readSums,
  type SummedPart,
  summedPart,
} from './count-query.js'
import { type CountFilter, countFilteredRows } from './filtered-counts.js'
import { LogQueries, type ReadRows, timeOf } from './log-queries.js'
import { type Selection, selectionSql } from './log-selection.js'
import { conditionSql, type LogCondition, selected } from './log-sql.js'
import { countsTable, decisionSums, decisionsTable } from './log-tables.js'
import { clientsInNetworks, countRows, type RowCounts } from './row-counts.js'
import { beforeSql, newestFirst, type RowTime, sinceSql, untilSql } from './row-times.js'
import { readUnservedNames, type UnservedNames } from './unserved-names.js'

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

export interface PageQuery extends DecisionsQuery {
  /** Rows for which it is false are left out. */
  readonly matches?: ((row: DecisionRow) => boolean) | undefined
}

interface Page {
  readonly rows: DecisionRow[]
  /** The position at which the next page begins; undefined if this is the last one. */
  readonly next: LogPosition | undefined
}

/** A part of the searched time; the newest one has no end unless the query has. */
interface Window {
  readonly sinceMs: number
  readonly untilMs: number | undefined
}

const hourMs = 60 * 60_000
/** Lengths of the windows before the last, which reaches back to the start. */
const windowsMs = [hourMs, 6 * hourMs, 36 * hourMs]

/** A filter is evaluated for so many rows, and for so long, until a page ends. */
const rowsSearchedMax = 100_000
const rowsReadAtOnce = 2_000
const filterTimeoutMs = 3_000

const columns = selected(decisionColumns)

/** The blocks of one deny rule: records, and questions of ingress nodes and proxies. */
export interface RuleUse {
  readonly ruleId: string
  readonly blocked: number
  readonly asked: number
  /** The last minute in which it blocked anything: milliseconds since the epoch. */
  readonly lastMs: number
}

/** The number of decisions by each rule of IP policies, from the sums of the decision log. */
const ruleUsesSql = `SELECT value AS ruleId, sumIf(block, dimension = 'rule') AS blocked,
sumIf(block, dimension = 'asked_rule') AS asked, toUnixTimestamp(max(minute)) * 1000 AS lastMs
FROM ${countsTable} WHERE account_id = {account:String} AND dimension IN ('rule', 'asked_rule')
AND minute >= toStartOfMinute(toDateTime({since:UInt32}, 'UTC')) AND value IN {rules:Array(String)} AND block > 0
GROUP BY value`

/** What decisions of an account named since then. A value that comes often is one row a minute. */
const reachedSql = `SELECT toString(dimension) AS dimension, value FROM ${countsTable}
WHERE account_id = {account:String} AND dimension IN ('edge', 'asked_edge', 'policy', 'asked_policy', 'rule', 'asked_rule')
AND minute >= toStartOfMinute(toDateTime({since:UInt32}, 'UTC')) AND value != '' AND allow + block + deny > 0
GROUP BY dimension, value LIMIT 500000`

const ownTimeSql = `SELECT toUnixTimestamp64Milli(own_time) AS own FROM ${decisionsTable}
WHERE account_id = {account:String} AND time = ${timeOf('at')} AND sequence = {sequence:UInt64} AND line = {line:UInt32}
AND partition = {partition:UInt8} LIMIT 1`

const outsideSql = `SELECT sum(weight) AS records FROM ${decisionsTable}
PREWHERE account_id = {account:String} AND own_time_word IN ('ahead', 'past')
WHERE ${[...sinceSql('stored'), untilSql('stored')].join(' AND ')}`

export class LogReader {
  readonly #queries: LogQueries
  /** The decisions that have rows. */
  readonly mode: LogMode

  /** `timeoutMs`: of a search, if not the usual one. */
  constructor(clickhouse: Clickhouse, mode: LogMode, timeoutMs?: number) {
    this.#queries = new LogQueries(clickhouse, mode !== 'off', timeoutMs)
    this.mode = mode
  }

  /** At most `limit` rows, newest first. A row that was stored twice is there twice. */
  decisions(query: DecisionsQuery): Promise<DecisionRow[]> {
    return this.#queries.search(async (read) => {
      const rows: DecisionRow[] = []
      for (const window of windowsOf(query)) {
        const limit = query.limit - rows.length
        const { sql, params } = windowStatement({ ...query, ...window, limit })
        rows.push(...(await read<DecisionRow>(sql, params)))
        if (rows.length >= query.limit) break
      }
      return rows
    })
  }

  /** Rows of another form: decisions of a challenger next to those of the configuration in force. */
  search<T>(readAll: (read: ReadRows) => Promise<T>): Promise<T> {
    return this.#queries.search(readAll)
  }

  /** A page, newest first. It may have fewer rows than its limit, because a search ends after a number of rows. */
  async page({ matches, ...query }: PageQuery): Promise<Page> {
    if (matches === undefined) {
      const rows = await this.decisions({ ...query, limit: query.limit + 1 })
      const hasMore = rows.length > query.limit
      return { rows: rows.slice(0, query.limit), next: hasMore ? rows[query.limit - 1] : undefined }
    }
    const rows: DecisionRow[] = []
    const endMs = monotonicMs() + filterTimeoutMs
    let before = query.before
    for (let searched = 0; searched < rowsSearchedMax && monotonicMs() < endMs; searched += rowsReadAtOnce) {
      const found = await this.decisions({ ...query, before, limit: rowsReadAtOnce })
      for (const row of found) {
        if (matches(row)) rows.push(row)
        before = row
        if (rows.length === query.limit) return { rows, next: before }
      }
      if (found.length < rowsReadAtOnce) return { rows, next: undefined }
      await yieldTurn()
    }
    return { rows, next: before }
  }

  /** The own time of a row of this place; undefined if it is not in the log. */
  async ownTimeAt(
    accountId: string,
    { at, sequence, line, partition }: LogPosition,
  ): Promise<number | undefined> {
    const [found] = await this.#queries.rows<{ own: number }>(ownTimeSql, {
      ...{ account: accountId, at, sequence, line, partition },
    })
    return found?.own
  }

  /** How many decisions of a range say a time of their own that does not count, because it is too far ahead or past. */
  async outsideTimes(query: Pick<CountsQuery, 'accountId' | 'sinceMs' | 'untilMs'>): Promise<number> {
    const { accountId: account, sinceMs: since, untilMs: until } = query
    const [found] = await this.#queries.rows<{ records: number }>(outsideSql, { account, since, until })
    return found?.records ?? 0
  }

  /** Sums of the rows for which a filter is true. */
  filteredCounts(query: CountsQuery, filter: CountFilter): Promise<RowCounts> {
    return this.#queries.search((read) => countFilteredRows(read, query, filter))
  }

  /** How often each of these deny rules blocked since then; those that never did are missing. */
  ruleUses(accountId: string, ruleIds: readonly string[], sinceMs: number): Promise<RuleUse[]> {
    return this.#queries.rows<RuleUse>(ruleUsesSql, {
      account: accountId,
      rules: ruleIds,
      since: Math.floor(sinceMs / 1000),
    })
  }

  /** The edges, policies and rules that decisions named since then, about records or questions. */
  async reached(
    accountId: string,
    sinceMs: number,
  ): Promise<Record<'edge' | 'policy' | 'rule', Set<string>>> {
    const params = { account: accountId, since: Math.floor(sinceMs / 1000) }
    const found = await this.#queries.rows<{ dimension: string; value: string }>(reachedSql, params)
    const named = (dimension: string): Set<string> =>
      new Set(
        found.filter((row) => row.dimension.replace('asked_', '') === dimension).map(({ value }) => value),
      )
    return { edge: named('edge'), policy: named('policy'), rule: named('rule') }
  }

  /** Names and ports of records since then that no edge served. Needs the rows of all decisions. */
  unservedNames(accountId: string, sinceMs: number, namesMax: number): Promise<UnservedNames> {
    return this.#queries.search((read) => readUnservedNames(read, { accountId, sinceMs, namesMax }))
  }

  /** Sums by interval, oldest first, and how many values have too few records to be listed. */
  counts(query: CountsQuery): Promise<Counts | RowCounts> {
    const summed = summedPart(query)
    return summed === undefined
      ? this.#queries.search((read) => countRows(read, query))
      : this.#sums(query, summed)
  }

  /** For each of these autonomous systems, the address of a client in it. */
  clientsInNetworks(
    query: Pick<CountsQuery, 'accountId' | 'time' | 'sinceMs' | 'untilMs'>,
    networks: readonly number[],
  ): Promise<ReadonlyMap<number, string>> {
    return this.#queries.search((read) => clientsInNetworks(read, query, networks))
  }

  #sums(query: CountsQuery, { dimension, chosen }: SummedPart): Promise<Counts> {
    const [ofRecords, ofQuestions] = dimensionsOf(dimension)
    const ofDecisions = decided.map((name) => `${countsTable}.${name}`)
    const table = {
      table: countsTable,
      value: query.dimension === 'none' ? "''" : `${countsTable}.value`,
      condition: `account_id = {account:String} AND dimension IN {dimensions:Array(String)}${chosen === undefined ? '' : ` AND ${countsTable}.value IN {chosen:Array(String)}`}`,
      params: {
        ...(chosen !== undefined && { chosen }),
        account: query.accountId,
        counted: query.sources.includes('asked') ? ofQuestions : ofRecords,
        asked: ofQuestions,
        dimensions: [ofRecords, ofQuestions],
      },
      ranked: decided,
      sums: [
        ...decisionSums.map(
          (name) => `sumIf(${countsTable}.${name}, dimension = {counted:String}) AS ${name}`,
        ),
        `sumIf(${ofDecisions.join(' + ')}, dimension = {asked:String}) AS asked`,
      ],
      total: [...decided, 'asked'].join(' + '),
    }
    return readSums<CountRow>(this.#queries, table, query)
  }
}

const decided = ['allow', 'block', 'deny']

/** The rows of one window. */
function windowStatement(query: DecisionsQuery & Window) {
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
function* windowsOf({ sinceMs = 0, untilMs, before, time }: DecisionsQuery): Generator<Window> {
  let endMs = untilMs
  const beforeMs = time === 'own' ? (before?.ownAt ?? before?.at) : before?.at
  let startMs = Math.min(untilMs ?? now(), beforeMs ?? now())
  for (const lengthMs of windowsMs) {
    startMs -= lengthMs
    if (startMs <= sinceMs) break
    yield { sinceMs: startMs, untilMs: endMs }
    endMs = startMs
  }
  yield { sinceMs, untilMs: endMs }
}

/** Sums of records and of questions. */
const dimensionsOf = (dimension: string): readonly [string, string] =>
  dimension === 'none' ? ['none', 'asked'] : [dimension, `asked_${dimension}`]
