/**
 * Brings the database to the shape this version of Weir expects. Every step can run twice and beside another
 * process that does the same.
 *
 * What declarations say is derived: missing tables are made, missing columns added, views replaced. A change that
 * can't be derived, such as a column of another type, is a numbered step below; each runs once per database.
 */
import { sleep } from '../core/clock.js'
import { hash128, newId } from '../core/ids.js'
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
  await shapeTables(clickhouse, resources)
  await shapeViews(clickhouse, resources)
  return readDeployment(clickhouse)
}

async function shapeTables(clickhouse: Clickhouse, resources: readonly AnyResource[]): Promise<void> {
  const found = await columnsByTable(clickhouse)
  for (const resource of resources) {
    const known = found.get(tableOf(resource.kind))
    if (known === undefined) await clickhouse.command(createTableSql(resource))
    for (const column of columnsOf(resource)) {
      if (known?.has(column.name) === false) await clickhouse.command(addColumnSql(resource, column))
    }
  }
}

/** What is there is looked at once: most starts find nothing to do, and a statement for each table takes seconds. */
async function columnsByTable(clickhouse: Clickhouse): Promise<Map<string, Set<string>>> {
  const columns = await clickhouse.rows<{ table: string; name: string }>(
    'SELECT table, name FROM system.columns WHERE database = currentDatabase()',
  )
  const tables = new Map<string, Set<string>>()
  for (const { table, name } of columns) tables.set(table, (tables.get(table) ?? new Set()).add(name))
  return tables
}

/** A view carries the digest of what it was made of as its comment, and is replaced where that is another now. */
async function shapeViews(clickhouse: Clickhouse, resources: readonly AnyResource[]): Promise<void> {
  const comments = await clickhouse.rows<{ comment: string }>(
    "SELECT comment FROM system.tables WHERE database = currentDatabase() AND engine = 'View'",
  )
  const found = new Set(comments.map(({ comment }) => comment))
  for (const resource of resources) {
    for (const statement of createViewsSql(resource)) {
      // The types of its columns are those of the table.
      const digest = `Weir ${hash128(createTableSql(resource), statement)}`
      if (found.has(digest)) continue
      await insistently(() => clickhouse.command(`${statement} COMMENT '${digest}'`))
    }
  }
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

/** A machine that is out of breath must not look like a database that is away. */
const deploymentTimeoutMs = 5_000

/** Which deployment the database belongs to. */
export async function readDeployment(
  clickhouse: Clickhouse,
  timeoutMs = deploymentTimeoutMs,
): Promise<Deployment> {
  const sql = 'SELECT id, key_fingerprint AS keyFingerprint FROM deployment'
  const [first] = await clickhouse.rows<Deployment>(sql, {}, timeoutMs)
  if (first === undefined) throw new Error('The database does not tell which deployment it belongs to.')
  return first
}
