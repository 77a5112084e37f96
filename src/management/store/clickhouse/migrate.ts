/**
 * Brings the database to the schema of this version of Weir. Every step can run twice, also in several processes at
 * once.
 *
 * Most of it is derived from the declarations: missing tables are created, missing columns added, views replaced. A
 * change that can't be derived, such as another column type, is a numbered step below, run once per database.
 *
 * On a cluster, most statements are run by every server, and all of them must be up for one.
 */
import { insistently } from '../../../ground/core/concurrency.js'
import { StartFault } from '../../../ground/core/errors.js'
import { checkFormat, dataFormat } from '../../../ground/core/files/data-format.js'
import { hash128, newId } from '../../../ground/core/ids.js'
import type { AnyResource } from '../../../words/resource/kind/define.js'
import type { Clickhouse } from './clickhouse.js'
import { type Cluster, completeEngine, targetOn } from './cluster.js'
import { addColumnSql, columnsOf, createTableSql, createViewsSql, tableOf } from './tables.js'
import { createProbeTableSql, probeTable } from './write-probe.js'

/** The identity of a database. */
export interface Deployment {
  readonly id: string
  /** Fingerprint of the key that seals its secrets; it changes when that key is rotated. */
  keyFingerprint: string
}

interface Migration {
  /** Never reused; a released step never changes. */
  readonly id: number
  readonly statements: (made: Deployment, cluster: Cluster | undefined) => readonly string[]
}

const migrations: readonly Migration[] = [
  {
    id: 1,
    // A view, because its creation is the one statement that only the first of several processes completes. Servers of a
    // cluster might not agree on which was the first, and one that joins later has to learn it: see `claimDeployment`.
    statements: ({ id, keyFingerprint }, cluster) =>
      cluster === undefined
        ? [`CREATE VIEW IF NOT EXISTS deployment AS ${selectDeployment({ id, keyFingerprint })}`]
        : [],
  },
  {
    id: 2,
    // Views with a misspelt plural: derived views are replaced under their name, never dropped under an old one.
    statements: (_, cluster) =>
      ['api_keies', 'api_keies_history'].map((view) => `DROP VIEW IF EXISTS ${targetOn(cluster, view)}`),
  },
]

/** The comment of a view as Weir 0.1.0 makes it, and makes it again at each start. No later version has this definition. */
const oldView = { name: 'tcp_edges', comment: 'Weir RMGYgZsWUirzsw05WG99ck' }

const oldViewRefusal =
  'This database was written by Weir 0.2.0 or later, which Weir 0.1.0 would misread. Start Weir 0.2.0 or later. To go back, restore the backup from before the upgrade.'

/**
 * Who reads it learns which deployment it is; Weir 0.1.0, which knows of no formats, learns why it can't start. A start makes
 * views first, each version its own, and reads this one then.
 */
const selectDeployment = ({ id, keyFingerprint }: Deployment): string =>
  `SELECT '${id}' AS id, '${keyFingerprint}' AS key_fingerprint WHERE NOT throwIf((SELECT count() FROM system.tables
WHERE database = currentDatabase() AND name = '${oldView.name}' AND comment = '${oldView.comment}') > 0, '${oldViewRefusal}')`

/** Steps above are no changes: each says that the database has this format, or had it (`core/files/data-format.ts`). */
const formatsFrom = 1_000_000
const ownStep = formatsFrom + dataFormat

const stepsTableSql = (
  cluster: Cluster | undefined,
) => `CREATE TABLE IF NOT EXISTS ${targetOn(cluster, 'schema_migrations')} (id UInt32, applied_at DateTime64(3, 'UTC') DEFAULT now64(3))
ENGINE = ${completeEngine(cluster, 'MergeTree')} ORDER BY id`

const deploymentTableSql = (cluster: Cluster): string =>
  `CREATE TABLE IF NOT EXISTS ${targetOn(cluster, 'deployment')} (id String, key_fingerprint String)
ENGINE = ${completeEngine(cluster, 'MergeTree')} ORDER BY id`

/** The statements that make all tables and views of resources in an empty database. */
export const ddlOfResources = (
  resources: readonly AnyResource[],
  cluster: Cluster | undefined,
): readonly string[] => [
  stepsTableSql(cluster),
  createProbeTableSql(cluster),
  ...(cluster === undefined ? [] : [deploymentTableSql(cluster)]),
  ...resources.flatMap((resource) => [
    createTableSql(resource, cluster),
    ...viewsOf(resource, cluster).map(({ sql }) => sql),
  ]),
]

export async function migrate(
  clickhouse: Clickhouse,
  resources: readonly AnyResource[],
  keyFingerprint: string,
  steps = migrations,
): Promise<Deployment> {
  const { cluster } = clickhouse
  if (cluster !== undefined) await checkCluster(clickhouse, cluster)
  if (cluster === undefined || !(await hasTable(clickhouse, 'schema_migrations')))
    await clickhouse.command(stepsTableSql(cluster))
  const applied = await clickhouse.rows<{ id: number }>('SELECT DISTINCT id FROM schema_migrations')
  const done = new Set(applied.map(({ id }) => id))
  checkFormat('The database', { format: Math.max(...done) - formatsFrom })
  const made = { id: newId('dep_'), keyFingerprint }
  for (const { id, statements } of steps) {
    if (done.has(id)) continue
    for (const statement of statements(made, cluster)) await clickhouse.command(statement)
    await clickhouse.insert('schema_migrations', [{ id }], `migration:${id}`)
  }
  if (cluster !== undefined) await claimDeployment(clickhouse, cluster, made)
  await shapeTables(clickhouse, resources)
  await shapeViews(clickhouse, resources)
  const deployment = await readDeployment(clickhouse)
  if (!done.has(ownStep)) {
    // The view of an earlier version refuses no one.
    if (cluster === undefined) await storeFingerprint(clickhouse, deployment)
    await clickhouse.insert('schema_migrations', [{ id: ownStep }], `migration:${ownStep}`)
  }
  return deployment
}

/**
 * Throws a fault for the operator if the server does not know the cluster, or lacks the macros that name its place in it.
 */
async function checkCluster(clickhouse: Clickhouse, { name }: Cluster): Promise<void> {
  const servers = await clickhouse.rows(
    'SELECT 1 AS one FROM system.clusters WHERE cluster = {name:String}',
    {
      name,
    },
  )
  if (servers.length === 0)
    throw new StartFault(
      `CLICKHOUSE_CLUSTER is ${name}: the ClickHouse server has no cluster of this name in its "remote_servers".`,
    )
  const macros = await clickhouse.rows<{ macro: string }>('SELECT macro FROM system.macros')
  const known = new Set(macros.map(({ macro }) => macro))
  const missing = ['shard', 'replica'].filter((macro) => !known.has(macro))
  if (missing.length > 0)
    throw new StartFault(
      `CLICKHOUSE_CLUSTER is ${name}: the ClickHouse server has no macro ${missing.map((macro) => `{${macro}}`).join(' and ')}.`,
    )
}

/** A statement for all servers would need all of them at every start. */
async function hasTable(clickhouse: Clickhouse, table: string): Promise<boolean> {
  const [found] = await clickhouse.rows<{ result: number }>(`EXISTS TABLE ${table}`)
  return found?.result === 1
}

/** If several processes do it at once, the first one's row stays: the others repeat its insert. */
async function claimDeployment(
  clickhouse: Clickhouse,
  cluster: Cluster,
  { id, keyFingerprint }: Deployment,
): Promise<void> {
  if (!(await hasTable(clickhouse, 'deployment'))) await clickhouse.command(deploymentTableSql(cluster))
  const found = await clickhouse.rows('SELECT id FROM deployment')
  if (found.length > 0) return
  await clickhouse.insert('deployment', [{ id, key_fingerprint: keyFingerprint }], 'deployment')
}

async function shapeTables(clickhouse: Clickhouse, resources: readonly AnyResource[]): Promise<void> {
  const found = await columnsByTable(clickhouse)
  if (!found.has(probeTable)) await clickhouse.command(createProbeTableSql(clickhouse.cluster))
  for (const resource of resources) {
    const known = found.get(tableOf(resource.kind))
    if (known === undefined) await clickhouse.command(createTableSql(resource, clickhouse.cluster))
    for (const column of columnsOf(resource)) {
      if (known?.has(column.name) === false)
        await clickhouse.command(addColumnSql(resource, column, clickhouse.cluster))
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
const viewsOf = (resource: AnyResource, cluster: Cluster | undefined) =>
  createViewsSql(resource, cluster).map((statement) => {
    // The table is part of the digest because the view's column types are the table's.
    const digest = `Weir ${hash128(createTableSql(resource, cluster), statement)}`
    return { digest, sql: `${statement} COMMENT '${digest}'` }
  })

async function shapeViews(clickhouse: Clickhouse, resources: readonly AnyResource[]): Promise<void> {
  const comments = await clickhouse.rows<{ comment: string }>(
    "SELECT comment FROM system.tables WHERE database = currentDatabase() AND engine = 'View'",
  )
  const found = new Set(comments.map(({ comment }) => comment))
  for (const resource of resources) {
    for (const { digest, sql } of viewsOf(resource, clickhouse.cluster)) {
      if (found.has(digest)) continue
      // Two processes that replace the same view at once can make each other fail briefly.
      await insistently(() => clickhouse.command(sql), viewTriesMax, viewPauseMs)
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

/** From now on the secrets of the database are those of this key. */
export async function storeFingerprint(
  clickhouse: Clickhouse,
  { id, keyFingerprint }: Deployment,
): Promise<void> {
  await clickhouse.command(
    clickhouse.cluster === undefined
      ? `CREATE OR REPLACE VIEW deployment AS ${selectDeployment({ id, keyFingerprint })}`
      : `ALTER TABLE deployment UPDATE key_fingerprint = '${keyFingerprint}' WHERE id = '${id}' SETTINGS mutations_sync = 2`,
  )
}

/**
 * Would an insert into a table of resources be confirmed? A cluster without most of its servers, or without Keeper, answers
 * reads.
 */
export async function hasQuorum(clickhouse: Clickhouse, timeoutMs: number): Promise<boolean> {
  if (clickhouse.cluster === undefined) return true
  const found = await clickhouse.rows<{ confirms: number }>(
    `SELECT active_replicas * 2 > total_replicas AND NOT is_readonly AS confirms FROM system.replicas
WHERE database = currentDatabase() AND table = 'deployment'`,
    {},
    timeoutMs,
  )
  return found.every(({ confirms }) => confirms === 1)
}
