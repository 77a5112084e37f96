/**
 * Brings the database to the shape this version of Weir expects. Every step can run twice and beside another
 * process that does the same.
 *
 * What declarations say is derived: missing tables are made, missing columns added, views replaced. A change that
 * can't be derived, such as a column of another type, is a numbered step below; each runs once per database.
 */
import { sleep } from '../core/clock.js'
import { newId } from '../core/ids.js'
import type { AnyResource } from '../resource/define.js'
import type { Clickhouse } from './clickhouse.js'
import { addColumnSql, columnsOf, createTableSql, createViewsSql, tableOf } from './tables.js'

/** What belongs to one database alone. */
export interface Deployment {
  readonly id: string
  /** Of the key that seals its secrets. */
  readonly keyFingerprint: string
}

export interface Migration {
  /** Never reused, never changed once released. */
  readonly id: number
  readonly statements: (made: Deployment) => readonly string[]
}

const migrations: readonly Migration[] = [
  {
    id: 1,
    // A view, because its making is the one statement of which only the first succeeds, and for all to see.
    statements: ({ id, keyFingerprint }) => [
      `CREATE VIEW IF NOT EXISTS deployment AS SELECT '${id}' AS id, '${keyFingerprint}' AS key_fingerprint`,
    ],
  },
  {
    id: 2,
    // Views of a misspelt plural: what is derived is replaced under its name, but never taken away under an old one.
    statements: () => ['DROP VIEW IF EXISTS api_keies', 'DROP VIEW IF EXISTS api_keies_history'],
  },
]

export async function migrate(
  clickhouse: Clickhouse,
  resources: readonly AnyResource[],
  keyFingerprint: string,
  steps = migrations,
): Promise<Deployment> {
  await clickhouse.command(
    `CREATE TABLE IF NOT EXISTS schema_migrations (id UInt32, applied_at DateTime64(3, 'UTC') DEFAULT now64(3))
ENGINE = MergeTree ORDER BY id`,
  )
  const applied = await clickhouse.rows<{ id: number }>('SELECT DISTINCT id FROM schema_migrations')
  const done = new Set(applied.map(({ id }) => id))
  const made = { id: newId('dep_'), keyFingerprint }
  for (const { id, statements } of steps) {
    if (done.has(id)) continue
    for (const statement of statements(made)) await clickhouse.command(statement)
    await clickhouse.insert('schema_migrations', [{ id }])
  }
  for (const resource of resources) await shapeTables(clickhouse, resource)
  return readDeployment(clickhouse)
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
  for (const statement of createViewsSql(resource)) await insistently(() => clickhouse.command(statement))
}

const triesMax = 5
const pauseMs = 50

/** Two processes that replace the same view at once get in each other's way for a moment. */
async function insistently(call: () => Promise<void>): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await call()
    } catch (error) {
      if (tries === triesMax) throw error
      await sleep(pauseMs * tries)
    }
  }
}

const deploymentTimeoutMs = 2_000

/** Which deployment the database belongs to. */
export async function readDeployment(clickhouse: Clickhouse): Promise<Deployment> {
  const sql = 'SELECT id, key_fingerprint AS keyFingerprint FROM deployment'
  const [first] = await clickhouse.rows<Deployment>(sql, {}, deploymentTimeoutMs)
  if (first === undefined) throw new Error('The database does not tell which deployment it belongs to.')
  return first
}
