/**
 * The tables of a resource kind, derived from its declaration.
 *
 * - `<kind>_versions`: append-only, a row per change, deletions as tombstones. Its engine merges rows that are equal
 *   in account, id and version, so a change that is written twice after a crash is there once.
 * - `<kinds>`: a view of the current rows. `<kinds>_history`: a view of every change. Neither shows secrets.
 */
import { isoMillis } from '../../../ground/core/clock.js'
import { pluralOf } from '../../../ground/core/text/plural.js'
import type { AnyResource, Column, Field, Fields, Row } from '../../../words/resource/kind/define.js'
import { type Cluster, completeEngine, nameOn, targetOn } from './cluster.js'

/** The author of rows, and the time. */
interface RowOrigin {
  /** Milliseconds since the epoch. */
  readonly changedAt: number
  /** Id of the credential that made the change, or `cli`. */
  readonly changedBy: string
  /** The request that made the change, if one did. */
  readonly clientAddress?: string | undefined
  readonly operationId?: string | undefined
  /** Revision of the configuration just before the change. */
  readonly baseRevision?: number | undefined
  /** Was it made although policy tests may fail? */
  readonly testsSkipped?: boolean | undefined
}

const columnTypes: Record<Exclude<Column, 'module' | 'none'>, string> = {
  text: 'Nullable(String)',
  texts: 'Array(String)',
  flag: 'Nullable(Bool)',
  integer: 'Nullable(Int64)',
  time: "Nullable(DateTime64(3, 'UTC'))",
  json: 'Nullable(String)',
}

interface TableColumn {
  readonly name: string
  readonly type: string
  readonly hidden: boolean
}

const headColumns: readonly TableColumn[] = [
  { name: 'account_id', type: 'String', hidden: false },
  { name: 'id', type: 'String', hidden: false },
  { name: 'version', type: 'UInt64', hidden: false },
  { name: 'deleted', type: 'Bool', hidden: false },
  { name: 'created_at', type: "DateTime64(3, 'UTC')", hidden: false },
  { name: 'changed_at', type: "DateTime64(3, 'UTC')", hidden: false },
  { name: 'changed_by', type: 'String', hidden: false },
  { name: 'client_address', type: 'Nullable(String)', hidden: false },
  { name: 'operation_id', type: 'Nullable(String)', hidden: false },
  { name: 'base_revision', type: 'Nullable(UInt64)', hidden: false },
  { name: 'tests_skipped', type: 'Bool', hidden: false },
]

export const tableOf = (kind: string): string => `${kind}_versions`
const viewOf = (kind: string): string => pluralOf(kind)
const historyViewOf = (kind: string): string => `${pluralOf(kind)}_history`

/** Columns of fields; a module has one for each of its fields, prefixed with its name. */
function* fieldColumns(fields: Fields, prefix = ''): Generator<TableColumn> {
  for (const [name, field] of Object.entries(fields)) {
    if (field.column === 'none') continue
    if (field.column === 'module') yield* fieldColumns(field.fields ?? {}, `${prefix}${name}_`)
    else yield { name: `${prefix}${name}`, type: columnTypes[field.column], hidden: field.shown === 'hidden' }
  }
}

export const columnsOf = (resource: AnyResource): readonly TableColumn[] => [
  ...headColumns,
  ...fieldColumns(resource.fields),
]

/**
 * An insert is durable when its files and their directory are synced. Points are read by id and pages by account:
 * small granules keep both cheap.
 */
const tableSettings = 'fsync_after_insert = 1, fsync_part_directory = 1, index_granularity = 256'

/**
 * Repeated inserts are recognized among so many, for so long; after that, the engine merges their rows. A part that comes
 * from another server is synced, too.
 */
const replicaSettings =
  'replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800, min_compressed_bytes_to_fsync_after_fetch = 1'

export function createTableSql(resource: AnyResource, cluster?: Cluster): string {
  const columns = columnsOf(resource).map(({ name, type }) => `  \`${name}\` ${type}`)
  const engine = completeEngine(cluster, 'ReplacingMergeTree')
  const settings = cluster === undefined ? tableSettings : `${tableSettings}, ${replicaSettings}`
  return `CREATE TABLE IF NOT EXISTS ${targetOn(cluster, tableOf(resource.kind))} (\n${columns.join(',\n')}\n)
ENGINE = ${engine} ORDER BY (account_id, id, version) SETTINGS ${settings}`
}

/**
 * On a cluster, one server gives the column to the others. There it has the place that it has in a new table: a server that
 * joins must make the same one.
 */
export function addColumnSql(resource: AnyResource, column: TableColumn, cluster?: Cluster): string {
  const sql = `ALTER TABLE ${tableOf(resource.kind)} ADD COLUMN IF NOT EXISTS \`${column.name}\` ${column.type}`
  if (cluster === undefined) return sql
  const columns = columnsOf(resource)
  const before = columns[columns.findIndex(({ name }) => name === column.name) - 1]
  return before === undefined ? `${sql} FIRST` : `${sql} AFTER \`${before.name}\``
}

export function createViewsSql(resource: AnyResource, cluster?: Cluster): readonly string[] {
  const names = columnsOf(resource)
    .filter(({ hidden }) => !hidden)
    .map(({ name }) => `\`${name}\``)
  const table = nameOn(cluster, tableOf(resource.kind))
  const current = names.filter((name) => name !== '`deleted`').join(', ')
  return [
    `CREATE OR REPLACE VIEW ${targetOn(cluster, viewOf(resource.kind))} AS SELECT ${current} FROM (
  SELECT * FROM ${table} FINAL ORDER BY version DESC LIMIT 1 BY account_id, id) WHERE NOT deleted`,
    `CREATE OR REPLACE VIEW ${targetOn(cluster, historyViewOf(resource.kind))} AS SELECT ${names.join(', ')} FROM ${table} FINAL`,
  ]
}

/** ClickHouse reads and writes times as UTC text with milliseconds. */
function timeText(ms: number): string {
  const text = isoMillis(ms)
  return `${text.slice(0, 10)} ${text.slice(11, 23)}`
}

/** Milliseconds since the epoch. */
export const timeOf = (text: unknown): number => Date.parse(`${String(text).replace(' ', 'T')}Z`)

function encodeValue(column: Column, value: unknown): unknown {
  if (value === null || value === undefined) return column === 'texts' ? [] : null
  if (column === 'json') return JSON.stringify(value)
  return column === 'time' ? timeText(value as number) : value
}

function encodeFields(
  fields: Fields,
  values: Readonly<Record<string, unknown>>,
  into: Record<string, unknown>,
  prefix = '',
): void {
  for (const [name, field] of Object.entries(fields)) {
    const value = values[name]
    if (field.column === 'none') continue
    if (field.column === 'module')
      encodeFields(field.fields ?? {}, (value ?? {}) as Row, into, `${prefix}${name}_`)
    else into[`${prefix}${name}`] = encodeValue(field.column, value)
  }
}

/** Encodes the rows of one change for ClickHouse: a value per column. */
export function rowEncoder(
  resource: AnyResource,
  { changedAt, changedBy, clientAddress, operationId, baseRevision, testsSkipped }: RowOrigin,
): (row: Row, deleted: boolean) => object {
  const changed = {
    changed_at: timeText(changedAt),
    changed_by: changedBy,
    client_address: clientAddress ?? null,
    operation_id: operationId ?? null,
    base_revision: baseRevision ?? null,
    tests_skipped: testsSkipped ?? false,
  }
  return (row, deleted) => {
    const encoded: Record<string, unknown> = {
      account_id: row.account_id,
      id: row.id,
      version: row.version,
      deleted,
      created_at: timeText(row.created_at),
      ...changed,
    }
    encodeFields(resource.fields, row, encoded)
    return encoded
  }
}

export type EncodedRow = Readonly<Record<string, unknown>>

function decodeValue(field: Field<never, null>, value: unknown): unknown {
  // Also a field that the row is older than: then it has the value that it has if none is sent.
  if (value === null || value === undefined) return field.fallback ?? null
  if (field.column === 'json') return JSON.parse(String(value))
  if (field.column === 'time') return timeOf(value)
  // An empty list means the field is unset, which is either an empty list or null.
  if (field.column === 'texts' && (value as unknown[]).length === 0 && field.fallback === null) return null
  return value
}

function decodeFields(fields: Fields, encoded: EncodedRow, prefix = ''): Record<string, unknown> {
  const row: Record<string, unknown> = {}
  for (const [name, field] of Object.entries(fields)) {
    const key = `${prefix}${name}`
    if (field.column === 'none') continue
    if (field.column !== 'module') row[name] = decodeValue(field as never, encoded[key])
    else
      row[name] =
        encoded[`${key}_enabled`] === null ? null : decodeFields(field.fields ?? {}, encoded, `${key}_`)
  }
  return row
}

/** The columns that `decodeRow` reads, for SQL. */
export const rowColumnsOf = (resource: AnyResource): string =>
  ['id', 'account_id', 'version', 'created_at', ...[...fieldColumns(resource.fields)].map(({ name }) => name)]
    .map((name) => `\`${name}\``)
    .join(', ')

/** The columns that `decodeField` reads, for SQL. */
export const columnsOfField = ({ fields }: AnyResource, name: string): string =>
  [...fieldColumns({ [name]: fields[name]! })].map(({ name }) => `\`${name}\``).join(', ')

/** The value of one field of a row. */
export const decodeField = ({ fields }: AnyResource, name: string, encoded: EncodedRow): unknown =>
  decodeFields({ [name]: fields[name]! }, encoded)[name]

/** Decodes a row; the opposite of a `rowEncoder`. */
export function decodeRow(resource: AnyResource, encoded: EncodedRow): Row {
  return {
    id: String(encoded['id']),
    account_id: String(encoded['account_id']),
    version: Number(encoded['version']),
    created_at: timeOf(encoded['created_at']),
    ...decodeFields(resource.fields, encoded),
  }
}
