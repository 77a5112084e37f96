/**
 * A cluster of ClickHouse servers, and how statements differ there from those for one server.
 *
 * - Tables of resources are complete on every server: all are replicas of one another, whichever shard they belong to. So
 *   any server answers for any account, and a write that most of them have stored outlives the others.
 * - Tables of the logs are sharded by account. Each shard stores rows in `<table>_local`, and `<table>` is a Distributed
 *   table over all of them, so the statements that read and write a log are those for one server.
 *
 * A statement with ON CLUSTER is run by every server, with a current database of its own: it names the database.
 */
import { StartFault } from '../../../ground/core/errors.js'

export interface Cluster {
  readonly name: string
  readonly database: string
}

/** The cluster of this name, as the server at `url` (`CLICKHOUSE_URL`) knows it. */
export function clusterAt(url: string, name: string): Cluster {
  const database = new URL(url).pathname.slice(1).replace(/\/$/, '') || 'default'
  if (!/^[\w-]+$/.test(database))
    throw new StartFault(
      `The database in CLICKHOUSE_URL is ${JSON.stringify(database)}: on a cluster, its name must be of letters, digits, _ and -.`,
    )
  return { name, database }
}

/** Names a table or view in a statement that other servers may run. */
export const nameOn = (cluster: Cluster | undefined, table: string): string =>
  cluster === undefined ? table : `\`${cluster.database}\`.${table}`

/** Names the table or view that a statement creates or changes, on all servers. */
export const targetOn = (cluster: Cluster | undefined, table: string): string =>
  cluster === undefined ? table : `${nameOn(cluster, table)} ON CLUSTER \`${cluster.name}\``

/** The engine of a table that is complete on every server. A replica's macro is certain to be unique in its shard only. */
export const completeEngine = (cluster: Cluster | undefined, engine: string): string =>
  cluster === undefined
    ? engine
    : replicated(engine, "'/clickhouse/tables/all_shards/{database}/{table}', '{shard}-{replica}'")

/** The engine of a table whose rows belong to one shard each. */
export const shardEngine = (cluster: Cluster | undefined, engine: string): string =>
  cluster === undefined
    ? engine
    : replicated(engine, "'/clickhouse/tables/{shard}/{database}/{table}', '{replica}'")

/**
 * The path is that of the table's name and not of its id, so that a server that joins later becomes a replica. The
 * parameters of the engine itself come after it.
 */
const replicated = (engine: string, path: string): string =>
  engine.replace(
    /^(\w*MergeTree)(?:\((.*)\))?/,
    (_, name: string, parameters?: string) =>
      `Replicated${name}(${path}${parameters === undefined ? '' : `, ${parameters}`})`,
  )

/** The table that stores the rows of a log. */
export const storedName = (cluster: Cluster | undefined, table: string): string =>
  cluster === undefined ? table : `${table}_local`

/** Reads the rows of this server's shard, under the name of the log. */
export const storedRows = (cluster: Cluster | undefined, table: string): string =>
  cluster === undefined ? table : `${nameOn(cluster, storedName(cluster, table))} AS ${table}`

/** Names a materialized view and the table of sums that it fills: those of a shard from the rows of that shard. */
export const feedOn = (cluster: Cluster | undefined, feed: string, sums: string): string =>
  `${targetOn(cluster, feed)} TO ${nameOn(cluster, storedName(cluster, sums))}`

/** A table that reads and writes all shards. All rows of an account are in one. */
export const createDistributed = (
  cluster: Cluster,
  table: string,
  create: 'CREATE TABLE IF NOT EXISTS' | 'CREATE OR REPLACE TABLE',
): string => {
  const stored = storedName(cluster, table)
  return `${create} ${targetOn(cluster, table)} AS ${nameOn(cluster, stored)}
ENGINE = Distributed('${cluster.name}', '${cluster.database}', '${stored}', sipHash64(account_id))`
}

/** Statements with ON CLUSTER wait for all servers. */
export const clusterDdlSettings = {
  // A table of resources gets new columns through replication; the views on all servers need them.
  alter_sync: '2',
  distributed_ddl_task_timeout: '20',
} as const

/** Confirmed rows are on most servers, and a read that asks for them finds all of them. */
export const quorumSettings = (timeoutMs: number, token: string | undefined) => ({
  insert_quorum: 'auto',
  // Reads are consistent only if these inserts are made one after the other.
  insert_quorum_parallel: 0 as const,
  // The server gives up, and undoes the insert, before the client does.
  insert_quorum_timeout: Math.floor(timeoutMs / 2),
  insert_deduplicate: 1 as const,
  ...(token !== undefined && { insert_deduplication_token: token }),
})

export const consistentReads = { select_sequential_consistency: '1' } as const

/**
 * Rows of a log are stored in their shards before the insert is confirmed. A repeated insert changes neither rows nor sums.
 */
export const shardInsertSettings = {
  distributed_foreground_insert: 1,
  deduplicate_blocks_in_dependent_materialized_views: 1,
} as const

/** Reads of a log ask only the shard that has the account's rows, and not whether it has those of all inserts. */
export const shardReadSettings = ['optimize_skip_unused_shards = 1', 'select_sequential_consistency = 0']
