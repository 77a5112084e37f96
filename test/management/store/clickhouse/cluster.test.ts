/**
 * The tables on a cluster. Every statement is read by the real engine, and makes replicated tables in it. No test has more
 * than one server.
 */
import { mkdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { openClickhouse } from '../../../../src/management/store/clickhouse/clickhouse.js'
import { clusterAt } from '../../../../src/management/store/clickhouse/cluster.js'
import { ddlOfResources, migrate } from '../../../../src/management/store/clickhouse/migrate.js'
import { rowEncoder, tableOf } from '../../../../src/management/store/clickhouse/tables.js'
import { ddlOfLogs, shapeLogTables } from '../../../../src/management/store/logs/log-tables.js'
import { ownText } from '../../../../src/outside/cli/ddl.js'
import { ipPolicy } from '../../../../src/words/resource/ip-policy.js'
import { anyResource } from '../../../../src/words/resource/kind/define.js'
import { resources } from '../../../../src/words/resource/registry.js'
import {
  clusterName,
  coldVolume,
  replicatedIn,
  withoutOnCluster,
  writeClusterConfig,
} from '../../../harness/clickhouse-cluster.js'
import { startClickhouseFront } from '../../../harness/clickhouse-front.js'
import { tempDir } from '../../../harness/temp-dir.js'

const hourMs = 60 * 60_000
const bounds = { retentionMs: 72 * hourMs, bytesMax: 2 ** 33 }
const movingBounds = { ...bounds, move: { ...coldVolume, afterMs: 24 * hourMs } }
const cluster = clusterAt('http://u:p@h:8123/default', clusterName)
const ddl = [...ddlOfResources(resources, cluster), ...ddlOfLogs(movingBounds, cluster)]

t.test('on one server, each statement is as it was before there were clusters', (t) => {
  const statements = [...ddlOfResources([anyResource(ipPolicy)], undefined), ...ddlOfLogs(bounds, undefined)]
  t.equal(ownText(statements, {}), readFileSync('fixtures/ddl/one-server.sql', 'utf8'))
  t.end()
})

t.test('the database is that of the URL', (t) => {
  t.strictSame(clusterAt('http://h:8123', 'c'), { name: 'c', database: 'default' })
  t.strictSame(clusterAt('https://u:p@h:8443/weir?x=1', 'c'), { name: 'c', database: 'weir' })
  t.throws(() => clusterAt("http://h:8123/it's", 'c'), { message: /CLICKHOUSE_URL.*letters, digits/ })
  t.end()
})

t.test('the engine reads each statement as it is meant', async (t) => {
  const clickhouse = await openClickhouse({ directory: tempDir(t) })
  t.teardown(() => clickhouse.close())
  for (const sql of ddl) {
    const [found] = await clickhouse.rows<{ sql: string }>(
      'SELECT formatQuerySingleLine({sql:String}) AS sql',
      {
        sql,
      },
    )
    t.match(found?.sql, ` ON CLUSTER ${clusterName} `, sql)
  }
})

t.test('tables with their replicas, their shards and their volumes', async (t) => {
  const engines = await replicatedIn(tempDir(t), ddl.map(withoutOnCluster))
  const logs = ['decisions', 'decision_counts', 'expression_failures', 'deliveries', 'delivery_counts']
  t.match(
    engines['account_versions'],
    /^ReplicatedReplacingMergeTree\('\/clickhouse\/tables\/all_shards\/default\/account_versions', '\{shard\}-\{replica\}'\)/,
  )
  for (const name of ['deployment', 'schema_migrations'])
    t.match(engines[name], /^ReplicatedMergeTree\('\/clickhouse\/tables\/all_shards\//, name)
  for (const name of logs) {
    t.equal(engines[name], `Distributed('${clusterName}', 'default', '${name}_local', sipHash64(account_id))`)
    t.match(
      engines[`${name}_local`],
      `MergeTree('/clickhouse/tables/{shard}/default/${name}_local', '{replica}'`,
    )
  }
  t.match(engines['decision_counts_local'], "'{replica}', (allow, block, deny, bytes_in, bytes_out))")
  for (const name of ['decisions_local', 'deliveries_local']) {
    t.match(
      engines[name],
      "toIntervalSecond(259200), toDateTime(time) + toIntervalSecond(86400) TO VOLUME 'cold'",
    )
    t.match(engines[name], "storage_policy = 'tiers'")
  }
  for (const { kind } of resources) t.ok(engines[tableOf(kind)]?.startsWith('Replicated'), kind)
})

t.test('a server that lacks rows, or whose table is in use, is asked again', async (t) => {
  const refusals = [
    'Code: 289. DB::Exception: Replica lacks a part. (REPLICA_IS_NOT_IN_QUORUM) (version 26.7)',
    'Code: 286. DB::Exception: Another quorum insert has been started. (UNSATISFIED_QUORUM_FOR_PREVIOUS_WRITE) (version 26.7)',
    'Code: 242. DB::Exception: Table is in readonly mode. (TABLE_IS_READ_ONLY) (version 26.7)',
  ]
  const left: string[] = []
  const bodies: string[] = []
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      bodies.push(Buffer.concat(parts).toString())
      const refusal = left.shift()
      if (refusal !== undefined) response.statusCode = 500
      response.end(refusal ?? JSON.stringify({ meta: [], data: [{ one: 1 }], rows: 1 }))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const clickhouse = await openClickhouse({ url, directory: tempDir(t), cluster: clusterName })
  t.teardown(() => clickhouse.close())
  left.push(refusals[0]!, refusals[0]!)
  t.strictSame(await clickhouse.rows('SELECT 1 AS one'), [{ one: 1 }])
  bodies.length = 0
  left.push(refusals[1]!)
  await clickhouse.insert('some', [{ one: 1 }], 'token')
  t.strictSame(bodies, ['[1]\n', '[1]\n'], 'the same rows')
  left.push(refusals[2]!)
  await t.rejects(clickhouse.insert('some', [{ one: 1 }], 'token'), { code: '242' })
})

t.test('in operation', async (t) => {
  const dir = tempDir(t)
  mkdirSync(join(dir, 'cold'))
  const front = await startClickhouseFront(join(dir, 'clickhouse'), 0, writeClusterConfig(dir))
  t.teardown(() => front.process.kill())
  const open = async (name = clusterName) => {
    const clickhouse = await openClickhouse({ url: front.url, directory: dir, cluster: name })
    t.teardown(() => clickhouse.close())
    return clickhouse
  }
  const clickhouse = await open()
  const sent = (pattern: RegExp) => front.statements().filter(({ sql }) => pattern.test(sql))

  await t.test('a cluster that the server does not know is named', async (t) => {
    await t.rejects(migrate(await open('other'), resources, 'fingerprint'), {
      message: /CLICKHOUSE_CLUSTER is other: .* "remote_servers"/,
    })
  })

  await t.test('two processes make the tables; a later start changes nothing', async (t) => {
    const made = await migrate(clickhouse, resources, 'fingerprint')
    await shapeLogTables(clickhouse, bounds)
    const before = front.statements().length
    const other = await open()
    t.strictSame(await migrate(other, resources, 'another'), made, 'the first deployment stays')
    await shapeLogTables(other, bounds)
    t.strictSame(
      front
        .statements()
        .slice(before)
        .filter(({ sql }) => !/^(SELECT|EXISTS)/.test(sql)),
      [],
    )
    t.ok(sent(/^CREATE/).every(({ sql }) => sql.includes(`ON CLUSTER \`${clusterName}\``)))
  })

  await t.test('what is missing is made again, and columns in their places', async (t) => {
    const before = await clickhouse.rows('SELECT id FROM deployment')
    const columns = `SELECT name FROM system.columns WHERE database = currentDatabase()
AND table = 'domain_versions' ORDER BY position`
    const complete = await clickhouse.rows(columns)
    await clickhouse.command('DROP VIEW domains')
    for (const column of ['description', 'tests_skipped'])
      await clickhouse.command(`ALTER TABLE domain_versions DROP COLUMN ${column}`)
    await migrate(clickhouse, resources, 'fingerprint')
    t.strictSame(await clickhouse.rows(columns), complete)
    t.strictSame(await clickhouse.rows('SELECT * FROM domains'), [])
    t.strictSame(await clickhouse.rows('SELECT id FROM deployment'), before)
  })

  await t.test('a repeated insert of a change is stored once', async (t) => {
    const encode = rowEncoder(anyResource(ipPolicy), { changedAt: 2_000, changedBy: 'ak_1' })
    const row = {
      id: 'ipp_0',
      account_id: 'ac_1',
      version: 3,
      created_at: 1_000,
      description: 'a',
      metadata: null,
    }
    const table = tableOf('ip_policy')
    for (const token of ['ac_1:3', 'ac_1:3', 'ac_2:3'])
      await clickhouse.insert(
        table,
        [encode({ ...row, id: token === 'ac_2:3' ? 'ipp_1' : 'ipp_0' }, false)],
        token,
      )
    t.strictSame(await clickhouse.rows(`SELECT id FROM ${table} ORDER BY id`), [
      { id: 'ipp_0' },
      { id: 'ipp_1' },
    ])
    const [insert] = sent(/^INSERT INTO ip_policy_versions/)
    for (const setting of [
      "insert_quorum = 'auto'",
      "insert_quorum_parallel = '0'",
      "insert_deduplication_token = 'ac_1:3'",
    ])
      t.match(insert?.preamble, `SET ${setting};`)
    t.match(
      sent(/^SELECT id FROM ip_policy_versions/)[0]?.preamble,
      "SET select_sequential_consistency = '1';",
    )
  })
})
