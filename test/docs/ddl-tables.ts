/** The tables of `docs/analysing.md` about tables of events: types in each dialect, and one whole table. */
import { trafficEvents } from '../../src/words/event/catalog.js'
import type { FieldType } from '../../src/words/event/define.js'
import { type Column, type Columns, columnsOf } from '../../src/words/event/event-columns.js'
import { type Dialect, ddlOf, eventTables } from '../../src/words/event/event-ddl.js'
import { eventSchemas } from '../../src/words/event/event-schemas.js'
import { table } from '../../src/words/event/markdown.js'

const schemas = eventSchemas(trafficEvents)

/** The column of a field, by its dotted name. */
function columnAt(columns: Columns, [name = '', ...path]: readonly string[]): Column {
  const column = columns.get(name)
  if (column === undefined) throw new Error(`There is no column ${name}.`)
  const { type } = column
  return typeof type === 'object' && 'members' in type ? columnAt(type.members, path) : column
}

/** The first field of each type that events have. */
const exampleOf = new Map<FieldType, Column>()
for (const [index, { fields }] of trafficEvents.entries()) {
  const columns = columnsOf(schemas[index]!.schema)
  for (const [name, { type }] of fields)
    if (!exampleOf.has(type)) exampleOf.set(type, columnAt(columns, ['object', ...name.split('.')]))
}

function typeIn(dialect: Dialect, column: Column): string {
  const [of] = eventTables(schemas.slice(0, 1))
  const ddl = ddlOf({ ...of!, columns: new Map([['field', column]]) }, dialect)
  if (typeof ddl === 'string') return /^ {2}field (.*)$/m.exec(ddl)?.[1] ?? ''
  return (ddl as { type: string }[])[0]!.type
}

const sqlDialects = ['clickhouse', 'duckdb', 'athena', 'bigquery'] as const
const titles = { clickhouse: 'ClickHouse', duckdb: 'DuckDB', athena: 'Athena', bigquery: 'BigQuery' }

const sqlTypes = (): string =>
  table(
    ['Type of the field', ...sqlDialects.map((dialect) => titles[dialect])],
    [...exampleOf].map(([type, column]) => [
      type,
      ...sqlDialects.map((dialect) => `\`${typeIn(dialect, column)}\``),
    ]),
  )

function exampleTables(): string {
  const [of] = eventTables(schemas.filter(({ kind }) => kind === 'tcp_connection_closed.v0'))
  return sqlDialects
    .filter((dialect) => dialect !== 'bigquery')
    .map((dialect) => {
      const sql = `\`\`\`sql\n${ddlOf(of!, dialect)}\n\`\`\``
      return `<details>\n<summary>${titles[dialect]}</summary>\n\n${sql}\n\n</details>`
    })
    .join('\n\n')
}

export const ddlTables = { sqlTypes, exampleTables }
