/**
 * Sums of rows of the decision log, for what the sums per minute do not know: several values at once, clients, and dimensions with
 * too many values for them. Two statements: the values with the most decisions, then their sums.
 */
import type { CountRow, Counts, CountsQuery } from './count-query.js'
import { type ReadRows, timeOf } from './log-queries.js'
import { selectionSql } from './log-selection.js'
import { partitionMs } from './log-table.js'
import { countsTable, decisionsTable } from './log-tables.js'

export interface RowCounts extends Counts {
  /** Milliseconds since the epoch: sums reach further back than rows, which begin here; undefined if rows are as old as the range. */
  readonly rowsBeginMs: number | undefined
}

/** The column of each dimension. */
const valueColumns: Readonly<Record<string, string>> = {
  edge: 'edge_id',
  policy: 'policy',
  rule: 'rule_id',
  country: `${decisionsTable}.country`,
  asn: 'asn',
  server_name: 'server_name',
  client_ip: 'client_ip',
}

/** The value of a dimension as text: empty if a row has none. */
export function valueSql(dimension: string): string {
  const column = valueColumns[dimension]
  if (column === undefined) return "''"
  return dimension === 'asn' ? `if(${column} = 0, '', toString(${column}))` : `toString(${column})`
}

const sumOf = (decision: string): string =>
  `sumIf(weight, decision = '${decision}' AND source = {counted:String}) AS ${decision}`
const bytesOf = (column: string): string =>
  `sumIf(${decisionsTable}.${column}, source = {counted:String}) AS ${column}`

const sums = [
  ...['allow', 'block', 'deny'].map(sumOf),
  ...['bytes_in', 'bytes_out'].map(bytesOf),
  "sumIf(weight, source = 'asked') AS asked",
].join(', ')

export async function countRows(read: ReadRows, query: CountsQuery): Promise<RowCounts> {
  const { dimension, source, intervalMs } = query
  const column = valueColumns[dimension]
  const most = column === undefined ? [] : await valuesWithMost(read, query, column)
  const isListed = column === undefined ? [] : [`${column} IN ${listOf(dimension)}`]
  const { sql, params } = spannedRows(
    query,
    ['time', ...(column === undefined ? [] : [column]), ...summed],
    isListed,
  )
  const counts = await read<CountRow>(
    `SELECT intDiv(toUnixTimestamp(time), {seconds:UInt32}) * {seconds:UInt32} * 1000 AS at,
${valueSql(dimension)} AS value, ${sums} FROM (${sql}) AS ${decisionsTable}
GROUP BY at, value ORDER BY at, allow + block + deny + asked DESC, value`,
    {
      ...params,
      counted: source,
      seconds: intervalMs / 1000,
      ...(column !== undefined && { most: valuesOf(dimension, most) }),
    },
  )
  const valuesLeftOut = most.length === 0 ? 0 : most[0]!.total - most.length
  return { counts, valuesLeftOut, rowsBeginMs: await rowsBegin(read, query) }
}

/** The columns from which sums are made. */
const summed = ['weight', 'decision', 'source', 'bytes_in', 'bytes_out']

/**
 * The rows of a range, as a subquery of these columns. Comparing each row's time costs as much as all else, so partitions that
 * lie in the range as a whole are found by their index alone, and only rows at both ends are compared.
 */
function spannedRows(query: CountsQuery, columns: readonly string[], more: readonly string[]) {
  const { accountId, sinceMs, untilMs } = query
  const params: Record<string, unknown> = { account: accountId, since: sinceMs, until: untilMs }
  const { narrow, exact } = selectionSql(query.selection ?? { values: {} }, params)
  const found = ['account_id = {account:String}', ...narrow, ...more].join(' AND ')
  const within = (...times: string[]): string =>
    `SELECT ${columns.join(', ')} FROM ${decisionsTable} PREWHERE ${found} WHERE ${[...times, ...exact].join(' AND ')}`
  const [since, until] = [`time >= ${timeOf('since')}`, `time < ${timeOf('until')}`]
  const firstMs = Math.ceil(sinceMs / partitionMs) * partitionMs
  const endMs = Math.floor(untilMs / partitionMs) * partitionMs
  if (firstMs >= endMs) return { sql: within(since, until), params }
  Object.assign(params, { first_whole: firstMs, end_whole: endMs })
  const [first, end] = [timeOf('first_whole'), timeOf('end_whole')]
  const parts = [within(`indexHint(time >= ${first} AND time < ${end})`)]
  if (sinceMs < firstMs) parts.push(within(since, `time < ${first}`))
  if (endMs < untilMs) parts.push(within(`time >= ${end}`, until))
  return { sql: parts.join('\nUNION ALL\n'), params }
}

interface RankedValue {
  readonly value: string
  /** The number of all values. */
  readonly total: number
}

/** The values with the most decisions. */
function valuesWithMost(read: ReadRows, query: CountsQuery, column: string): Promise<RankedValue[]> {
  const groups = (by: string, value: string, more: readonly string[] = []) => {
    const { sql, params } = spannedRows(query, [by, 'weight'], more)
    const name = by.replace(`${decisionsTable}.`, '')
    return {
      sql: `SELECT ${value} AS value, size, total FROM (SELECT ${name} AS grouped, sum(weight) AS size, count() OVER () AS total
FROM (${sql}) GROUP BY grouped ORDER BY size DESC LIMIT {most:UInt32} WITH TIES)`,
      params,
    }
  }
  const parts =
    column === 'client_ip'
      ? [
          groups('client_key', ipv4OfKey, [`client_key ${ipv4Keys}`]),
          groups(column, 'toString(grouped)', [`client_key NOT ${ipv4Keys}`]),
        ]
      : [groups(column, 'toString(grouped)')]
  const all = parts.map(({ sql }, index) => `SELECT value, size, total, ${index} AS part FROM (${sql})`)
  // Each part has the number of its own values in every row.
  const total = parts.map((_, index) => `maxIf(total, part = ${index}) OVER ()`).join(' + ')
  return read<RankedValue>(
    `SELECT value, ${total} AS total FROM (${all.join('\nUNION ALL\n')})
ORDER BY size DESC, value LIMIT {most:UInt32}`,
    { ...parts[0]!.params, most: query.valuesMax },
  )
}

/** The keys of IPv4 clients, each of one address: numbers make groups in half of the time of addresses. */
const ipv4Keys = `BETWEEN ${0xffff_0000_0000} AND ${0xffff_ffff_ffff}`
const ipv4OfKey = 'toString(toIPv6(IPv4NumToString(toUInt32(bitAnd(grouped, 4294967295)))))'

const listTypes: Readonly<Record<string, string>> = { asn: 'UInt32', client_ip: 'IPv6' }

const listOf = (dimension: string): string => `{most:Array(${listTypes[dimension] ?? 'String'})}`

const valuesOf = (
  dimension: string,
  most: readonly { readonly value: string }[],
): readonly (string | number)[] => most.map(({ value }) => (dimension === 'asn' ? Number(value) : value))

/** For each of these autonomous systems, the address of a client in it. */
export async function clientsInNetworks(
  read: ReadRows,
  { accountId, sinceMs, untilMs }: Pick<CountsQuery, 'accountId' | 'sinceMs' | 'untilMs'>,
  networks: readonly number[],
): Promise<ReadonlyMap<number, string>> {
  if (networks.length === 0) return new Map()
  const found = await read<{ network: number; client: string }>(
    `SELECT asn AS network, toString(client_ip) AS client FROM ${decisionsTable}
PREWHERE account_id = {account:String} AND asn IN {networks:Array(UInt32)}
WHERE time >= ${timeOf('since')} AND time < ${timeOf('until')} LIMIT 1 BY network LIMIT {limit:UInt32}`,
    { account: accountId, networks, since: sinceMs, until: untilMs, limit: networks.length },
  )
  return new Map(found.map(({ network, client }) => [network, client]))
}

/** Sums are kept longer than rows. Both beginnings are those of the deployment, which ClickHouse knows without reading. */
export async function rowsBegin(read: ReadRows, { sinceMs }: CountsQuery): Promise<number | undefined> {
  const [found] = await read<{ rows: number; sums: number }>(
    `SELECT (SELECT toUnixTimestamp64Milli(min(time)) FROM ${decisionsTable}) AS rows,
(SELECT toUnixTimestamp(min(minute)) * 1000 FROM ${countsTable}) AS sums`,
    {},
  )
  if (found === undefined) return undefined
  const { rows, sums } = found
  return sums < rows - minuteMs && sinceMs < rows - minuteMs ? rows : undefined
}

const minuteMs = 60_000
