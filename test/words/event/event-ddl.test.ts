/** Tables for events, in the databases themselves where they run here; events come back as they were inserted. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { TSchema } from '../../../src/ground/core/schema.js'
import { openClickhouse } from '../../../src/management/store/clickhouse/clickhouse.js'
import { type Dialect, ddlOf, dialects, eventTables } from '../../../src/words/event/event-ddl.js'
import { eventSchemas } from '../../../src/words/event/event-schemas.js'
import { Checks } from '../../harness/checks.js'
import { startClickhouseFront } from '../../harness/clickhouse-front.js'
import { openDuckdb } from '../../harness/duckdb.js'
import { tempDir } from '../../harness/temp-dir.js'

const schemas = eventSchemas()

/** JSON that no table declares. */
const anything = { 'A.b': 1, A: { c: [null, 'x'] } }
const time = '2026-11-20T10:00:00.123456Z'

interface Shape {
  readonly [keyword: string]: unknown
  readonly properties?: Readonly<Record<string, TSchema>>
  readonly required?: readonly string[]
  readonly anyOf?: readonly TSchema[]
  readonly additionalProperties?: TSchema
  readonly items?: TSchema
  readonly enum?: readonly unknown[]
  readonly 'x-documented'?: object
}

/** A value of a schema: with all that it may have, or with no more than it must. */
function sampleOf(schema: TSchema, isWhole: boolean): unknown {
  const { 'x-documented': documented, ...own } = schema as Shape
  const shape = { ...own, ...documented } as Shape
  const { properties = {}, required = [], anyOf, additionalProperties, items } = shape
  if (anyOf !== undefined) return isWhole ? sampleOf(anyOf[0]!, isWhole) : null
  if (shape['const'] !== undefined) return shape['const']
  if (shape.enum !== undefined) return shape.enum[0]
  switch (shape['type']) {
    case 'object': {
      if (additionalProperties && Object.keys(properties).length === 0) {
        const value = sampleOf(additionalProperties, isWhole)
        return value === anything ? anything : { 'X-Name': value, 'x."y"': value }
      }
      const members = Object.entries(properties).filter(([name]) => isWhole || required.includes(name))
      return Object.fromEntries(members.map(([name, member]) => [name, sampleOf(member, isWhole)]))
    }
    case 'array':
      return isWhole ? [sampleOf(items!, true), sampleOf(items!, true)] : []
    case 'integer':
      return shape['format'] === 'int32' ? -(2 ** 31) : 2 ** 53 - 1
    case 'number':
      return 52.5
    case 'boolean':
      return true
    case 'string':
      return shape['format'] === 'date-time' ? time : 'Größe "a"\\\n\'b\''
    default:
      return anything
  }
}

const withTimes = (value: unknown, shown: string): unknown =>
  JSON.parse(JSON.stringify(value).replaceAll(time, shown))

/** Without what is null or empty: databases show members that an event does not have. */
function present(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? undefined : value.map(present)
  if (typeof value !== 'object' || value === null) return value ?? undefined
  const members = Object.entries(value)
    .map(([name, member]) => [name, present(member)] as const)
    .filter(([, member]) => member !== undefined)
  return members.length === 0 ? undefined : Object.fromEntries(members)
}

/** Texts that hold JSON, as JSON. */
const parsed = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value), (_, member: unknown) =>
    typeof member === 'string' && member.startsWith('{"A.b"') ? JSON.parse(member) : member,
  )

const tables = [
  ...schemas.map((schema) => ({ table: eventTables([schema])[0]!, of: [schema] })),
  { table: eventTables(schemas.slice(0, 3), 'traffic')[0]!, of: schemas.slice(0, 3) },
  { table: eventTables(schemas, 'everything')[0]!, of: schemas },
].map(({ table, of }) => ({
  table,
  events: of.flatMap(({ schema }) => [sampleOf(schema, true), sampleOf(schema, false)]) as object[],
}))
const sqlOf = (table: (typeof tables)[number]['table'], dialect: Dialect) => String(ddlOf(table, dialect))
const linesOf = (events: readonly object[]) => events.map((event) => `${JSON.stringify(event)}\n`).join('')

/** Where a member has other types in other kinds, each is JSON; so only tables of kinds that agree are compared. */
const isCompared = (name: string): boolean => name !== 'everything'

t.test('DuckDB takes all events into the tables, and shows them as they are', async (t) => {
  const dir = tempDir(t)
  const duckdb = await openDuckdb(t)
  const file = join(dir, 'events.ndjson')
  for (const { table, events } of tables) {
    await duckdb.run(sqlOf(table, 'duckdb'))
    writeFileSync(file, linesOf(events))
    await duckdb.run(`COPY ${table.name} FROM '${file}' (FORMAT json)`)
    const rows = await duckdb.rows(`SELECT * FROM ${table.name}`)
    t.equal(rows.length, events.length, table.name)
    if (isCompared(table.name))
      t.strictSame(
        rows.map(present),
        events.map((event) => present(withTimes(event, '2026-11-20 10:00:00.123456'))),
      )
  }
})

/** As the destination kind sends them: a field that the table does not have would be refused. */
const strict = `SETTINGS date_time_input_format = 'best_effort', input_format_skip_unknown_fields = 0,
input_format_json_ignore_unknown_keys_in_named_tuple = 0`

t.test('ClickHouse takes all events into the tables, and shows them as they are', async (t) => {
  const dir = tempDir(t)
  const front = await startClickhouseFront(join(dir, 'clickhouse'))
  t.teardown(() => front.process.kill())
  const clickhouse = await openClickhouse({ url: front.url, directory: dir })
  t.teardown(() => clickhouse.close())
  for (const { table, events } of tables) {
    await clickhouse.command(sqlOf(table, 'clickhouse').replace(/;$/, ''))
    // Repeats are dropped by id, so each event needs one.
    const numbered = events.map((event, index) => ({ ...event, event_id: `ev_${index}` }))
    for (const repeat of [1, 2])
      await clickhouse.command(
        `INSERT INTO ${table.name} ${strict}, insert_deduplication_token = '${repeat}' FORMAT JSONEachRow\n${linesOf(numbered)}`,
      )
    const rows = await clickhouse.rows<{ event_id: string }>(`SELECT * FROM ${table.name} FINAL`)
    t.equal(rows.length, events.length, `${table.name}, without repeats`)
    if (!isCompared(table.name)) continue
    const byId = new Map(rows.map((row) => [row.event_id, row]))
    t.strictSame(
      numbered.map((event) => present(parsed(byId.get(event.event_id)))),
      numbered.map((event) => present(withTimes(event, '2026-11-20 10:00:00.123456'))),
      table.name,
    )
  }
})

const endOf = ([kind, ...others]: readonly string[]): RegExp => {
  const serde = "ROW FORMAT SERDE '[\\w.]+'\nWITH SERDEPROPERTIES \\('case.insensitive' = 'FALSE'\\)"
  const root = 's3://YOUR-BUCKET/weir/'
  if (others.length > 0) return new RegExp(`^${serde}\nLOCATION '${root}'$`)
  const properties = String.raw`TBLPROPERTIES \(\n(  '[\w.]+' = '[^']+',?\n)+\)`
  return new RegExp(`^PARTITIONED BY \\(day string\\)\n${serde}\nLOCATION '${root}${kind}/'\n${properties}$`)
}

t.test('Athena: a grammar of what Hive takes', (t) => {
  const name = String.raw`(?:\x60[a-z_][a-z0-9_]*\x60|[a-z_][a-z0-9_]*)`
  for (const { table } of tables) {
    const sql = sqlOf(table, 'athena')
    const [, columns = '', end] =
      /^CREATE EXTERNAL TABLE \w+ \(\n([\s\S]*?)\n\)\n([\s\S]*);$/m.exec(sql) ?? []
    t.match(end, endOf(table.kinds), table.name)
    // From the innermost type outwards, each becomes a primitive one.
    const primitive = /\b(string|int|bigint|double|boolean)\b/
    let rest = columns.replaceAll(/\s+/g, ' ')
    for (let before = ''; before !== rest; ) {
      before = rest
      rest = rest
        .replaceAll(
          new RegExp(`struct< (${name}: ${primitive.source}(, (?=${name}: )| (?=>)))+>`, 'g'),
          'string',
        )
        .replaceAll(new RegExp(`(array<|map<string, )${primitive.source}>`, 'g'), 'string')
    }
    t.match(`${rest},`, new RegExp(`^( ${name} ${primitive.source},)+$`), table.name)
  }
  t.end()
})

interface BigqueryField {
  readonly name: string
  readonly type: string
  readonly mode: string
  readonly description?: string
  readonly fields?: readonly BigqueryField[]
}

/** Does a value fit the field, as a load job of newline-delimited JSON takes it? */
function fits(value: unknown, { name, type, mode, fields = [] }: BigqueryField): boolean {
  if (mode === 'REPEATED') {
    const each = { name, type, mode: 'REQUIRED', fields }
    return value === undefined || (Array.isArray(value) && value.every((member) => fits(member, each)))
  }
  if (value === undefined || value === null) return mode === 'NULLABLE'
  switch (type) {
    case 'RECORD':
      return recordFits(value as Record<string, unknown>, fields)
    case 'STRING':
      return typeof value === 'string'
    case 'INTEGER':
      return Number.isSafeInteger(value)
    case 'FLOAT':
      return typeof value === 'number'
    case 'BOOLEAN':
      return typeof value === 'boolean'
    case 'TIMESTAMP':
      return typeof value === 'string' && /^\d{4}-\d\d-\d\dT[\d:]{8}(\.\d{1,6})?Z$/.test(value)
    default:
      return type === 'JSON'
  }
}

const recordFits = (value: Readonly<Record<string, unknown>>, fields: readonly BigqueryField[]): boolean =>
  Object.keys(value).every((key) => fields.some(({ name }) => name === key)) &&
  fields.every((field) => fits(value[field.name], field))

t.test('BigQuery: schemas are within its rules, and events fit them', (t) => {
  const checks = new Checks()
  const check = (fields: readonly BigqueryField[], depth = 1): void => {
    checks.ok(depth <= 15, 'levels of nesting')
    checks.ok(fields.length > 0, 'a record has fields')
    checks.equal(new Set(fields.map(({ name }) => name)).size, fields.length, 'no name twice')
    for (const field of fields) {
      checks.match(field.name, /^[a-z_][a-z0-9_]{0,299}$/)
      checks.match(field.mode, /^(NULLABLE|REQUIRED|REPEATED)$/)
      checks.ok((field.description ?? '').length <= 1024, field.name)
      checks.equal(field.type === 'RECORD', field.fields !== undefined, field.name)
      checks.equal(
        Object.keys(field).filter((key) => !['name', 'type', 'mode', 'description', 'fields'].includes(key)),
        [],
      )
      if (field.fields !== undefined) check(field.fields, depth + 1)
    }
  }
  for (const { table, events } of tables) {
    const fields = ddlOf(table, 'bigquery') as BigqueryField[]
    check(fields)
    for (const event of events) checks.ok(recordFits(event as Record<string, unknown>, fields), table.name)
  }
  checks.report(t)
  t.end()
})

t.test('types of a kind in each dialect', (t) => {
  const [table] = eventTables(schemas.filter(({ kind }) => kind === 'http_request_complete.v0'))
  const typeIn = (dialect: Dialect, name: string) =>
    new RegExp(`^ *${name}:? (.*?),?$`, 'm').exec(sqlOf(table!, dialect))?.[1]
  const expected = {
    clickhouse: [
      'Nullable(Int64)',
      'Nullable(Int32)',
      "Nullable(DateTime64(6, 'UTC'))",
      'Map(String, Array(String))',
      'Nullable(Bool)',
    ],
    duckdb: ['BIGINT', 'INTEGER', 'TIMESTAMP', 'MAP(VARCHAR, VARCHAR[])', 'BOOLEAN'],
    athena: ['bigint', 'int', 'string', 'map<string, array<string>>', 'boolean'],
  }
  const names = ['bytes_saved', 'status_code', 'start_ts', 'headers', 'connection_reused']
  for (const [dialect, types] of Object.entries(expected))
    t.strictSame(
      names.map((name) => typeIn(dialect as Dialect, name)),
      types,
      dialect,
    )
  t.match(sqlOf(table!, 'athena'), '`user`: struct<')
  t.strictSame(
    Object.keys(expected).toSorted(),
    dialects.filter((each) => !/bigquery|json-schema/.test(each)).toSorted(),
  )
  t.end()
})
