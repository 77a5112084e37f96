/**
 * Brings the database to the shape this version of Weir expects. Every step can run twice and beside another
 * process that does the same.
 *
 * What declarations say is derived: missing tables are made, missing columns added, views replaced. A change that
 * can't be derived, such as a column of another type, is a numbered step below; each runs once per database.
 */
import { newId } from '../core/ids.js'
import type { AnyResource } from '../resource/define.js'
import type { Clickhouse } from './clickhouse.js'
import { addColumnSql, columnsOf, createTableSql, createViewsSql, tableOf } from './tables.js'

interface Migration {
  /** Never reused, never changed once released. */
  readonly id: number
  readonly statements: readonly string[]
}

const migrations: readonly Migration[] = [
  {
    id: 1,
    statements: [
      `CREATE TABLE IF NOT EXISTS deployment (id String, created_at DateTime64(3, 'UTC') DEFAULT now64(3))
ENGINE = MergeTree ORDER BY created_at`,
    ],
  },
]

export async function migrate(clickhouse: Clickhouse, resources: readonly AnyResource[]): Promise<void> {
  await clickhouse.command(
    `CREATE TABLE IF NOT EXISTS schema_migrations (id UInt32, applied_at DateTime64(3, 'UTC') DEFAULT now64(3))
ENGINE = MergeTree ORDER BY id`,
  )
  const applied = await clickhouse.rows<{ id: number }>('SELECT DISTINCT id FROM schema_migrations')
  const done = new Set(applied.map(({ id }) => id))
  for (const { id, statements } of migrations) {
    if (done.has(id)) continue
    for (const statement of statements) await clickhouse.command(statement)
    await clickhouse.insert('schema_migrations', [{ id }])
  }
  for (const resource of resources) await shapeTables(clickhouse, resource)
}

async function shapeTables(clickhouse: Clickhouse, resource: AnyResource): Promise<void> {
  await clickhouse.command(createTableSql(resource))
  const known = await clickhouse.rows<{ name: string }>(
    'SELECT name FROM system.columns WHERE database = currentDatabase() AND table = {table:String}',
    { table: tableOf(resource.kind) },
  )
  const names = new Set(known.map(({ name }) => name))
  for (const column of columnsOf(resource)) {
    if (!names.has(column.name)) await clickhouse.command(addColumnSql(resource, column))
  }
  for (const statement of createViewsSql(resource)) await clickhouse.command(statement)
}

/** The id of the deployment this database belongs to: the oldest one, where two processes made one each. */
export async function deploymentId(clickhouse: Clickhouse): Promise<string> {
  const known = () =>
    clickhouse.rows<{ id: string }>('SELECT id FROM deployment ORDER BY created_at, id LIMIT 1')
  const [first] = await known()
  if (first !== undefined) return first.id
  await clickhouse.insert('deployment', [{ id: newId('dep_') }])
  return (await known())[0]!.id
}
