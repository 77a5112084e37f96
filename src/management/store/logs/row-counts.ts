/**
 * Sums of rows of the decision log, for what the sums per minute do not know: several values at once, clients, and
 * dimensions with too many values for them. Two statements: the values with the most decisions, then their sums. Where sums
 * per quarter of an hour know the answer (`quarter-sums.ts`), they stand for the rows of whole quarters.
 */
import type { CountRow, Counts, CountsQuery } from './count-query.js'
import { type ReadRows, timeOf } from './log-queries.js'
import { selectionSql } from './log-selection.js'
import { partitionMs } from './log-table.js'
import { clientKeyOf, countsTable, decisionsTable } from './log-tables.js'
import { areSummed, quarterMs, quartersSql } from './quarter-sums.js'
import { sinceSql, timeColumn, untilSql } from './row-times.js'

export interface RowCounts extends Counts {
  /**
   * Milliseconds since the epoch: sums reach further back than rows, which begin here; undefined if rows are as old as the
   * range.
   */
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
  shadow_decision: 'shadow_decision',
}

/** The value of a dimension as text: empty if a row has none. */
export function valueSql(dimension: string): string {
  const column = valueColumns[dimension]
  if (column === undefined) return "''"
  return dimension === 'asn' ? `if(${column} = 0, '', toString(${column}))` : `toString(${column})`
}

const sumOf = (decision: string): string =>
  `sumIf(weight, decision = '${decision}' AND source IN {counted:Array(String)}) AS ${decision}`
const bytesOf = (column: string): string =>
  `sumIf(${decisionsTable}.${column}, source IN {counted:Array(String)}) AS ${column}`

const sums = [
  ...['allow', 'block', 'deny'].map(sumOf),
  ...['bytes_in', 'bytes_out'].map(bytesOf),
  "sumIf(weight, source = 'asked') AS asked",
].join(', ')

export async function countRows(read: ReadRows, query: CountsQuery): Promise<RowCounts> {
  const { dimension, sources, intervalMs, time = 'stored' } = query
  const at = timeColumn(time)
  const most = valueColumns[dimension] === undefined ? [] : await valuesWithMost(read, query)
  const { column, value, isListed, listed } = listing(dimension, most)
  const { sql, params } = spannedRows(query, [at, ...column, ...summed], isListed)
  const counts = await read<CountRow>(
    `SELECT intDiv(toUnixTimestamp(${at}), {seconds:UInt32}) * {seconds:UInt32} * 1000 AS at,
${value} AS value, ${sums} FROM (${sql}) AS ${decisionsTable}
GROUP BY ${['at', ...column].join(', ')} ORDER BY at, allow + block + deny + asked DESC, value`,
    { ...params, ...listed, counted: sources, seconds: intervalMs / 1000 },
  )
  const valuesLeftOut = most.length === 0 ? 0 : most[0]!.total - most.length
  return { counts, valuesLeftOut, rowsBeginMs: await rowsBegin(read, query) }
}

/** How rows of some values are found. */
interface Listing {
  /** The column that has the value, unless nothing is counted apart. */
  readonly column: readonly string[]
  /** The value as text. */
  readonly value: string
  readonly isListed: readonly string[]
  /** Parameters of these conditions. */
  readonly listed: Readonly<Record<string, unknown>>
}

function listing(dimension: string, most: readonly RankedValue[]): Listing {
  const column = valueColumns[dimension]
  const value = valueSql(dimension)
  if (column === undefined) return { column: [], value, isListed: [], listed: {} }
  const values = most.map((each) => (dimension === 'asn' ? Number(each.value) : each.value))
  const isListed = `${column} IN {most:Array(${listTypes[dimension] ?? 'String'})}`
  if (dimension !== 'client_ip')
    return { column: [column], value, isListed: [isListed], listed: { most: values } }
  // A number that is made of the address in the statement would be made again for each row.
  const hasKey = 'client_key IN {keys:Array(UInt64)}'
  const keys = most.map(({ key }) => BigInt(key))
  // A key of IPv4 is one client. Addresses, which take twice as long to read, are needed for others alone.
  return most.every((each) => isIpv4(each.value))
    ? { column: ['client_key'], value: ipv4Of('client_key'), isListed: [hasKey], listed: { keys } }
    : { column: [column], value, isListed: [hasKey, isListed], listed: { keys, most: values } }
}

const listTypes: Readonly<Record<string, string>> = { asn: 'UInt32', client_ip: 'IPv6' }

/** Rows of the past count for nothing unless they are asked for. Questions are always counted, apart. */
export const isSeen = 'source IN {seen:Array(String)}'
export const seenSources = ({ sources }: Pick<CountsQuery, 'sources'>): readonly string[] =>
  sources.includes('history') ? [...new Set([...sources, 'asked'])] : ['record', 'asked']

/** The columns from which sums are made. */
const summed = ['weight', 'decision', 'source', 'bytes_in', 'bytes_out']

/**
 * The rows of a range, as a subquery of these columns. Comparing each row's time costs as much as all else, so partitions
 * that lie in the range as a whole are found by their index alone, and only rows at both ends are compared. With sums per
 * quarter, these stand in place of the rows between both ends.
 */
function spannedRows(query: CountsQuery, columns: readonly string[], more: readonly string[]) {
  const { accountId, sinceMs, untilMs, time = 'stored' } = query
  const params: Record<string, unknown> = {
    account: accountId,
    since: sinceMs,
    until: untilMs,
    seen: seenSources(query),
  }
  const { narrow, exact } = selectionSql(query.selection ?? { values: {} }, params)
  const found = ['account_id = {account:String}', isSeen, ...narrow, ...more]
  const within = (...times: string[]): string =>
    `SELECT ${columns.join(', ')} FROM ${decisionsTable} PREWHERE ${found.join(' AND ')} WHERE ${[...times, ...exact].join(' AND ')}`
  if (time === 'own') return { sql: within(...sinceSql(time), untilSql(time)), params }
  const [since, until] = [`time >= ${timeOf('since')}`, `time < ${timeOf('until')}`]
  const hasSums = isSummed(query, columns)
  const wholeMs = hasSums ? quarterMs : partitionMs
  const firstMs = Math.ceil(sinceMs / wholeMs) * wholeMs
  const endMs = Math.floor(untilMs / wholeMs) * wholeMs
  if (firstMs >= endMs) return { sql: within(since, until), params }
  Object.assign(params, { first_whole: firstMs, end_whole: endMs })
  const [first, end] = [timeOf('first_whole'), timeOf('end_whole')]
  const parts = [
    hasSums
      ? quartersSql(decisionsTable, columns, found, { from: first, until: end })
      : within(`indexHint(time >= ${first} AND time < ${end})`),
  ]
  if (sinceMs < firstMs) parts.push(within(since, `time < ${first}`))
  if (endMs < untilMs) parts.push(within(`time >= ${end}`, until))
  return { sql: parts.join('\nUNION ALL\n'), params }
}

/** Do sums per quarter know what is counted apart and what is selected? */
function isSummed({ dimension, selection, intervalMs }: CountsQuery, columns: readonly string[]): boolean {
  if (selection?.clients !== undefined) return false
  if (columns.includes('time') && intervalMs % quarterMs !== 0) return false
  const apart = valueColumns[dimension]
  return areSummed(
    new Set([...(apart === undefined ? [] : [apart]), ...Object.keys(selection?.values ?? {})]),
  )
}

interface RankedValue {
  readonly value: string
  /** The key of a client, as text. */
  readonly key: string
  /** The number of all values. */
  readonly total: number
}

/** The values with the most decisions. */
function valuesWithMost(read: ReadRows, query: CountsQuery): Promise<RankedValue[]> {
  const column = valueColumns[query.dimension]!
  const groups = (by: string, value: string, key = "''", more: readonly string[] = []) => {
    const { sql, params } = spannedRows(query, [by, 'weight'], more)
    const name = by.replace(`${decisionsTable}.`, '')
    return {
      sql: `SELECT ${value} AS value, toString(${key}) AS key, size, total FROM (SELECT ${name} AS grouped, sum(weight) AS size, count() OVER () AS total
FROM (${sql}) GROUP BY grouped ORDER BY size DESC LIMIT {most:UInt32} WITH TIES)`,
      params,
    }
  }
  const parts =
    column === 'client_ip'
      ? [
          groups('client_key', ipv4Of('grouped'), 'grouped', [`client_key ${ipv4Keys}`]),
          groups(column, 'toString(grouped)', clientKeyOf('grouped'), [`client_key NOT ${ipv4Keys}`]),
        ]
      : [groups(column, 'toString(grouped)')]
  const all = parts.map(({ sql }, index) => `SELECT value, key, size, total, ${index} AS part FROM (${sql})`)
  // Each part has the number of its own values in every row.
  const total = parts.map((_, index) => `maxIf(total, part = ${index}) OVER ()`).join(' + ')
  return read<RankedValue>(
    `SELECT value, key, ${total} AS total FROM (${all.join('\nUNION ALL\n')})
ORDER BY size DESC, value LIMIT {most:UInt32}`,
    { ...parts[0]!.params, most: query.valuesMax },
  )
}

/** The keys of IPv4 clients, each of one address: numbers make groups in half of the time of addresses. */
const ipv4Keys = `BETWEEN ${0xffff_0000_0000} AND ${0xffff_ffff_ffff}`
const ipv4Of = (key: string): string =>
  `toString(toIPv6(IPv4NumToString(toUInt32(bitAnd(${key}, 4294967295)))))`
/** As ClickHouse shows addresses of the type IPv6. */
const isIpv4 = (client: string): boolean => client.startsWith('::ffff:') && client.includes('.')

/** For each of these autonomous systems, the address of a client in it. */
export async function clientsInNetworks(
  read: ReadRows,
  {
    accountId,
    sinceMs,
    untilMs,
    time = 'stored',
  }: Pick<CountsQuery, 'accountId' | 'time' | 'sinceMs' | 'untilMs'>,
  networks: readonly number[],
): Promise<ReadonlyMap<number, string>> {
  if (networks.length === 0) return new Map()
  const found = await read<{ network: number; client: string }>(
    `SELECT asn AS network, toString(client_ip) AS client FROM ${decisionsTable}
PREWHERE account_id = {account:String} AND asn IN {networks:Array(UInt32)}
WHERE ${[...sinceSql(time), untilSql(time)].join(' AND ')} LIMIT 1 BY network LIMIT {limit:UInt32}`,
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
