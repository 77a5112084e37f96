/** What the tables of the decision log have in common: types and codecs of columns, expiry, and the statements that make them. */
import type { Clickhouse } from '../clickhouse/clickhouse.js'

export interface LogBounds {
  readonly retentionMs: number
  /** On disk. */
  readonly bytesMax: number
}

export interface LogTable {
  readonly name: string
  readonly columns: string
  readonly engine: string
  readonly ttl: string
  readonly settings: Readonly<Record<string, number>>
}

export const enumOf = (numbers: Readonly<Record<string, number>>): string =>
  `Enum8(${Object.entries(numbers)
    .map(([word, number]) => `'${word}' = ${number}`)
    .join(', ')})`

export const word = 'LowCardinality(String)'
export const milliseconds = "DateTime64(3, 'UTC')"
export const packed = 'CODEC(ZSTD)'
/** For numbers that grow slowly from row to row. */
export const deltas = 'CODEC(Delta, ZSTD)'
/** For numbers of which most are small. */
export const narrowed = 'CODEC(T64, ZSTD)'

/** Columns, or indices, one per line. */
export const listed = (columns: readonly (readonly string[])[]): string =>
  columns.map((column) => column.join(' ')).join(',\n  ')

/** Parts of a limited size, so that the oldest can be dropped without losing much. */
const partsPerTable = 16

/**
 * ClickHouse merges some ten parts at a time instead of five: a row is written half as often, which costs as much as its
 * insert, and searches read a few parts more.
 */
const mergeBase = 10

/** A part of fewer bytes, not compressed, is one file and not some eighty: most inserts are, and few merged parts. */
const wideBytes = 32 * 1024 * 1024

export const mergingRows = ({ bytesMax }: LogBounds) => ({
  max_bytes_to_merge_at_max_space_in_pool: Math.ceil(bytesMax / partsPerTable),
  merge_selector_base: mergeBase,
  min_bytes_for_wide_part: wideBytes,
})

export const expiry = (time: string, keptMs: number): string =>
  `${time} + toIntervalSecond(${Math.ceil(keptMs / 1000)})`

/** Expired parts are dropped whole; a changed TTL is applied to them without rewriting their rows. */
export const expiring = {
  ttl_only_drop_parts: 1,
  materialize_ttl_recalculate_only: 1,
  merge_with_ttl_timeout: 600,
}

/** Charts look back a week, also where rows expire earlier. */
const countsKeptMs = 8 * 24 * 60 * 60_000

/** How long sums per minute are kept. */
export const countsExpiry = ({ retentionMs }: LogBounds): string =>
  expiry('minute', Math.max(retentionMs, countsKeptMs))

const settingsOf = (settings: LogTable['settings']): string[] =>
  Object.entries(settings).map(([name, value]) => `${name} = ${value}`)

export const createTable = ({ name, columns, engine, ttl, settings }: LogTable): string =>
  `CREATE TABLE IF NOT EXISTS ${name} (\n  ${columns}\n) ENGINE = ${engine}
TTL ${ttl}
SETTINGS ${settingsOf(settings).join(', ')}`

/** `engine`: what ClickHouse says about the existing table. */
export async function applyBounds(
  clickhouse: Clickhouse,
  { name, ttl, settings }: LogTable,
  engine: string,
): Promise<void> {
  const changed = settingsOf(settings).filter((setting) => !`${engine},`.includes(`${setting},`))
  if (changed.length > 0) await clickhouse.command(`ALTER TABLE ${name} MODIFY SETTING ${changed.join(', ')}`)
  if (!engine.includes(`TTL ${ttl} `)) await clickhouse.command(`ALTER TABLE ${name} MODIFY TTL ${ttl}`)
}
