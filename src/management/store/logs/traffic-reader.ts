/** Reads from the decision log when traffic last went to names and hostports of an account. */

import type { LogMode } from '../../../delivery/wire/log-publisher.js'
import { now } from '../../../ground/core/clock.js'
import type { Clickhouse } from '../clickhouse/clickhouse.js'
import { LogQueries, timeOf } from './log-queries.js'
import { decisionsTable } from './log-tables.js'

/** Names with traffic are mostly found in the newest rows; only the others are looked for in all. */
const newestMs = 6 * 60 * 60_000

/** Names are logged as they were reported. */
const host = "trim(TRAILING '.' FROM lower(server_name))"
/** The wildcard that covers a host: a name of one label has none. */
const wildcard = `concat('*', substring(host, position(host, '.')))`

/** Each pair of name and port is looked at once: there are few, however many rows. */
const lastTrafficSql = `SELECT name, toUnixTimestamp64Milli(max(last)) AS lastMs FROM (
SELECT ${host} AS host, server_port, max(time) AS last FROM ${decisionsTable}
PREWHERE account_id = {account:String}
WHERE time >= ${timeOf('since')} AND time < ${timeOf('until')} AND server_name != '' AND source != 'history'
AND (host IN {hosts:Array(String)} OR ${wildcard} IN {hosts:Array(String)})
GROUP BY host, server_port)
ARRAY JOIN [host, ${wildcard}, concat(host, ':', toString(server_port))] AS name
WHERE name IN {names:Array(String)} GROUP BY name`

const oldestSql = `SELECT toUnixTimestamp64Milli(time) AS oldestMs FROM ${decisionsTable}
WHERE account_id = {account:String} ORDER BY account_id, time LIMIT 1`

/** The times are in milliseconds since the epoch. */
interface KnownTraffic {
  /** By name; names without traffic in the log are missing. */
  readonly lastMs: ReadonlyMap<string, number>
  /** The oldest decision of the account in the log. */
  readonly oldestMs: number | undefined
}

export class TrafficReader {
  readonly #queries: LogQueries
  readonly mode: LogMode

  constructor(clickhouse: Clickhouse, mode: LogMode) {
    this.#queries = new LogQueries(clickhouse, mode !== 'off')
    this.mode = mode
  }

  /** `names`: hosts on any port, wildcards such as `*.example.com` for one label, and hostports. */
  last(accountId: string, names: readonly string[]): Promise<KnownTraffic> {
    return this.#queries.search(async (read) => {
      const [oldest] = await read<{ oldestMs: number }>(oldestSql, { account: accountId })
      const lastMs = new Map<string, number>()
      if (oldest === undefined) return { lastMs, oldestMs: undefined }
      const { oldestMs } = oldest
      // A clock of another process may be ahead.
      const untilMs = now() + newestMs
      const bounds = [untilMs, now() - newestMs, oldestMs]
      for (const [index, sinceMs] of bounds.slice(1).entries()) {
        const wanted = names.filter((name) => !lastMs.has(name))
        if (wanted.length === 0 || bounds[index]! <= oldestMs) break
        const params = {
          account: accountId,
          names: wanted,
          hosts: [...new Set(wanted.map((name) => name.replace(/:\d+$/, '')))],
          since: sinceMs,
          until: bounds[index],
        }
        for (const row of await read<{ name: string; lastMs: number }>(lastTrafficSql, params))
          lastMs.set(row.name, row.lastMs)
      }
      return { lastMs, oldestMs }
    })
  }
}
