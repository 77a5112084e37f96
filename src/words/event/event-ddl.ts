/**
 * Tables for events in the words of databases, derived from the declarations of events. Times are UTC. A field is never
 * required, as sources select fields; the head of an event always is.
 */
import type { TSchema } from '../../ground/core/schema.js'
import {
  type Column,
  type Columns,
  type ColumnType,
  columnsOf,
  type Scalar,
  unionOf,
} from './event-columns.js'
import type { EventSchema } from './event-schemas.js'

export const dialects = ['clickhouse', 'athena', 'bigquery', 'duckdb', 'json-schema'] as const
export type Dialect = (typeof dialects)[number]

export interface EventTable {
  /** The kinds of the events that it takes. */
  readonly kinds: readonly string[]
  /** Sentences about the events. */
  readonly about: string
  /** `tcp_connection_closed_v0`, unless a name is given. */
  readonly name: string
  readonly columns: Columns
  /** If it takes events of one kind. */
  readonly schema: TSchema | undefined
}

/** A table per kind; with a name, one table for all of them. */
export function eventTables(schemas: readonly EventSchema[], name?: string): EventTable[] {
  if (name === undefined) return schemas.map((schema) => tableOf([schema], schema.kind.replaceAll('.', '_')))
  return [tableOf(schemas, name)]
}

const tableOf = (schemas: readonly EventSchema[], name: string): EventTable => ({
  kinds: schemas.map(({ kind }) => kind),
  about: schemas.map(({ kind, about }) => `${kind}: ${about}`).join('\n'),
  name,
  columns: unionOf(schemas.map(({ schema }) => columnsOf(schema))),
  schema: schemas.length === 1 ? schemas[0]?.schema : undefined,
})

/** SQL as text, or a schema as JSON. */
export function ddlOf(table: EventTable, dialect: Dialect): string | object {
  if (dialect === 'bigquery') return bigqueryFields(table.columns)
  if (dialect === 'json-schema') return jsonSchema(table)
  return createTable(table, sqlDialects[dialect])
}

// --- SQL ---

interface SqlDialect {
  readonly types: Readonly<Record<Scalar, string>>
  /** The type of a value that may be null, if the dialect has types that are never null. */
  readonly orNull?: (type: string) => string
  readonly list: (type: string) => string
  readonly map: (type: string) => string
  /** Around the members of a nested object, and between name and type. */
  readonly members: readonly [begin: string, colon: string, end: string]
  readonly quote: string
  readonly create: string
  readonly notNull: string
  /** Behind the columns. */
  readonly end: (kinds: readonly string[]) => string
  /** Types of columns of the head, which databases store better than others. */
  readonly head?: Readonly<Record<string, string>>
}

const sqlDialects: Readonly<Record<'clickhouse' | 'athena' | 'duckdb', SqlDialect>> = {
  clickhouse: {
    types: {
      text: 'String',
      int32: 'Int32',
      int64: 'Int64',
      double: 'Float64',
      bool: 'Bool',
      time: "DateTime64(6, 'UTC')",
      // Its text. The type JSON refuses objects that have both a name with a dot and the same path.
      json: 'String',
    },
    orNull: (type) => `Nullable(${type})`,
    list: (type) => `Array(${type})`,
    map: (type) => `Map(String, ${type})`,
    members: ['Tuple(', ' ', ')'],
    quote: '`',
    create: 'CREATE TABLE',
    notNull: '',
    // An event that is sent again replaces the same event, and a request that is sent again is not stored twice.
    end: () => `
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(event_timestamp)
ORDER BY (account_id, event_timestamp, event_id)
SETTINGS non_replicated_deduplication_window = 1000`,
    head: { event_type: 'LowCardinality(String)', account_id: 'LowCardinality(String)' },
  },
  athena: {
    types: {
      text: 'string',
      int32: 'int',
      int64: 'bigint',
      double: 'double',
      bool: 'boolean',
      // As it is written: the SerDe does not read six fractional digits and `Z` as a timestamp.
      time: 'string',
      json: 'string',
    },
    list: (type) => `array<${type}>`,
    map: (type) => `map<string, ${type}>`,
    members: ['struct<', ': ', '>'],
    quote: '`',
    create: 'CREATE EXTERNAL TABLE',
    notNull: '',
    end: athenaLocation,
  },
  duckdb: {
    types: {
      text: 'VARCHAR',
      int32: 'INTEGER',
      int64: 'BIGINT',
      double: 'DOUBLE',
      bool: 'BOOLEAN',
      time: 'TIMESTAMP',
      json: 'JSON',
    },
    list: (type) => `${type}[]`,
    map: (type) => `MAP(VARCHAR, ${type})`,
    members: ['STRUCT(', ' ', ')'],
    quote: '"',
    create: 'CREATE TABLE',
    notNull: ' NOT NULL',
    end: () => '',
  },
}

/**
 * Objects of one kind lie where the destination kind `s3` writes them by default: a query with a `day` reads those of that
 * day only. Names of headers keep their letter case.
 */
function athenaLocation([kind = '', ...others]: readonly string[]): string {
  const serde = `ROW FORMAT SERDE 'org.openx.data.jsonserde.JsonSerDe'
WITH SERDEPROPERTIES ('case.insensitive' = 'FALSE')`
  const bucket = 's3://YOUR-BUCKET/weir/'
  if (others.length > 0) return `\n${serde}\nLOCATION '${bucket}'`
  return `
PARTITIONED BY (day string)
${serde}
LOCATION '${bucket}${kind}/'
TBLPROPERTIES (
  'projection.enabled' = 'true',
  'projection.day.type' = 'date',
  'projection.day.format' = 'yyyy/MM/dd',
  'projection.day.range' = '2026/01/01,NOW',
  'storage.location.template' = '${bucket}${kind}/$\{day}/'
)`
}

/** Words that DuckDB or the DDL of Athena reserves; ClickHouse takes all of them as names. */
const reserved = new Set(
  `
  all alter analyse analyze and anti any array as asc asof asymmetric at authorization between bigint binary
  boolean both by case cashe cast char check collate collation column columns commit concurrently conf constraint
  create cross cube current current_date current_timestamp cursor database date dayofweek decimal default
  deferrable delete desc describe distinct div do double drop else end except exchange exists extended external
  extract false fetch float floor following for foreign freeze from full function generated glob grant group
  grouping having if ilike import in initially inner insert int integer intersect interval into is isnull join
  lambda lateral leading left less like limit local macro map more natural none not notnull null numeric of offset
  on only or order out outer over overlaps partialscan partition percent pivot pivot_longer pivot_wider placing
  positional preceding precision preserve primary procedure qualify range reads reduce references regexp returning
  revoke right rlike rollback rollup row rows select semi set show similar smallint some start struct summarize
  symmetric table tablesample then time timestamp to trailing transform trigger true truncate try_cast unbounded
  union unique uniquejoin unpack unpivot update user using utc_timestamp values varchar variadic verbose views
  when where window with
  `
    .trim()
    .split(/\s+/),
)

const nameIn = ({ quote }: SqlDialect, name: string): string =>
  /^[a-z_][a-z0-9_]*$/.test(name) && !reserved.has(name) ? name : `${quote}${name}${quote}`

function createTable({ kinds, about, name, columns }: EventTable, dialect: SqlDialect): string {
  const lines = [...columns].map(([column, { type, ...may }]) => {
    const isAlways = !may.mayBeNull && !may.mayBeMissing
    const written = dialect.head?.[column] ?? sqlType(type, dialect, '  ', isAlways)
    return `  ${nameIn(dialect, column)} ${written}${isAlways ? dialect.notNull : ''}`
  })
  const comment = about.replaceAll(/^/gm, '-- ')
  const quoted = name.split('.').map((part) => nameIn(dialect, part))
  return `${comment}\n${dialect.create} ${quoted.join('.')} (\n${lines.join(',\n')}\n)${dialect.end(kinds)};`
}

function sqlType(type: ColumnType, dialect: SqlDialect, indent: string, isAlways: boolean): string {
  if (typeof type === 'string') {
    const written = dialect.types[type]
    return isAlways ? written : (dialect.orNull?.(written) ?? written)
  }
  // Elements and values are never null.
  if ('list' in type) return dialect.list(sqlType(type.list, dialect, indent, true))
  if ('values' in type) return dialect.map(sqlType(type.values, dialect, indent, true))
  const [begin, colon, end] = dialect.members
  const inner = `${indent}  `
  const members = [...type.members].map(
    ([name, member]) =>
      `${inner}${nameIn(dialect, name)}${colon}${sqlType(member.type, dialect, inner, false)}`,
  )
  return `${begin}\n${members.join(',\n')}\n${indent}${end}`
}

// --- BigQuery: the file of a schema that `bq` takes ---

const bigqueryTypes: Readonly<Record<Scalar, string>> = {
  text: 'STRING',
  int32: 'INTEGER',
  int64: 'INTEGER',
  double: 'FLOAT',
  bool: 'BOOLEAN',
  time: 'TIMESTAMP',
  json: 'JSON',
}

interface BigqueryField {
  readonly name: string
  readonly type: string
  readonly mode: 'NULLABLE' | 'REQUIRED' | 'REPEATED'
  readonly description?: string
  readonly fields?: readonly BigqueryField[]
}

function bigqueryFields(columns: Columns, isHead = true): BigqueryField[] {
  return [...columns].map(([name, column]) => {
    const { about, mayBeNull, mayBeMissing } = column
    const isAlways = isHead && !mayBeNull && !mayBeMissing
    return {
      name,
      ...bigqueryType(column, isAlways ? 'REQUIRED' : 'NULLABLE'),
      ...(about === '' ? {} : { description: about }),
    }
  })
}

/** BigQuery has no maps, no null for a list, and no lists of lists: these are JSON. */
function bigqueryType(
  { type, mayBeNull }: Pick<Column, 'type' | 'mayBeNull'>,
  mode: BigqueryField['mode'],
): Omit<BigqueryField, 'name'> {
  if (typeof type === 'string') return { type: bigqueryTypes[type], mode }
  if ('members' in type) return { type: 'RECORD', mode, fields: bigqueryFields(type.members, false) }
  const isRepeated = 'list' in type && !mayBeNull && !(typeof type.list === 'object' && 'list' in type.list)
  return isRepeated
    ? bigqueryType({ type: type.list, mayBeNull: false }, 'REPEATED')
    : { type: bigqueryTypes.json, mode }
}

// --- JSON Schema ---

/** As `GET /schemas/<kind>.json` has it, with each definition where it is used. */
const jsonSchema = ({ schema }: EventTable): object => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  ...(withDocumented(JSON.parse(JSON.stringify(schema))) as object),
})

function withDocumented(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(withDocumented)
  if (typeof part !== 'object' || part === null) return part
  const { 'x-documented': documented, ...own } = part as Record<string, unknown>
  return Object.fromEntries(
    Object.entries({ ...own, ...(documented as object | undefined) }).map(([key, value]) => [
      key,
      withDocumented(value),
    ]),
  )
}
