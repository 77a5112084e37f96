/**
 * The logs on a cluster whose two shards are on one server (`harness/clickhouse-cluster.ts`): answers are those of one
 * server, also after repeated inserts, and come from one shard each.
 */
import { createHash } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { tagOf } from '../../../src/delivery/wire/event-tag.js'
import { type Clickhouse, openClickhouse } from '../../../src/management/store/clickhouse/clickhouse.js'
import { readCompared } from '../../../src/management/store/logs/challenger-rows.js'
import type { CountsQuery } from '../../../src/management/store/logs/count-query.js'
import { DeliveryReader } from '../../../src/management/store/logs/delivery-reader.js'
import { FailureReader } from '../../../src/management/store/logs/failure-reader.js'
import { dropOldestRows } from '../../../src/management/store/logs/log-space.js'
import { shapeLogTables } from '../../../src/management/store/logs/log-tables.js'
import { TrafficReader } from '../../../src/management/store/logs/traffic-reader.js'
import { clusterName, coldVolume, writeClusterConfig } from '../../harness/clickhouse-cluster.js'
import { startClickhouseFront } from '../../harness/clickhouse-front.js'
import {
  decisionRow,
  deliveryBytes,
  deliveryRow,
  failureBytes,
  failureRow,
  rowBytes,
} from '../../harness/decision-rows.js'
import { patientReader } from '../../harness/patient-reader.js'
import { tempDir } from '../../harness/temp-dir.js'

const hourMs = 60 * 60_000
const bounds = { retentionMs: 72 * hourMs, bytesMax: 2 ** 30 }
const movingBounds = { ...bounds, move: { ...coldVolume, afterMs: 24 * hourMs } }
const begin = Date.now() - 6 * hourMs

const dir = tempDir(t)
mkdirSync(join(dir, 'cold'))
const front = await startClickhouseFront(join(dir, 'clickhouse'), 0, writeClusterConfig(dir))
const clickhouse = await openClickhouse({ url: front.url, directory: dir, cluster: clusterName })
const alone = await openClickhouse({ directory: join(dir, 'alone') })
t.teardown(async () => {
  await Promise.all([clickhouse.close(), alone.close()])
  await front.process.kill()
})

const cycled = <T>(n: number, ...from: T[]): T => from[n % from.length]!
const rows = Array.from({ length: 400 }, (_, n) =>
  decisionRow({
    accountId: cycled(n, 'ac_1', 'ac_2', 'ac_3'),
    at: begin + n * 47_000,
    recordId: `r${n}`,
    sequence: n,
    edgeId: cycled(n, 'edgtcp_1', 'edgtcp_2', ''),
    clientIp: cycled(n, '198.51.100.7', '2001:db8::7', '203.0.113.9'),
    asn: cycled(n, 0, 64_500, 64_501, 64_502),
    serverName: cycled(n, 'a.example', 'b.example'),
    decision: cycled(n, 'allow', 'allow', 'block', 'deny'),
    ruleId: cycled(n, 'ipr_1', 'ipr_2'),
    source: cycled(n, 'record', 'record', 'record', 'record', 'asked'),
    challengerId: 'chl_1',
    challengerDecision: cycled(n, 'allow', 'block'),
    challengerDecidedBy: 'ip_restriction',
  }),
)
/** An event of the first record. */
const eventId = `ev_${createHash('sha256').update('r0').digest('hex').slice(0, 32)}${'0123456789abcdef'}`

async function fill(into: Clickhouse): Promise<void> {
  const blocks = ['record', 'asked'].map((source) => rowBytes(rows.filter((row) => row.source === source)))
  await into.insertBlocks('decisions', blocks)
  const deliveries = ['ac_1', 'ac_2'].map((accountId) =>
    deliveryRow({ accountId, at: begin, tags: [tagOf(eventId)] }),
  )
  await into.insertBlocks('deliveries', [deliveryBytes(deliveries)])
  const failures = ['ac_1', 'ac_2'].map((accountId) =>
    failureRow({ accountId, policy: 'office', lastAt: begin + hourMs }),
  )
  await into.insertBlocks('expression_failures', [failureBytes(failures)])
}

const query = (dimension: string, more: Partial<CountsQuery> = {}): CountsQuery => ({
  accountId: 'ac_1',
  dimension,
  sources: ['record'],
  intervalMs: 60_000,
  sinceMs: begin - hourMs,
  untilMs: begin + 7 * hourMs,
  valuesMax: 5,
  ...more,
})

const countsQueries = [
  ...['none', 'edge', 'country', 'asn', 'server_name', 'client_ip', 'shadow_decision'].map((each) =>
    query(each),
  ),
  query('none', { sources: ['asked'] }),
  query('asn', { intervalMs: hourMs }),
  query('server_name', { intervalMs: hourMs, selection: { values: { decision: ['block'] } } }),
  query('client_ip', { selection: { values: {}, clients: ['198.51.100.0', '198.51.100.255'] } }),
]

/** An answer of each sort, by what was asked. */
async function answersOf(server: Clickhouse): Promise<ReadonlyMap<string, unknown>> {
  const log = patientReader(server)
  const deliveries = new DeliveryReader(server, 'all')
  const answers = new Map<string, unknown>()
  for (const [index, asked] of countsQueries.entries())
    answers.set(`counts ${index} by ${asked.dimension}`, await log.counts(asked))
  const filter = {
    reads: ['decision', 'asn'] as const,
    names: ['asn'],
    condition: undefined,
    matches: ({ asn }: { asn: number }) => asn === 64_501,
  }
  const sinceMs = begin - hourMs
  answers.set('filtered counts', await log.filteredCounts(query('none'), filter))
  answers.set('decisions', await log.decisions({ accountId: 'ac_2', sinceMs, limit: 200, values: {} }))
  answers.set('uses of rules', await log.ruleUses('ac_1', ['ipr_1', 'ipr_2'], sinceMs))
  answers.set('reached', await log.reached('ac_2', sinceMs))
  answers.set('unserved', await log.unservedNames('ac_3', sinceMs, 10))
  answers.set('networks', [...(await log.clientsInNetworks(query('asn'), [64_500]))])
  const challenger = { accountId: 'ac_1', challengerId: 'chl_1', sinceMs, untilMs: Date.now() }
  answers.set('challenger', await log.search((read) => readCompared(read, challenger, () => 3_600)))
  answers.set('counts of deliveries', await deliveries.counts(query('')))
  answers.set('record of an event', await deliveries.recordOf('ac_1', eventId))
  const attempts = { accountId: 'ac_1', destinationIds: ['ed_1'], at: begin, eventIds: [eventId] }
  answers.set(
    'attempts',
    (await deliveries.attempts(attempts)).map(({ includes: _, ...attempt }) => attempt),
  )
  const failures = new FailureReader(server, 'all')
  answers.set('failures', await failures.places({ accountId: 'ac_1', sinceMs, limit: 10 }))
  const traffic = new TrafficReader(server, 'all')
  answers.set('traffic', await traffic.last('ac_1', ['a.example', 'b.example:22']))
  return answers
}

t.test('answers are those of one server, also after a repeated insert', async (t) => {
  for (const server of [alone, clickhouse]) await shapeLogTables(server, bounds)
  for (const server of [alone, clickhouse, clickhouse]) await fill(server)
  const [expected, found] = await Promise.all([answersOf(alone), answersOf(clickhouse)])
  for (const [asked, answer] of expected) t.strictSame(found.get(asked), answer, asked)
  for (const [asked, answer] of expected) t.not(JSON.stringify(answer).length, 2, `${asked} is not empty`)
  t.equal(expected.get('record of an event'), 'r0')
  const inserts = front.statements().filter(({ sql }) => sql.startsWith('INSERT INTO decisions'))
  t.match(inserts[0]?.preamble, "SET distributed_foreground_insert = '1';")
})

t.test('changed bounds, and a table of an earlier version', async (t) => {
  const columns = `SELECT table, groupArray(name) AS names FROM (SELECT * FROM system.columns
WHERE database = currentDatabase() AND table LIKE 'decisions%' ORDER BY table, position) GROUP BY table ORDER BY table`
  const complete = await clickhouse.rows(columns)
  for (const table of ['decisions', 'decisions_local'])
    for (const column of ['client_key', 'challenger_id', 'challenger_decision'])
      await clickhouse.command(`ALTER TABLE ${table} DROP COLUMN ${column}`)
  const before = front.statements().length
  await shapeLogTables(clickhouse, movingBounds)
  const changed = front
    .statements()
    .slice(before)
    .filter(({ sql }) => !sql.startsWith('SELECT'))
  t.strictSame(
    changed.map(({ sql }) => /^(?:ALTER TABLE \S+|CREATE OR REPLACE TABLE \S+|.*)/.exec(sql)?.[0]),
    [
      'ALTER TABLE `default`.decisions_local',
      'ALTER TABLE `default`.decisions_local',
      'ALTER TABLE `default`.deliveries_local',
      'ALTER TABLE `default`.deliveries_local',
      'ALTER TABLE `default`.decisions_local',
      'CREATE OR REPLACE TABLE `default`.decisions',
    ],
  )
  await shapeLogTables(clickhouse, movingBounds)
  t.equal(
    front
      .statements()
      .slice(before)
      .filter(({ sql }) => !sql.startsWith('SELECT')).length,
    changed.length,
  )
  t.strictSame(
    await clickhouse.rows('SELECT count() AS rows FROM decisions WHERE client_key != 0'),
    [{ rows: 2 * 400 }],
    'the column is there again, in both shards',
  )
  t.strictSame(await clickhouse.rows(columns), complete, 'each column is in its place')
  const old = decisionRow({ accountId: 'ac_4', at: Date.now() - 30 * hourMs })
  await clickhouse.insertBlocks('decisions', [rowBytes([old])])
  const disks = `SELECT DISTINCT disk_name AS disk FROM system.parts
WHERE table = 'decisions_local' AND active ORDER BY min_time`
  t.strictSame(await clickhouse.rows(disks), [{ disk: 'cold' }, { disk: 'default' }])
})

t.test('beyond the bound, the oldest hours of all shards are dropped, never the newest', async (t) => {
  const count = async () =>
    (await clickhouse.rows<{ rows: number }>('SELECT count() AS rows FROM decisions'))[0]?.rows ?? 0
  const all = await count()
  t.equal(await dropOldestRows(clickhouse, 2 ** 30), 0)
  const dropped = await dropOldestRows(clickhouse, 1)
  const left = await count()
  t.ok(left > 0 && left < all, `${left} of ${all}`)
  // Some deliveries and failures are as old.
  t.ok(dropped > all - left && dropped <= all - left + 8, `${dropped} rows`)
  t.equal(await dropOldestRows(clickhouse, 1), 0)
})
