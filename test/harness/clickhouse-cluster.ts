/**
 * A cluster of ClickHouse servers as far as the embedded engine can be one, which knows it from a configuration file. Its
 * two shards are the same tables: a read that asks a shard too many finds rows twice. Distributed tables, `cluster()`,
 * macros, storage policies and deduplication are the engine's own. It has neither Keeper nor a queue of statements, so the
 * front leaves out ON CLUSTER, and makes tables of their engines without replication; `replicatedIn` only makes them.
 */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

export const clusterName = 'weir_cluster'
export const coldVolume = { policy: 'tiers', volume: 'cold' }

const shard = `<shard>
    <internal_replication>true</internal_replication>
    <replica><host>127.0.0.1</host><port>9000</port></replica>
  </shard>`

/** Writes the configuration of a server into this directory; returns its path. */
export function writeClusterConfig(directory: string): string {
  const file = join(directory, 'cluster.xml')
  writeFileSync(
    file,
    `<clickhouse>
  <tcp_port>9000</tcp_port>
  <macros><shard>01</shard><replica>a</replica></macros>
  <zookeeper><implementation>testkeeper</implementation></zookeeper>
  <remote_servers><${clusterName}>${shard}${shard}</${clusterName}></remote_servers>
  <storage_configuration>
    <disks><cold><path>${join(directory, 'cold')}/</path></cold></disks>
    <policies><${coldVolume.policy}><volumes>
      <default><disk>default</disk></default>
      <${coldVolume.volume}><disk>cold</disk></${coldVolume.volume}>
    </volumes></${coldVolume.policy}></policies>
  </storage_configuration>
</clickhouse>
`,
  )
  return file
}

/** The options of the engine for this configuration. */
export const engineOptions = (config: string | undefined) =>
  config === undefined ? {} : { connectionArgs: [`--config-file=${config}`] }

export const withoutOnCluster = (sql: string): string => sql.replaceAll(/ ON CLUSTER `\w+`/g, '')

/** A statement for a cluster as one server without Keeper runs it, which deduplicates inserts like a replicated table. */
export function onOneServer(sql: string): string {
  const plain = withoutOnCluster(sql).replace(/Replicated(\w*MergeTree)\('[^']*', '[^']*'(?:, )?/, '$1(')
  if (!sql.includes('Replicated')) return plain
  const [head = '', settings] = plain.split('SETTINGS ')
  return `${head.trimEnd()} SETTINGS non_replicated_deduplication_window = 100${settings === undefined ? '' : `, ${settings}`}`
}

/**
 * Makes tables and views with their replicated engines, in a process of its own: the engine's stand-in for Keeper lasts as
 * long as the process. It takes no inserts. Resolves with the engines of the tables, by name.
 */
export async function replicatedIn(
  directory: string,
  statements: readonly string[],
): Promise<Readonly<Record<string, string>>> {
  const script = `
const { Session } = require('chdb')
const { config, path, statements } = JSON.parse(process.argv[1])
const session = new Session(path, { connectionArgs: ['--config-file=' + config] })
async function main() {
  for (const sql of statements) await session.queryAsync(sql, { format: 'TabSeparated' })
  const result = await session.queryAsync(
    'SELECT name, engine_full FROM system.tables WHERE database = currentDatabase()', { format: 'JSONCompactEachRow' })
  require('node:fs').writeSync(1, Buffer.from(result.bytes()))
}
// The engine crashes when it is closed with such tables.
main().then(() => process.kill(process.pid, 'SIGKILL'), (error) => { console.error(error.message); process.kill(process.pid, 'SIGKILL') })
`
  const given = { config: writeClusterConfig(directory), path: join(directory, 'replicated'), statements }
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [
    '-e',
    script,
    JSON.stringify(given),
  ])
    // It always ends by a signal.
    .catch((error: { stdout: string; stderr: string }) => error)
  if (stdout === '') throw new Error(stderr)
  return Object.fromEntries(
    stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as [string, string]),
  )
}
