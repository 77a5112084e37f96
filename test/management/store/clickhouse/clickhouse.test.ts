/** The database: migrated by Weir, read by analysts, never changed by a query. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { dataFormat } from '../../../../src/ground/core/files/data-format.js'
import { openClickhouse, type TextFormat } from '../../../../src/management/store/clickhouse/clickhouse.js'
import { isRefusedByClickhouse, isTableMissing } from '../../../../src/management/store/clickhouse/errors.js'
import { migrate } from '../../../../src/management/store/clickhouse/migrate.js'
import { decodeRow, rowEncoder, tableOf } from '../../../../src/management/store/clickhouse/tables.js'
import { eventDestination } from '../../../../src/words/resource/event-destination.js'
import { ipPolicy } from '../../../../src/words/resource/ip-policy.js'
import { anyResource } from '../../../../src/words/resource/kind/define.js'
import { resources } from '../../../../src/words/resource/registry.js'
import { tempDir } from '../../../harness/temp-dir.js'

const dir = mkdtempSync(join(tmpdir(), 'weir-clickhouse-'))
const clickhouse = await openClickhouse({ directory: dir })
t.teardown(async () => {
  await clickhouse.close()
  rmSync(dir, { recursive: true })
})

t.test('an older database is migrated, also by two processes at once; each step runs once', async (t) => {
  const older = anyResource({ ...ipPolicy, fields: { description: ipPolicy.fields.description } } as never)
  const step = { id: 99, statements: () => ['CREATE TABLE once (id UInt8) ENGINE = MergeTree ORDER BY id'] }
  const first = await migrate(clickhouse, [older], 'fingerprint')
  const row = { id: 'ipp_0', account_id: 'ac_1', version: 1, created_at: 1_000, description: 'old' }
  const encode = rowEncoder(older, { changedAt: 2_000, changedBy: 'ak_1' })
  await clickhouse.insert(tableOf('ip_policy'), [encode(row, false)])
  const both = await Promise.all([
    migrate(clickhouse, resources, 'other'),
    migrate(clickhouse, resources, 'another'),
  ])
  t.strictSame(both, [first, first], 'the first deployment and key stay')
  await migrate(clickhouse, resources, 'fingerprint', [step])
  await migrate(clickhouse, resources, 'fingerprint', [step])
  const [encoded] = await clickhouse.rows<Record<string, unknown>>('SELECT * FROM ip_policy_versions')
  t.strictSame(decodeRow(anyResource(ipPolicy), encoded!), { ...row, metadata: null })
})

t.test('a database that a later version has opened is not opened', async (t) => {
  const inserted = await clickhouse.rows<{ id: number }>(
    'SELECT id FROM schema_migrations WHERE id > 1000000',
  )
  t.strictSame(inserted, [{ id: 1_000_000 + dataFormat }], 'once, however often it is opened')
  await clickhouse.insert('schema_migrations', [{ id: 1_000_001 + dataFormat }])
  const says = `The database was written by a later version of Weir in format ${dataFormat + 1}, and this is Weir`
  await t.rejects(migrate(clickhouse, resources, 'fingerprint'), { message: says })
  await clickhouse.command(
    `ALTER TABLE schema_migrations DELETE WHERE id = ${1_000_001 + dataFormat} SETTINGS mutations_sync = 1`,
  )
  await migrate(clickhouse, resources, 'fingerprint')
})

t.test('a refused statement differs from an embedded ClickHouse that is away', async (t) => {
  const refusalOf = (sql: string) => clickhouse.rows(sql).catch((error: unknown) => error)
  const missing = await refusalOf('SELECT 1 FROM no_such_table')
  t.ok(isTableMissing(missing))
  const unreadable = await refusalOf('SELECT FROM WHERE')
  t.ok(isRefusedByClickhouse(unreadable))
  t.notOk(isTableMissing(unreadable))
  t.notOk(isRefusedByClickhouse(new Error('connect ECONNREFUSED')))
})

t.test('current rows and their history, without secrets', async (t) => {
  const resource = anyResource(eventDestination)
  const base = { account_id: 'ac_1', id: 'ed_1', created_at: 1_000, description: 'a', metadata: null }
  const secret = { sealed_secret: 'v1.sealed', secret_digest: 'digest' }
  const row = { ...base, ...secret, format: 'json', target: { kinesis: null }, version: 1 }
  const encode = rowEncoder(resource, { changedAt: 2_000, changedBy: 'cli' })
  const encoded = [
    encode(row, false),
    encode({ ...row, version: 2, description: 'b' }, false),
    encode({ ...row, id: 'ed_2', version: 3 }, false),
    encode({ ...row, id: 'ed_2', version: 4 }, true),
  ]
  await clickhouse.insert(tableOf('event_destination'), encoded)
  await clickhouse.insert(tableOf('event_destination'), encoded)
  const current = await clickhouse.text('select * from event_destinations', 'JSONEachRow')
  t.match(JSON.parse(current), { id: 'ed_1', description: 'b', created_at: '1970-01-01 00:00:01.000' })
  t.notMatch(current, /sealed|digest/)
  const history = await clickhouse.text(
    'select id, version, deleted from event_destinations_history order by version',
    'CSVWithNames',
  )
  t.equal(
    history,
    '"id","version","deleted"\n"ed_1",1,false\n"ed_1",2,false\n"ed_2",3,false\n"ed_2",4,true\n',
    'written twice, stored once',
  )
})

t.test('views with an old name are dropped', async (t) => {
  await clickhouse.command('TRUNCATE TABLE schema_migrations')
  for (const view of ['api_keies', 'api_keies_history', 'of_an_analyst']) {
    await clickhouse.command(`CREATE VIEW ${view} AS SELECT 1 AS id`)
  }
  await migrate(clickhouse, resources, 'fingerprint')
  const views = await clickhouse.rows<{ name: string }>(
    "SELECT name FROM system.tables WHERE database = currentDatabase() AND engine = 'View'",
  )
  const names = new Set(views.map(({ name }) => name))
  for (const gone of ['api_keies', 'api_keies_history']) t.notOk(names.has(gone), gone)
  for (const kept of ['api_keys', 'api_keys_history', 'of_an_analyst']) t.ok(names.has(kept), kept)
})

t.test('up-to-date views stay; views that were dropped or replaced by hand are created again', async (t) => {
  const find = () =>
    clickhouse.rows<{ name: string; uuid: string }>(
      'SELECT name, toString(uuid) AS uuid FROM system.tables WHERE database = currentDatabase() ORDER BY name',
    )
  const before = await find()
  await migrate(clickhouse, resources, 'fingerprint')
  t.strictSame(await find(), before)
  await clickhouse.command('DROP VIEW domains')
  await clickhouse.command('CREATE OR REPLACE VIEW domains_history AS SELECT 1 AS id')
  await clickhouse.command('ALTER TABLE domain_versions DROP COLUMN description')
  await migrate(clickhouse, resources, 'fingerprint')
  for (const view of ['domains', 'domains_history'])
    t.strictSame(await clickhouse.rows(`SELECT id, description FROM ${view}`), [], view)
  const others = (all: Awaited<ReturnType<typeof find>>) =>
    all.filter(({ name }) => !name.startsWith('domains'))
  t.strictSame(others(await find()), others(before), 'nothing else was touched')
})

t.test('formats', async (t) => {
  const formats: [TextFormat, RegExp][] = [
    ['TSVWithNames', /^n\n1\n$/],
    ['CSVWithNames', /^"n"\n1\n$/],
    ['JSONEachRow', /^\{"n":1\}\n$/],
    ['PrettyCompactMonoBlock', /^ +┌─n─┐\n/],
  ]
  for (const [format, expected] of formats) t.match(await clickhouse.text('select 1 as n;', format), expected)
  t.match(await clickhouse.text('select 1 as n format Vertical', 'TSVWithNames'), /^Row 1:/)
})

t.test('a query changes nothing, and reads only the store', async (t) => {
  const file = join(tempDir(t), 'written')
  const writes = [
    "INSERT INTO ip_policy_versions (account_id, id, version) VALUES ('ac_1', 'ipp_9', 9)",
    'DROP TABLE ip_policy_versions',
    'CREATE TABLE x (id UInt8) ENGINE = Memory',
    'ALTER TABLE ip_policy_versions DELETE WHERE 1',
    'TRUNCATE TABLE ip_policy_versions',
    'SET readonly = 0',
    'SET readonly = 0; DROP TABLE ip_policy_versions',
    'select 1; DROP TABLE ip_policy_versions',
    `SELECT 1 INTO OUTFILE '${file}'`,
    `select 1 into/**/Outfile '${file}' format TSV`,
    "SELECT * FROM file('/etc/hostname', 'LineAsString')",
    "SELECT * FROM url('http://127.0.0.1:1/', 'LineAsString')",
  ]
  for (const sql of writes) await t.rejects(clickhouse.text(sql, 'TSVWithNames'), sql)
  t.equal((await clickhouse.rows('SELECT id FROM ip_policy_versions')).length, 1)
  t.notOk(existsSync(file))
})
