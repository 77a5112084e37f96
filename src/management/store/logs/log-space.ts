/** The disk that the logs take: beyond the bound, the oldest rows are dropped. */
import type { Clickhouse } from '../clickhouse/clickhouse.js'
import { type Cluster, storedName, targetOn } from '../clickhouse/cluster.js'
import { deliveriesTable } from './delivery-tables.js'
import { failuresTable } from './failure-table.js'
import { decisionsTable } from './log-tables.js'

const boundedTables = [decisionsTable, failuresTable, deliveriesTable]

/** Drops the oldest decisions, failures and deliveries beyond the bound; resolves with the number of their rows. */
export const dropOldestRows = (clickhouse: Clickhouse, bytesMax: number): Promise<number> =>
  clickhouse.cluster === undefined
    ? dropOldestParts(clickhouse, bytesMax)
    : dropOldestPartitions(clickhouse, clickhouse.cluster, bytesMax)

interface Part {
  readonly table: string
  readonly name: string
  readonly rows: number
  readonly bytes: number
}

async function dropOldestParts(clickhouse: Clickhouse, bytesMax: number): Promise<number> {
  const parts = await clickhouse.rows<Part>(
    `SELECT table, name, rows, bytes_on_disk AS bytes FROM system.parts
WHERE database = currentDatabase() AND table IN (${boundedTables.map((table) => `'${table}'`).join(', ')}) AND active
ORDER BY partition DESC, min_block_number DESC`,
  )
  let [bytes, dropped] = [0, 0]
  for (const part of parts) {
    bytes += part.bytes
    if (bytes <= bytesMax) continue
    await clickhouse.command(`ALTER TABLE ${part.table} DROP PART {part:String}`, { part: part.name })
    dropped += part.rows
  }
  return dropped
}

/** A partition in one shard: its rows and bytes. */
interface ShardPartition {
  readonly partition: string
  readonly shard: number
  readonly rows: number
  readonly bytes: number
}

/**
 * Parts of different shards have equal names, so whole partitions are dropped, in all shards: the fullest one says how many.
 * The newest stays, whatever its size. A shard's bytes are those of one of its servers.
 */
async function dropOldestPartitions(
  clickhouse: Clickhouse,
  cluster: Cluster,
  bytesMax: number,
): Promise<number> {
  const tables = boundedTables.map((table) => storedName(cluster, table))
  const partitions = await clickhouse.rows<ShardPartition>(
    `SELECT partition, shardNum() AS shard, sum(rows) AS rows, sum(bytes_on_disk) AS bytes
FROM cluster({cluster:String}, system.parts)
WHERE database = {database:String} AND table IN {tables:Array(String)} AND active
GROUP BY partition, shard ORDER BY partition DESC`,
    { cluster: cluster.name, database: cluster.database, tables },
  )
  const dropped = new Set(partitionsBeyond(partitions, bytesMax))
  for (const partition of dropped)
    for (const table of tables)
      await clickhouse.command(`ALTER TABLE ${targetOn(cluster, table)} DROP PARTITION {partition:String}`, {
        partition,
      })
  return partitions.filter(({ partition }) => dropped.has(partition)).reduce((sum, { rows }) => sum + rows, 0)
}

/** `partitions`: the newest first. */
function partitionsBeyond(partitions: readonly ShardPartition[], bytesMax: number): string[] {
  const bytesOf = new Map<number, number>()
  const newest = partitions[0]?.partition
  const beyond = partitions.find(({ partition, shard, bytes }) => {
    const sum = (bytesOf.get(shard) ?? 0) + bytes
    bytesOf.set(shard, sum)
    return sum > bytesMax && partition !== newest
  })
  if (beyond === undefined) return []
  return partitions.map(({ partition }) => partition).filter((partition) => partition <= beyond.partition)
}
