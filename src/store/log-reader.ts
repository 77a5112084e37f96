/** Reads the decision log: decisions newest first, and sums. Each statement is of one account, and bounded in time. */
import type { DecisionRow } from '../wire/decision-rows.js'
import type { Clickhouse } from './clickhouse.js'
import { LogQueries, timeOf } from './log-queries.js'
import { countsTable, decisionsTable } from './log-tables.js'

/** Entries are sorted by time and, within a millisecond, by their place in the stream of records. */
export type LogPosition = Pick<DecisionRow, 'at' | 'sequence' | 'line'>

export interface DecisionsQuery {
  readonly accountId: string
  /** Columns with exactly one of these values. */
  readonly values: Readonly<Record<string, readonly string[]>>
  /** The first and the last address of a range. */
  readonly clients?: readonly [string, string] | undefined
  readonly sinceMs?: number | undefined
  readonly untilMs?: number | undefined
  /** Only entries that come after this one in the list. */
  readonly before?: LogPosition | undefined
  readonly limit: number
}

export interface CountsQuery {
  readonly accountId: string
  /** `none`: all records together. */
  readonly dimension: string
  /** A number of minutes. */
  readonly intervalMs: number
  readonly sinceMs: number
  readonly untilMs: number
  /** How many values are listed: those with the most records. */
  readonly valuesMax: number
}

interface CountRow {
  /** The start of the interval. */
  readonly at: number
  readonly value: string
  readonly allow: number
  readonly block: number
  readonly deny: number
  readonly bytes_in: number
  readonly bytes_out: number
}

const columns = `account_id AS accountId, toUnixTimestamp64Milli(time) AS at, record_id AS recordId, type,
edge_id AS edgeId, route_id AS routeId, server_name AS serverName, server_port AS serverPort, client_ip AS clientIp,
country, asn, decision, decided_by AS decidedBy, decided_by_id AS decidedById, policy, rule_id AS ruleId, revision,
bytes_in AS bytesIn, bytes_out AS bytesOut, sequence, line`

export class LogReader {
  readonly #queries: LogQueries

  constructor(clickhouse: Clickhouse, isOn: boolean) {
    this.#queries = new LogQueries(clickhouse, isOn)
  }

  /** At most `limit` rows, newest first. A row that was stored twice is there twice. */
  decisions(query: DecisionsQuery): Promise<DecisionRow[]> {
    const { accountId, values, clients, sinceMs, untilMs, before, limit } = query
    const conditions = ['account_id = {account:String}']
    const params: Record<string, unknown> = { account: accountId, limit }
    for (const [column, allowed] of Object.entries(values)) {
      conditions.push(`${column} IN {of_${column}:Array(String)}`)
      params[`of_${column}`] = allowed
    }
    if (clients !== undefined) {
      const [first, last] = clients
      conditions.push(clientsCondition(clients))
      Object.assign(params, { first, ...(first === last ? {} : { last }) })
    }
    if (sinceMs !== undefined) conditions.push(`time >= ${timeOf('since')}`)
    if (untilMs !== undefined) conditions.push(`time < ${timeOf('until')}`)
    if (before !== undefined) {
      // The first one alone finds the granules.
      conditions.push(`time <= ${timeOf('at')}`)
      conditions.push(`(time, sequence, line) < (${timeOf('at')}, {sequence:UInt64}, {line:UInt32})`)
    }
    Object.assign(params, { since: sinceMs, until: untilMs, ...before })
    const sql = `SELECT ${columns} FROM ${decisionsTable} WHERE ${conditions.join(' AND ')}
ORDER BY time DESC, sequence DESC, line DESC LIMIT {limit:UInt32}`
    return this.#queries.rows(sql, params)
  }

  /** Sums by interval, oldest first, and how many values have too few records to be listed. */
  async counts(query: CountsQuery): Promise<{ counts: CountRow[]; valuesLeftOut: number }> {
    const { accountId, dimension, intervalMs, sinceMs, untilMs, valuesMax } = query
    const params = {
      account: accountId,
      dimension,
      since: sinceMs / 1000,
      until: untilMs / 1000,
      seconds: intervalMs / 1000,
    }
    const ranked = await this.#queries.rows<{ value: string }>(
      `SELECT value, sum(allow + block + deny) AS records FROM ${countsTable} WHERE ${countsCondition}
GROUP BY value ORDER BY records DESC, value`,
      params,
    )
    const values = ranked.slice(0, valuesMax).map(({ value }) => value)
    const counts = await this.#queries.rows<CountRow>(
      `SELECT intDiv(toUnixTimestamp(minute), {seconds:UInt32}) * {seconds:UInt32} * 1000 AS at, value,
${sums.map((name) => `sum(${countsTable}.${name}) AS ${name}`).join(', ')}
FROM ${countsTable} WHERE ${countsCondition} AND value IN {values:Array(String)}
GROUP BY at, value ORDER BY at, allow + block + deny DESC, value`,
      { ...params, values },
    )
    return { counts, valuesLeftOut: ranked.length - values.length }
  }
}

const sums = ['allow', 'block', 'deny', 'bytes_in', 'bytes_out']

const countsCondition = `account_id = {account:String} AND dimension = {dimension:String}
AND minute >= toDateTime({since:UInt32}, 'UTC') AND minute < toDateTime({until:UInt32}, 'UTC')`

/** One address can use the index, which a range can't. */
const clientsCondition = ([first, last]: readonly [string, string]): string =>
  first === last
    ? 'client_ip = toIPv6({first:String})'
    : 'client_ip BETWEEN toIPv6({first:String}) AND toIPv6({last:String})'
