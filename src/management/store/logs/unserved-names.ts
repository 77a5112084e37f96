/** Names that records asked for and no edge served, from the rows of the decision log. */
import type { RecordType } from '../../../delivery/record/traffic-record.js'
import { type ReadRows, timeOf } from './log-queries.js'
import { countsTable, decisionsTable } from './log-tables.js'

/** Endpoints of records that no edge served. */
export interface UnservedNames {
  /** Those with the most records first. */
  readonly names: readonly UnservedName[]
  /** How many there are; at least so many if there are very many. */
  readonly namesCount: number
  /** The records of all names. */
  readonly records: number
  /** All records of the account, served or not. */
  readonly recordsOfAll: number
}

export interface UnservedName {
  readonly type: RecordType
  /** Empty, or 0, if the record has none. */
  readonly serverName: string
  readonly serverPort: number
  readonly count: number
}

/**
 * Names that are counted one by one: a client may send a new one with each request. Those that come often are among the
 * first.
 */
const namesToldApart = 100_000

const unservedSql = `SELECT *, count() OVER () AS names FROM (
SELECT toString(type) AS type, toString(server_name) AS serverName, server_port AS serverPort, sum(weight) AS count
FROM ${decisionsTable}
PREWHERE account_id = {account:String} AND edge_id = '' WHERE time >= ${timeOf('since')} AND source = 'record'
GROUP BY type, server_name, server_port
SETTINGS max_rows_to_group_by = ${namesToldApart}, group_by_overflow_mode = 'any'
) ORDER BY count DESC, serverName, serverPort LIMIT {limit:UInt32}`

const servedSql = `SELECT sumIf(allow + block + deny, value = '') AS records, sum(allow + block + deny) AS recordsOfAll
FROM ${countsTable} WHERE account_id = {account:String} AND dimension = 'edge'
AND minute >= toStartOfMinute(toDateTime({minute:UInt32}, 'UTC'))`

interface NamesQuery {
  readonly accountId: string
  readonly sinceMs: number
  readonly namesMax: number
}

export async function readUnservedNames(
  read: ReadRows,
  { accountId: account, sinceMs, namesMax: limit }: NamesQuery,
): Promise<UnservedNames> {
  const found = await read<UnservedName & { names: number }>(unservedSql, { account, since: sinceMs, limit })
  const minute = Math.floor(sinceMs / 1000)
  const [sums] = await read<Pick<UnservedNames, 'records' | 'recordsOfAll'>>(servedSql, { account, minute })
  const namesCount = found[0]?.names ?? 0
  const listed = found.reduce((sum, { count }) => sum + count, 0)
  return {
    names: found.map(({ names: _, ...name }) => name),
    namesCount,
    records: found.length < namesCount ? Math.max(listed, sums?.records ?? 0) : listed,
    recordsOfAll: Math.max(listed, sums?.recordsOfAll ?? 0),
  }
}
