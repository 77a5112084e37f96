/** `weir ddl`: tables for events, in the words of a database; and the tables of Weir itself. */
import type { Command } from 'commander'
import { insteadOf } from '../../ground/core/nearest.js'
import { type Dialect, ddlOf, dialects, type EventTable, eventTables } from '../../words/event/event-ddl.js'
import type { EventSchema } from '../../words/event/event-schemas.js'
import { UsageFault } from './guide/exit-codes.js'

interface DdlOptions {
  readonly dialect: string
  readonly kind?: readonly string[]
  readonly table?: string
  readonly json?: true
}

/** `ownTables`: the statements that make the tables of Weir itself. */
export function addDdlCommand(program: Command, ownTables: () => Promise<readonly string[]>): void {
  program
    .command('ddl')
    .description('tables for events in ClickHouse, Athena, BigQuery or DuckDB; JSON Schemas of events')
    .summary('tables for events in the words of a database')
    .option('--dialect <dialect>', `${dialects.join(', ')}; bigquery: a schema for the command bq`)
    .option(
      '--kind <kind>',
      'only this kind of event, such as tcp_connection_closed.v0; may be repeated',
      (kind: string, others: readonly string[] = []) => [...others, kind],
    )
    .option('--table <name>', 'one table of this name for all of them, instead of one per kind')
    .option('--json', 'a line of JSON for each table, or statement')
    .option('--own', 'the tables of Weir itself in ClickHouse instead, with the settings that are in force')
    .action(async ({ own, ...options }: Partial<DdlOptions> & { readonly own?: true }) => {
      if (own) return void process.stdout.write(ownText(await ownTables(), options))
      const { dialect, ...rest } = options
      if (dialect === undefined) throw new UsageFault(`--dialect is missing: ${dialects.join(', ')}.`)
      const { eventSchemas } = await import('../../words/event/event-schemas.js')
      process.stdout.write(ddlText(eventSchemas(), { ...rest, dialect }))
    })
}

/** Statements for `clickhouse client --multiquery`; throws for options of other tables. */
export function ownText(statements: readonly string[], { json, ...others }: Partial<DdlOptions>): string {
  const [other] = Object.entries(others).flatMap(([name, value]) => (value === undefined ? [] : [name]))
  if (other !== undefined)
    throw new UsageFault(`--own prints the tables of Weir itself, which have no --${other}: leave it out.`)
  if (json) return statements.map((ddl) => `${JSON.stringify({ ddl })}\n`).join('')
  return statements.map((statement) => `${statement};\n`).join('\n')
}

const tableName = /^[A-Za-z_]\w{0,127}(\.[A-Za-z_]\w{0,127})?$/

/** The output of the command; throws for options that are wrong. */
export function ddlText(schemas: readonly EventSchema[], options: DdlOptions): string {
  const { kind, table, json } = options
  const dialect = dialects.find((each) => each === options.dialect)
  if (dialect === undefined)
    throw new UsageFault(
      `There is no dialect ${JSON.stringify(options.dialect)}: ${insteadOf(options.dialect, dialects)}.`,
    )
  if (table !== undefined && dialect === 'json-schema')
    throw new UsageFault('--table: a JSON Schema is of one kind of event; leave it out.')
  if (table !== undefined && !tableName.test(table))
    throw new UsageFault(
      `--table is ${JSON.stringify(table)}: letters, digits and _ are allowed, such as events or database.events.`,
    )
  const tables = eventTables(kind === undefined ? schemas : kind.map((name) => named(schemas, name)), table)
  if (json) return tables.map((each) => `${JSON.stringify(lineOf(each, dialect))}\n`).join('')
  const written = tables.map((each) => [nameOf(each, dialect), ddlOf(each, dialect)] as const)
  const [[, first] = ['', ''], ...others] = written
  if (typeof first === 'string') return written.map(([, sql]) => `${sql}\n`).join('\n')
  // A file of one schema is what other programs take.
  return `${JSON.stringify(others.length === 0 ? first : Object.fromEntries(written), null, 2)}\n`
}

const nameOf = ({ name, kinds }: EventTable, dialect: Dialect): string =>
  dialect === 'json-schema' ? kinds.join() : name

const lineOf = (table: EventTable, dialect: Dialect) => ({
  kinds: table.kinds,
  table: table.name,
  dialect,
  ddl: ddlOf(table, dialect),
})

function named(schemas: readonly EventSchema[], name: string): EventSchema {
  const found = schemas.find(({ kind }) => kind === name)
  if (found !== undefined) return found
  const advice = insteadOf(
    name,
    schemas.map(({ kind }) => kind),
  )
  throw new UsageFault(`There is no kind of event ${JSON.stringify(name)}: ${advice}.`)
}
