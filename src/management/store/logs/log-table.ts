/** The common parts of the tables of the logs: engines, expiry, and the statements that make them. */
import { type TableColumn, tableColumn } from '../../../delivery/wire/blocks/row-columns.js'
import type { Clickhouse } from '../clickhouse/clickhouse.js'
import { type Cluster, shardEngine, storedName, targetOn } from '../clickhouse/cluster.js'
import { columnSql } from './log-sql.js'
import type { Projection } from './quarter-sums.js'

export interface LogBounds {
  readonly retentionMs: number
  /** On disk; on a cluster, on that of each server. */
  readonly bytesMax: number
  /** If rows move to another volume before they expire. */
  readonly move?: LogMove | undefined
}

/** Where rows are moved to, and when. */
interface LogMove {
  /** A storage policy that has the volume of new rows and this one. */
  readonly policy: string
  readonly volume: string
  readonly afterMs: number
}

export interface LogTable {
  readonly name: string
  /** Columns, indices and projections. */
  readonly lines: readonly string[]
  readonly engine: string
  readonly ttl: string
  readonly settings: Readonly<Record<string, number | string>>
}

/** Rows of such a length of time, counted from the epoch, have parts of their own. */
const partitionHours = 4
export const partitionMs = partitionHours * 60 * 60_000

/** Parts of a limited size, so that the oldest can be dropped without losing much. */
const partsPerTable = 16

/**
 * ClickHouse merges some ten parts at a time instead of five: a row is written half as often, which costs as much as its
 * insert, and searches read a few parts more.
 */
const mergeBase = 10

/**
 * A part with fewer bytes, uncompressed, has its columns in one file instead of some eighty: so do few merged parts. Whoever
 * reads one column of such a part reads all of them, so a partition with little traffic should have more.
 */
const wideBytes = 8 * 1024 * 1024

const expiry = (time: string, keptMs: number): string =>
  `${time} + toIntervalSecond(${Math.ceil(keptMs / 1000)})`

/** Expired parts are dropped whole; a changed TTL is applied to them without rewriting their rows. */
const expiring = {
  ttl_only_drop_parts: 1,
  materialize_ttl_recalculate_only: 1,
  merge_with_ttl_timeout: 600,
}

/** Charts show a week, even if rows expire earlier. */
const countsKeptMs = 8 * 24 * 60 * 60_000

interface TableDeclaration {
  readonly name: string
  readonly columns: readonly TableColumn[]
  /** The columns by which rows are sorted. */
  readonly order: string
}

interface RowsDeclaration extends TableDeclaration, Partial<Pick<LogTable, 'settings'>> {
  readonly indices: readonly string[]
  readonly projections?: readonly Projection[]
}

/** A table of rows that are sorted by time, among others. */
export const rowsTable = (
  { name, columns, order, indices, projections = [], settings }: RowsDeclaration,
  { retentionMs, bytesMax, move }: LogBounds,
): LogTable => ({
  name,
  lines: [...columns.map(columnSql), ...indices, ...projections.map(({ sql }) => `PROJECTION ${sql}`)],
  engine: `MergeTree
PARTITION BY toStartOfInterval(time, INTERVAL ${partitionHours} HOUR)
ORDER BY (${order})`,
  ttl: [
    expiry('toDateTime(time)', retentionMs),
    ...(move === undefined ? [] : [`${expiry('toDateTime(time)', move.afterMs)} TO VOLUME '${move.volume}'`]),
  ].join(', '),
  settings: {
    ...expiring,
    ...(move !== undefined && { storage_policy: `'${move.policy}'` }),
    max_bytes_to_merge_at_max_space_in_pool: Math.ceil(bytesMax / partsPerTable),
    merge_selector_base: mergeBase,
    min_bytes_for_wide_part: wideBytes,
    ...settings,
  },
})

export const minuteColumn = tableColumn('minute', "DateTime('UTC')", 'deltas')

interface SumsDeclaration extends TableDeclaration {
  readonly sums: readonly string[]
}

/** A table of sums per minute. */
export const sumsTable = (
  { name, columns, order, sums }: SumsDeclaration,
  { retentionMs }: LogBounds,
): LogTable => ({
  name,
  lines: [...columns, ...sums.map((sum) => tableColumn(sum, 'UInt64', 'narrowed'))].map(columnSql),
  engine: `SummingMergeTree((${sums.join(', ')}))
PARTITION BY toDate(minute)
ORDER BY (${order})`,
  ttl: expiry('minute', Math.max(retentionMs, countsKeptMs)),
  settings: expiring,
})

/** A table whose rows of the same key ClickHouse merges, with a column `minute`. */
export const mergedTable = (
  { name, columns, order }: TableDeclaration,
  { retentionMs }: LogBounds,
): LogTable => ({
  name,
  lines: columns.map(columnSql),
  engine: `AggregatingMergeTree
PARTITION BY toStartOfInterval(minute, INTERVAL ${partitionHours} HOUR)
ORDER BY (${order})`,
  ttl: expiry('toDateTime(minute)', Math.max(retentionMs, countsKeptMs)),
  settings: expiring,
})

/**
 * Settings of later versions of ClickHouse: an insert has all columns in one file however large it is, because files cost
 * more than rows, and a merge replaces them soon; and merges make no statistics of columns, which no search here needs.
 */
const laterSettings: LogTable['settings'] = { min_level_for_wide_part: 1, auto_statistics_types: "''" }

/** The tables with those of them that the server knows. */
export async function withLaterSettings(
  clickhouse: Clickhouse,
  tables: readonly LogTable[],
): Promise<LogTable[]> {
  const known = await clickhouse.rows<{ name: string }>('SELECT name FROM system.merge_tree_settings')
  const names = new Set(known.map(({ name }) => name))
  const added = Object.fromEntries(Object.entries(laterSettings).filter(([name]) => names.has(name)))
  return tables.map((table) => ({ ...table, settings: { ...table.settings, ...added } }))
}

const settingsOf = (settings: LogTable['settings']): string[] =>
  Object.entries(settings).map(([name, value]) => `${name} = ${value}`)

export const createTable = ({ name, lines, engine, ttl, settings }: LogTable, cluster?: Cluster): string =>
  `CREATE TABLE IF NOT EXISTS ${targetOn(cluster, storedName(cluster, name))} (\n  ${lines.join(',\n  ')}\n) ENGINE = ${shardEngine(cluster, engine)}
TTL ${ttl}
SETTINGS ${settingsOf(settings).join(', ')}`

/** `engine`: the engine and settings of the existing table, as ClickHouse shows them. */
export async function applyBounds(
  clickhouse: Clickhouse,
  { name, ttl, settings }: LogTable,
  engine: string,
): Promise<void> {
  const { cluster } = clickhouse
  const alter = `ALTER TABLE ${targetOn(cluster, storedName(cluster, name))}`
  const changed = settingsOf(settings).filter((setting) => !`${engine},`.includes(`${setting},`))
  if (changed.length > 0) await clickhouse.command(`${alter} MODIFY SETTING ${changed.join(', ')}`)
  if (!engine.includes(`TTL ${ttl} `)) await clickhouse.command(`${alter} MODIFY TTL ${ttl}`)
}
