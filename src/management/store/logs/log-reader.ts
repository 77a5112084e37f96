/**
 * Reads the decision log: decisions newest first, and sums. Each search is of one account, and bounded in time.
 *
 * Within a window of time (`log-windows.ts`), ClickHouse reads the columns of the filter alone, and the others only near the
 * rows that were found.
 */

import type { DecisionRow } from '../../../delivery/wire/decision-rows.js'
import type { LogMode } from '../../../delivery/wire/log-publisher.js'
import { monotonicMs, yieldTurn } from '../../../ground/core/clock.js'
import type { Clickhouse } from '../clickhouse/clickhouse.js'
import {
  type CountRow,
  type Counts,
  type CountsQuery,
  readSums,
  type SummedPart,
  summedPart,
} from './count-query.js'
import { type CountFilter, countFilteredRows, type FilteredCounts } from './filtered-counts.js'
import { inTime, LogQueries, type ReadRows, timeOf } from './log-queries.js'
import { countsTable, decisionSums, decisionsTable } from './log-tables.js'
import {
  type DecisionsQuery,
  type LogPosition,
  positionAt,
  windowStatement,
  windowsOf,
} from './log-windows.js'
import { type NamedValue, type Reached, reachedOf, readReachedByOwnTime } from './own-reached.js'
import { clientsInNetworks, countRows, type RowCounts } from './row-counts.js'
import { sinceSql, untilSql } from './row-times.js'
import { readUnservedNames, type UnservedNames } from './unserved-names.js'

export interface PageQuery extends DecisionsQuery {
  /** Rows for which it is false are left out. */
  readonly matches?: ((row: DecisionRow) => boolean) | undefined
}

interface Page {
  readonly rows: DecisionRow[]
  /** The position at which the next page begins; undefined if this is the last one. */
  readonly next: LogPosition | undefined
}

/** A filter is evaluated for so many rows, and for so long, until a page ends. */
const rowsSearchedMax = 100_000
const rowsReadAtOnce = 2_000
const filterTimeoutMs = 3_000
/** A page that has looked through a part of the time by then is answered as far as it came. */
const partTimeoutMs = 3_500

/** The same for sums, of the time of a search. */
const partShare = 0.65

/** When a search ends: it has what it found, and the next page goes on from there. */
interface End {
  readonly ms: number
  /** Everything before this place is known; undefined: nothing is, so the first window is waited for. */
  readonly reached?: LogPosition | undefined
}

interface Found {
  readonly rows: DecisionRow[]
  /** Older rows were not looked at, because there was no time; undefined if all were, or there are enough. */
  readonly cut: LogPosition | undefined
}

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

/** Values that decisions of an account named since then. A value that comes often is one row a minute. */
const reachedSql = `SELECT replaceOne(toString(dimension), 'asked_', '') AS named, value FROM ${countsTable}
WHERE account_id = {account:String} AND dimension IN ('edge', 'asked_edge', 'policy', 'asked_policy', 'rule', 'asked_rule')
AND minute >= toStartOfMinute(toDateTime({since:UInt32}, 'UTC')) AND value != '' AND allow + block + deny > 0
GROUP BY named, value LIMIT 500000`

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
  async decisions(query: DecisionsQuery): Promise<DecisionRow[]> {
    return (await this.#find(query)).rows
  }

  #find(query: DecisionsQuery, end?: End): Promise<Found> {
    return this.#queries.search(async (read) => {
      const rows: DecisionRow[] = []
      for (const window of windowsOf(query)) {
        const limit = query.limit - rows.length
        const { sql, params } = windowStatement({ ...query, ...window, limit })
        const reached =
          window.reachedMs === undefined ? end?.reached : positionAt(window.reachedMs, query.time)
        const leftMs = end === undefined || reached === undefined ? undefined : end.ms - monotonicMs()
        const ask = () => read<DecisionRow>(sql, params, leftMs)
        const found = leftMs === undefined ? await ask() : await inTime(ask)
        if (found === undefined) return { rows, cut: reached }
        rows.push(...found)
        if (rows.length >= query.limit) break
      }
      return { rows, cut: undefined }
    })
  }

  /** Rows of another form: decisions of a challenger next to those of the configuration in force. */
  search<T>(readAll: (read: ReadRows) => Promise<T>): Promise<T> {
    return this.#queries.search(readAll)
  }

  /** A page, newest first. It may have fewer rows than its limit, because a search ends after a number of rows or a time. */
  async page({ matches, ...query }: PageQuery): Promise<Page> {
    const begunMs = monotonicMs()
    const ms = begunMs + partTimeoutMs
    if (matches === undefined) {
      const { rows, cut } = await this.#find({ ...query, limit: query.limit + 1 }, { ms })
      const hasMore = rows.length > query.limit
      return { rows: rows.slice(0, query.limit), next: hasMore ? rows[query.limit - 1] : cut }
    }
    const rows: DecisionRow[] = []
    let before = query.before
    for (
      let searched = 0;
      searched < rowsSearchedMax && monotonicMs() < begunMs + filterTimeoutMs;
      searched += rowsReadAtOnce
    ) {
      const reached = searched === 0 ? undefined : before
      const { rows: found, cut } = await this.#find(
        { ...query, before, limit: rowsReadAtOnce },
        { ms, reached },
      )
      for (const row of found) {
        if (matches(row)) rows.push(row)
        before = row
        if (rows.length === query.limit) return { rows, next: before }
      }
      if (cut !== undefined || found.length < rowsReadAtOnce) return { rows, next: cut }
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
      account: accountId,
      at,
      sequence,
      line,
      partition,
    })
    return found?.own
  }

  /** How many decisions of a range say a time of their own that does not count, because it is too far ahead or past. */
  async outsideTimes(query: Pick<CountsQuery, 'accountId' | 'sinceMs' | 'untilMs'>): Promise<number> {
    const { accountId: account, sinceMs: since, untilMs: until } = query
    const [found] = await this.#queries.rows<{ records: number }>(outsideSql, { account, since, until })
    return found?.records ?? 0
  }

  /** Sums of the rows for which a filter is true: of the newest, if there is no time for all. */
  filteredCounts(query: CountsQuery, filter: CountFilter): Promise<FilteredCounts> {
    return this.#queries.search((read) => {
      const endMs = monotonicMs() + this.#queries.timeoutMs * partShare
      return countFilteredRows(read, query, filter, endMs)
    })
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
  async reached(accountId: string, sinceMs: number): Promise<Reached> {
    const params = { account: accountId, since: Math.floor(sinceMs / 1000) }
    return reachedOf(await this.#queries.rows<NamedValue>(reachedSql, params))
  }

  /** The same of records that began since then, also of loaded ones, and of questions. */
  reachedByOwnTime(accountId: string, sinceMs: number): ReturnType<typeof readReachedByOwnTime> {
    return this.#queries.search((read) => readReachedByOwnTime(read, accountId, sinceMs))
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

/** Sums of records and of questions. */
const dimensionsOf = (dimension: string): readonly [string, string] =>
  dimension === 'none' ? ['none', 'asked'] : [dimension, `asked_${dimension}`]
