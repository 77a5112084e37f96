/**
 * Brings the database to the schema of this version of Weir. Every step can run twice, also in several processes at
 * once.
 *
 * Most of it is derived from the declarations: missing tables are created, missing columns added, views replaced. A
 * change that can't be derived, such as another column type, is a numbered step below, run once per database.
 */
import { sleep } from '../../core/clock.js'
import { hash128, newId } from '../../core/ids.js'
import type { AnyResource } from '../../resource/define.js'
import type { Clickhouse } from './clickhouse.js'
import { addColumnSql, columnsOf, createTableSql, createViewsSql, tableOf } from './tables.js'

/** The identity of a database. */
export interface Deployment {
  readonly id: string
  /** Fingerprint of the key that seals its secrets. */
  readonly keyFingerprint: string
}

interface Migration {
  /** Never reused; a released step never changes. */
  readonly id: number
  readonly statements: (made: Deployment) => readonly string[]
}

const migrations: readonly Migration[] = [
  {
    id: 1,
    // A view, because its creation is the one statement that only the first of several processes completes.
    statements: ({ id, keyFingerprint }) => [
      `CREATE VIEW IF NOT EXISTS deployment AS SELECT '${id}' AS id, '${keyFingerprint}' AS key_fingerprint`,
    ],
  },
  {
    id: 2,
    // Views with a misspelt plural: derived views are replaced under their name, never dropped under an old one.
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

/** All tables in one query: most starts find nothing to do, and a statement per table takes seconds. */
async function columnsByTable(clickhouse: Clickhouse): Promise<Map<string, Set<string>>> {
  const columns = await clickhouse.rows<{ table: string; name: string }>(
    'SELECT table, name FROM system.columns WHERE database = currentDatabase()',
  )
  const tables = new Map<string, Set<string>>()
  for (const { table, name } of columns) tables.set(table, (tables.get(table) ?? new Set()).add(name))
  return tables
}

const viewTriesMax = 5
const viewPauseMs = 50

/** A view has the digest of its definition as its comment, and is replaced if the definition changed. */
async function shapeViews(clickhouse: Clickhouse, resources: readonly AnyResource[]): Promise<void> {
  const comments = await clickhouse.rows<{ comment: string }>(
    "SELECT comment FROM system.tables WHERE database = currentDatabase() AND engine = 'View'",
  )
  const found = new Set(comments.map(({ comment }) => comment))
  for (const resource of resources) {
    for (const statement of createViewsSql(resource)) {
      // The table is part of the digest because the view's column types are the table's.
      const digest = `Weir ${hash128(createTableSql(resource), statement)}`
      if (found.has(digest)) continue
      // Two processes that replace the same view at once can make each other fail briefly.
      await insistently(
        () => clickhouse.command(`${statement} COMMENT '${digest}'`),
        viewTriesMax,
        viewPauseMs,
      )
    }
  }
}

/** Calls again after a failure, with growing pauses. */
export async function insistently<T>(call: () => Promise<T>, triesMax: number, pauseMs: number): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await call()
    } catch (error) {
      if (tries === triesMax) throw error
      await sleep(pauseMs * tries)
    }
  }
}

/** Long enough that an overloaded machine does not look like a database that is away. */
const deploymentTimeoutMs = 5_000

/** Which deployment the database belongs to. */
export async function readDeployment(
  clickhouse: Clickhouse,
  timeoutMs = deploymentTimeoutMs,
): Promise<Deployment> {
  const sql = 'SELECT id, key_fingerprint AS keyFingerprint FROM deployment'
  const [first] = await clickhouse.rows<Deployment>(sql, {}, timeoutMs)
  if (first === undefined)
    throw new Error(
      'The database does not say which deployment it belongs to: its view "deployment" is empty.',
    )
  return first
}
