/**
 * The tables of the decision log:
 *
 * - `decisions`: a row per record or question, in the layout of `wire/decision-rows.ts`, sorted by account and time; with
 *   sums per quarter of an hour (`quarter-sums.ts`).
 * - `decision_counts`: sums per minute, which the same insert feeds through a materialized view. Each record is counted
 *   once per dimension, so that the sums stay small however edges, policies and countries are combined. Questions have
 *   dimensions of their own. Records of the past are not counted: their minutes are long ago.
 * - `expression_failures`: expressions without a result, by minute and place (`failure-table.ts`).
 * - `deliveries` and `delivery_counts`: the same for attempts to deliver (`delivery-tables.ts`).
 *
 * All expire by themselves. ClickHouse drops whole parts then, which costs nothing, so rows stay a few hours longer
 * than they must. On a cluster, each is a table of every shard and one over all of them (`store/clickhouse/cluster.ts`).
 */

import { enumType, type TableColumn, tableColumn, word } from '../../../delivery/wire/blocks/row-columns.js'
import { decisionColumns } from '../../../delivery/wire/decision-rows.js'
import type { Clickhouse } from '../clickhouse/clickhouse.js'
import {
  type Cluster,
  createDistributed,
  feedOn,
  storedName,
  storedRows,
  targetOn,
} from '../clickhouse/cluster.js'
import { deliveryCountsFeed, deliveryTables } from './delivery-tables.js'
import { failureTable } from './failure-table.js'
import { columnSql } from './log-sql.js'
import {
  applyBounds,
  createTable,
  type LogBounds,
  type LogTable,
  minuteColumn,
  rowsTable,
  sumsTable,
  withLaterSettings,
} from './log-table.js'
import { isSummedBy, quarterProjections } from './quarter-sums.js'

export const decisionsTable = 'decisions'
export const countsTable = 'decision_counts'
export const decisionSums = ['allow', 'block', 'deny', 'bytes_in', 'bytes_out'] as const

/** Dimensions by which counts are grouped; `none`, `asked`: all records, all questions of the account. */
const dimensionNumbers = {
  none: 0,
  edge: 1,
  policy: 2,
  country: 3,
  rule: 4,
  asked: 5,
  asked_edge: 6,
  asked_policy: 7,
  asked_country: 8,
  asked_rule: 9,
}
const dimensionColumn = tableColumn('dimension', enumType(dimensionNumbers), 'packed')

/**
 * The client as a number that a search reads in a fifth of the time of `client_ip`: an IPv4 address, or the upper half
 * of an IPv6 address. Neighbours have neighbouring numbers, so ranges are found as well.
 */
export const clientKeyOf = (address: string): string => {
  const number = `toUInt128(${address})`
  return `if(${number} < ${2 ** 48}, toUInt64(${number}), toUInt64(bitShiftRight(${number}, 64)))`
}

/** ClickHouse computes it from the values of a row. */
const clientKeyColumn = {
  name: 'client_key',
  type: `UInt64 MATERIALIZED ${clientKeyOf('client_ip')}`,
  codec: 'CODEC(T64, LZ4)',
}

/**
 * Rows whose own times are in a range are near each other, because records are mostly stored soon after they began, and logs
 * are loaded in their order.
 */
const ownTimeIndex = `INDEX by_own_time ${decisionColumns.ownAt.name} TYPE minmax GRANULARITY 1`

/** A bloom filter that is wrong for one granule of twenty: five bits per value, and a lookup reads little. */
const indexOf = (column: string): string =>
  `INDEX by_${column} ${column} TYPE bloom_filter(0.05) GRANULARITY 4`

const { accountId, recordId, edgeId } = decisionColumns

const rows = {
  name: decisionsTable,
  columns: [...Object.values(decisionColumns), clientKeyColumn],
  indices: [...[recordId, edgeId].map(({ name }) => indexOf(name)), ownTimeIndex],
  projections: quarterProjections,
  order: 'account_id, time, sequence, line',
  // An operator may delete rows with DELETE FROM, which by default refuses tables with projections.
  settings: { lightweight_mutation_projection_mode: "'rebuild'" },
}

const sums = {
  name: countsTable,
  columns: [accountId, dimensionColumn, minuteColumn, word('value')],
  sums: decisionSums,
  order: 'account_id, dimension, minute, value',
}

const tables = (bounds: LogBounds): LogTable[] => [
  rowsTable(rows, bounds),
  sumsTable(sums, bounds),
  failureTable(bounds),
  ...deliveryTables(bounds),
]

/** This name in a feed's query distinguishes the feed from that of an earlier version. */
const groups = 'sourced_groups'

/** The pairs of dimension and value that a row counts for. */
function pairsOf(all: string, prefix: string): string {
  const values = { edge: 'edge_id', policy: 'policy', country: 'country', rule: 'rule_id' }
  const pairs = Object.entries(values).map(([name, column]) => `('${prefix}${name}', toString(${column}))`)
  return `[('${all}', ''), ${pairs.join(', ')}]`
}

/**
 * Fills the counts. Rows of an insert are first summed for what they have in common, which leaves a few: a row is then
 * hashed once and not once per dimension. Columns are named with their table, because sums have the same names.
 */
const countsQuery = (
  cluster: Cluster | undefined,
): string => `SELECT account_id, pair.1 AS dimension, minute, pair.2 AS value,
  ${decisionSums.map((name) => `sum(${groups}.${name}) AS ${name}`).join(', ')}
FROM (
  SELECT account_id, toStartOfMinute(time) AS minute, edge_id, policy, country, rule_id, source,
    sumIf(weight, decision = 'allow') AS allow, sumIf(weight, decision = 'block') AS block,
    sumIf(weight, decision = 'deny') AS deny,
    sum(${decisionsTable}.bytes_in) AS bytes_in, sum(${decisionsTable}.bytes_out) AS bytes_out
  FROM ${storedRows(cluster, decisionsTable)} WHERE source != 'history'
  GROUP BY account_id, minute, edge_id, policy, country, rule_id, source
) AS ${groups}
ARRAY JOIN if(source = 'record', ${pairsOf('none', '')}, ${pairsOf('asked', 'asked_')}) AS pair
GROUP BY account_id, dimension, minute, value`

const countsFeed = {
  name: `${countsTable}_feed`,
  create: (cluster: Cluster | undefined) =>
    `CREATE MATERIALIZED VIEW IF NOT EXISTS ${feedOn(cluster, `${countsTable}_feed`, countsTable)} AS ${countsQuery(cluster)}`,
}

const feeds = [countsFeed, deliveryCountsFeed]

/** The statements that make all tables of the logs in an empty database. */
export const ddlOfLogs = (bounds: LogBounds, cluster: Cluster | undefined): readonly string[] => [
  ...tables(bounds).flatMap((table) => [
    createTable(table, cluster),
    ...(cluster === undefined ? [] : [createDistributed(cluster, table.name, 'CREATE TABLE IF NOT EXISTS')]),
  ]),
  ...feeds.map(({ create }) => create(cluster)),
]

/** Creates what is missing, and applies changed bounds; most starts find nothing to do. */
export async function shapeLogTables(clickhouse: Clickhouse, bounds: LogBounds): Promise<void> {
  const present = await clickhouse.rows<{ name: string; engine: string; query: string }>(
    'SELECT name, engine_full AS engine, as_select AS query FROM system.tables WHERE database = currentDatabase()',
  )
  const { cluster } = clickhouse
  const engines = new Map(present.map(({ name, engine }) => [name, engine]))
  for (const table of await withLaterSettings(clickhouse, tables(bounds))) {
    const engine = engines.get(storedName(cluster, table.name))
    if (engine === undefined) await clickhouse.command(createTable(table, cluster))
    else await applyBounds(clickhouse, table, engine)
  }
  await updateColumns(clickhouse)
  await addProjections(clickhouse)
  if (cluster !== undefined) await shapeDistributed(clickhouse, cluster, tables(bounds))
  for (const { name, create } of feeds) if (!engines.has(name)) await clickhouse.command(create(cluster))
  const feed = present.find(({ name }) => name === countsFeed.name)
  if (feed !== undefined && !feed.query.includes(groups))
    await clickhouse.command(
      `ALTER TABLE ${targetOn(cluster, countsFeed.name)} MODIFY QUERY ${countsQuery(cluster)}`,
    )
}

/**
 * A table of an earlier version has an index instead of the client's key; keys of its rows are computed when they are read.
 * Its times are compressed in a way that is slower to read, and stay so in its parts until they are merged. Its counts have
 * fewer dimensions.
 */
async function updateColumns(clickhouse: Clickhouse): Promise<void> {
  const { cluster } = clickhouse
  const decisions = storedName(cluster, decisionsTable)
  const counts = storedName(cluster, countsTable)
  const alterDecisions = `ALTER TABLE ${targetOn(cluster, decisions)}`
  const found = await clickhouse.rows<{ table: string; name: string; type: string; codec: string }>(
    `SELECT table, name, type, compression_codec AS codec FROM system.columns
WHERE database = currentDatabase() AND table IN ('${decisions}', '${counts}')`,
  )
  const typeOf = (table: string, name: string) =>
    found.find((column) => column.table === table && column.name === name)?.type
  const later = Object.values(decisionColumns).filter(({ absent }) => absent !== undefined)
  const missing = [...later, clientKeyColumn].filter(({ name }) => typeOf(decisions, name) === undefined)
  if (missing.length > 0)
    await clickhouse.command(
      `${alterDecisions} ${missing.map((column) => `ADD COLUMN IF NOT EXISTS ${columnSql(column)}${placeOf(column, cluster)}`).join(', ')},
DROP INDEX IF EXISTS by_client_ip, ADD ${ownTimeIndex.replace('INDEX', 'INDEX IF NOT EXISTS')}`,
    )
  await addWords(clickhouse, alterDecisions, (name) => typeOf(decisions, name))
  const { at } = decisionColumns
  const codec = found.find(({ table, name }) => table === decisions && name === at.name)?.codec
  if (codec?.includes('ZSTD')) await clickhouse.command(`${alterDecisions} MODIFY COLUMN ${columnSql(at)}`)
  const { name, type } = dimensionColumn
  if (typeOf(counts, name) !== type)
    await clickhouse.command(`ALTER TABLE ${targetOn(cluster, counts)} MODIFY COLUMN ${name} ${type}`)
}

/** A column of known words takes those of this version; rows stay as they are. */
async function addWords(
  clickhouse: Clickhouse,
  alterDecisions: string,
  typeOf: (name: string) => string | undefined,
): Promise<void> {
  const changed = Object.values(decisionColumns).filter(({ name, type }) => {
    const present = typeOf(name)
    // The declared type may have a default after it.
    return type.startsWith('Enum') && present !== undefined && !`${type} `.startsWith(`${present} `)
  })
  // ClickHouse changes no column that a projection is sorted by. Without projections, parts that exist are read row by row
  // until they expire.
  if (changed.some(({ name }) => isSummedBy(name)))
    for (const { name } of quarterProjections)
      await clickhouse.command(`${alterDecisions} DROP PROJECTION IF EXISTS ${name}`)
  for (const column of changed)
    await clickhouse.command(`${alterDecisions} MODIFY COLUMN ${columnSql(column)}`)
}

/** On a cluster, a new column has the place that it has in a new table: a server that joins must make the same one. */
function placeOf({ name }: TableColumn, cluster: Cluster | undefined): string {
  if (cluster === undefined) return ''
  const at = rows.columns.findIndex((column) => column.name === name)
  return ` AFTER ${rows.columns[at - 1]!.name}`
}

/**
 * For new parts: those that exist are read row by row until they expire, which costs less than to read and write them all
 * now.
 */
async function addProjections(clickhouse: Clickhouse): Promise<void> {
  const { cluster } = clickhouse
  const decisions = storedName(cluster, decisionsTable)
  const [found] = await clickhouse.rows<{ statement: string }>(
    `SELECT create_table_query AS statement FROM system.tables
WHERE database = currentDatabase() AND name = '${decisions}'`,
  )
  const missing = quarterProjections.filter(({ name }) => !found?.statement.includes(`PROJECTION ${name} `))
  if (missing.length > 0)
    await clickhouse.command(
      `ALTER TABLE ${targetOn(cluster, decisions)} ${missing.map(({ sql }) => `ADD PROJECTION IF NOT EXISTS ${sql}`).join(', ')}`,
    )
}

/** The tables over all shards have the columns of those that store the rows. They hold nothing, so they are made again. */
async function shapeDistributed(
  clickhouse: Clickhouse,
  cluster: Cluster,
  shaped: readonly LogTable[],
): Promise<void> {
  const found = await clickhouse.rows<{ table: string; columns: unknown }>(
    `SELECT table, groupArray((name, type, default_kind)) AS columns FROM (
SELECT * FROM system.columns WHERE database = currentDatabase() ORDER BY table, position) GROUP BY table`,
  )
  const columns = new Map(found.map((each) => [each.table, JSON.stringify(each.columns)]))
  for (const { name } of shaped) {
    const known = columns.get(name)
    if (known === undefined)
      await clickhouse.command(createDistributed(cluster, name, 'CREATE TABLE IF NOT EXISTS'))
    else if (known !== columns.get(storedName(cluster, name)))
      await clickhouse.command(createDistributed(cluster, name, 'CREATE OR REPLACE TABLE'))
  }
}
