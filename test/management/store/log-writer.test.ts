/** The decision log in ClickHouse: what is published is stored, whatever ClickHouse does, and within its bounds. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import {
  decisionLogStream,
  decisionRowsSubject,
  deliveryRowsSubject,
} from '../../../src/delivery/wire/names.js'
import type { Clickhouse } from '../../../src/management/store/clickhouse/clickhouse.js'
import { openClickhouse } from '../../../src/management/store/clickhouse/clickhouse.js'
import { dropOldestRows } from '../../../src/management/store/logs/log-space.js'
import { shapeLogTables } from '../../../src/management/store/logs/log-tables.js'
import { LogWriter } from '../../../src/management/store/logs/log-writer.js'
import { quarterProjections } from '../../../src/management/store/logs/quarter-sums.js'
import { openTestStore } from '../../harness/api.js'
import { startClickhouseFront } from '../../harness/clickhouse-front.js'
import {
  decisionRow,
  deliveryBytes,
  deliveryRow,
  publishRows,
  rowBytes,
} from '../../harness/decision-rows.js'
import { until } from '../../harness/weir.js'

const hourMs = 60 * 60_000
const bounds = { retentionMs: 72 * hourMs, bytesMax: 2 ** 30 }

/** As earlier versions of Weir fed the counts. */
const earlierFeed = `CREATE MATERIALIZED VIEW decision_counts_feed TO decision_counts AS
SELECT account_id, pair.1 AS dimension, toStartOfMinute(time) AS minute, pair.2 AS value,
  countIf(decision = 'allow') AS allow, countIf(decision = 'block') AS block, countIf(decision = 'deny') AS deny,
  sum(decisions.bytes_in) AS bytes_in, sum(decisions.bytes_out) AS bytes_out
FROM decisions
ARRAY JOIN [('none', ''), ('edge', toString(edge_id)), ('policy', toString(policy)), ('country', toString(country))] AS pair
GROUP BY account_id, dimension, minute, value`

t.test('rows of decisions', async (t) => {
  const { parts, admin, dir } = await openTestStore(t)
  const { nats } = parts
  const reports: { name: string; rows: number; fields: object }[] = []
  const reported = (name: string) => reports.filter((report) => report.name === name)
  const report =
    (name: string) =>
    (fields: object, rows = 1) =>
      void reports.push({ name, rows, fields })
  const occurrences = {
    decisionLogUnwritten: report('unwritten'),
    decisionRowsStored: report('stored'),
    decisionRowsMalformed: report('malformed'),
    decisionRowsDropped: report('dropped'),
    stoppedEarly: report('stopped early'),
  }
  const open = (clickhouse: Clickhouse): LogWriter => {
    const writer = new LogWriter({ nats, clickhouse, bounds, occurrences })
    writer.open()
    return writer
  }
  const publish = (...rows: ReturnType<typeof decisionRow>[]) =>
    publishRows(admin, rowBytes(rows), rows.length)
  const waiting = async () => (await admin.streamInfo(decisionLogStream))?.state.messages
  const idsIn = async (clickhouse: Clickhouse): Promise<string[]> => {
    const rows = await clickhouse.rows<{ id: string }>(
      'SELECT DISTINCT record_id AS id FROM decisions ORDER BY id',
    )
    return rows.map(({ id }) => id)
  }

  await t.test('every value is stored, and counted by minute', async (t) => {
    const writer = open(parts.clickhouse)
    const at = Math.floor(Date.now() / 60_000) * 60_000 - hourMs + 1_234
    const blocked = { decision: 'block', decidedBy: 'ip_restriction', decidedById: 'edgtcp_1' } as const
    const denied = { decision: 'deny', decidedBy: 'traffic_policy', policy: 'Größe' } as const
    await publish(
      decisionRow({ at, recordId: 'allowed', revision: 2 ** 53 - 1 }),
      decisionRow({ at, recordId: 'blocked', clientIp: '2001:db8::1', ruleId: 'ipr_1', ...blocked }),
    )
    await publish(
      decisionRow({
        at,
        recordId: 'denied',
        type: 'http_request',
        routeId: 'edghtsrt_1',
        line: 2 ** 32 - 1,
        ...denied,
      }),
    )
    await until('the rows are stored', async () => (await waiting()) === 0)
    const [allowed, ...others] = await parts.clickhouse.rows<Record<string, unknown>>(
      'SELECT * FROM decisions ORDER BY record_id',
    )
    t.strictSame(allowed, {
      account_id: 'ac_1',
      time: new Date(at).toISOString().replace('T', ' ').replace('Z', ''),
      record_id: 'allowed',
      type: 'tcp_connection',
      edge_id: 'edgtcp_01KAJ5T2Q8XN4RB6TZ5CDEFGHJ',
      route_id: '',
      server_name: 'ssh.example',
      server_port: 22,
      client_ip: '::ffff:198.51.100.7',
      country: 'DE',
      asn: 64_500,
      decision: 'allow',
      decided_by: 'none',
      decided_by_id: '',
      policy: '',
      rule_id: '',
      revision: 2 ** 53 - 1,
      bytes_in: 5,
      bytes_out: 2 ** 40,
      sequence: 77,
      line: 1,
      method: '',
      path: '',
      status: '',
      partition: 0,
      own_time: new Date(at).toISOString().replace('T', ' ').replace('Z', ''),
      source: 'record',
      weight: 1,
      shadow_decision: 'none',
      shadow_decided_by: 'none',
      shadow_decided_by_id: '',
      shadow_policy: '',
      shadow_rule_id: '',
      challenger_id: '',
      challenger_decision: 'none',
      challenger_decided_by: 'none',
      challenger_decided_by_id: '',
      challenger_policy: '',
      challenger_rule_id: '',
      own_time_word: 'implied',
    })
    t.match(others, [
      { decision: 'block', decided_by: 'ip_restriction', client_ip: '2001:db8::1', rule_id: 'ipr_1' },
      { decision: 'deny', policy: 'Größe', type: 'http_request', route_id: 'edghtsrt_1', line: 2 ** 32 - 1 },
    ])
    const counts = await parts.clickhouse.rows(
      `SELECT dimension, value, sum(allow) AS allow, sum(block) AS block, sum(deny) AS deny, sum(bytes_in) AS bytes
FROM decision_counts WHERE dimension NOT IN ('edge', 'rule') GROUP BY dimension, value ORDER BY dimension, value`,
    )
    const all = { allow: 1, block: 1, deny: 1, bytes: 15 }
    t.strictSame(counts, [
      { dimension: 'none', value: '', ...all },
      { dimension: 'policy', value: '', allow: 1, block: 1, deny: 0, bytes: 10 },
      { dimension: 'policy', value: 'Größe', allow: 0, block: 0, deny: 1, bytes: 5 },
      { dimension: 'country', value: 'DE', ...all },
    ])
    t.equal(
      reported('stored').reduce((sum, { rows }) => sum + rows, 0),
      3,
    )
    t.strictSame(readdirSync(join(dir, 'clickhouse-incoming')), [], 'no file is left')

    await publishRows(admin, rowBytes([decisionRow()]).subarray(0, 50), 9)
    await admin.publish('weir.log.unheard', 'of')
    await publish(decisionRow({ recordId: 'neighbour' }))
    await until('the stream is empty', async () => (await waiting()) === 0)
    t.strictSame(await idsIn(parts.clickhouse), ['allowed', 'blocked', 'denied', 'neighbour'])
    t.match(reported('malformed'), [
      { rows: 9, fields: { subject: decisionRowsSubject } },
      { rows: 1, fields: { subject: 'weir.log.unheard' } },
    ])
    await writer.close()
  })

  await t.test('the feed of an earlier version is replaced, and the counts stay the same', async (t) => {
    const { clickhouse } = parts
    const query = async () => {
      const [row] = await clickhouse.rows<{ as_select: string }>(
        "SELECT as_select FROM system.tables WHERE name = 'decision_counts_feed'",
      )
      return row!.as_select
    }
    const ofDay = (account: string, at: number) =>
      rowBytes(
        [...'abcabca'].map((word, n) =>
          decisionRow({
            accountId: account,
            at: at + n * 20_000,
            edgeId: n % 2 === 0 ? 'edgtcp_even' : '',
            policy: word,
            country: ['DE', ''][n % 2]!,
            decision: (['allow', 'block', 'deny'] as const)[n % 3]!,
            bytesOut: 10 ** n,
          }),
        ),
      )
    const countsOf = (account: string) =>
      clickhouse.rows<{ dimension: string }>(
        `SELECT dimension, minute, value, sum(allow) AS allow, sum(block) AS block, sum(deny) AS deny,
  sum(bytes_in) AS bytes_in, sum(bytes_out) AS bytes_out
FROM decision_counts WHERE account_id = {account:String} AND dimension != 'rule' GROUP BY dimension, minute, value ORDER BY dimension, minute, value`,
        { account },
      )
    const current = await query()
    await clickhouse.command('DROP TABLE decision_counts_feed')
    await clickhouse.command(earlierFeed)
    const at = Math.floor(Date.now() / 60_000) * 60_000 - hourMs
    await clickhouse.insertBlocks('decisions', [ofDay('ac_earlier', at)])
    t.not(await query(), current)
    await shapeLogTables(clickhouse, bounds)
    t.equal(await query(), current)
    await clickhouse.insertBlocks('decisions', [ofDay('ac_later', at)])
    const counts = await countsOf('ac_later')
    t.strictSame(counts, await countsOf('ac_earlier'))
    t.equal(counts.filter(({ dimension }) => dimension === 'none').length, 3, 'minutes')
  })

  await t.test('questions and records of one insert, in tables of an earlier version', async (t) => {
    const { clickhouse } = parts
    // As an earlier version left them.
    const projections = (change: string, part: 'sql' | 'name') =>
      clickhouse.command(
        `ALTER TABLE decisions ${quarterProjections.map((each) => `${change} PROJECTION ${each[part]}`).join(', ')}`,
      )
    await projections('DROP', 'name')
    const source = "source Enum8('record' = 0, 'asked' = 1) DEFAULT 'record'"
    await clickhouse.command(`ALTER TABLE decisions MODIFY COLUMN ${source}`)
    await projections('ADD', 'sql')
    await shapeLogTables(clickhouse, bounds)
    // As a still earlier one left them.
    await clickhouse.command('DROP TABLE decision_counts_feed')
    await clickhouse.command(
      'ALTER TABLE decisions DROP PROJECTION quarters_by_asn, DROP PROJECTION quarters_by_server_name',
    )
    await clickhouse.command('ALTER TABLE decisions DROP INDEX by_own_time')
    await clickhouse.command(
      'ALTER TABLE decisions DROP COLUMN source, DROP COLUMN weight, DROP COLUMN own_time, DROP COLUMN own_time_word',
    )
    const fewer = "Enum8('none' = 0, 'restriction' = 1, 'ip_restriction' = 2, 'traffic_policy' = 3)"
    for (const column of ['decided_by', 'shadow_decided_by', 'challenger_decided_by'])
      await clickhouse.command(`ALTER TABLE decisions MODIFY COLUMN ${column} ${fewer}`)
    await clickhouse.command('DROP TABLE decision_counts')
    await clickhouse.command(`CREATE TABLE decision_counts (account_id LowCardinality(String),
dimension Enum8('none' = 0, 'edge' = 1, 'policy' = 2, 'country' = 3), minute DateTime('UTC'), value LowCardinality(String),
allow UInt64, block UInt64, deny UInt64, bytes_in UInt64, bytes_out UInt64)
ENGINE = SummingMergeTree((allow, block, deny, bytes_in, bytes_out)) PARTITION BY toDate(minute)
ORDER BY (account_id, dimension, minute, value) TTL minute + toIntervalSecond(691200)`)
    await clickhouse.command(earlierFeed)
    const at = Math.floor(Date.now() / 60_000) * 60_000 - hourMs
    const accountId = 'ac_asked'
    const blocked = { decision: 'block', decidedBy: 'ip_restriction', ruleId: 'ipr_7' } as const
    const record = (recordId: string) => decisionRow({ accountId, at, recordId, ...blocked, bytesOut: 1 })
    await clickhouse.insertBlocks('decisions', [rowBytes([record('of an earlier version')])])
    await clickhouse.command('ALTER TABLE decisions DROP COLUMN method, DROP COLUMN path, DROP COLUMN status')
    await shapeLogTables(clickhouse, bounds)
    const question = decisionRow({
      accountId,
      at,
      recordId: 'question',
      source: 'asked',
      weight: 9,
      ...blocked,
    })
    await clickhouse.insertBlocks('decisions', [
      rowBytes([record('first')]),
      rowBytes([question]),
      rowBytes([{ ...record('last'), decidedBy: 'unserved' }]),
      rowBytes([{ ...record('loaded'), source: 'history', ownAt: at - 365 * 24 * hourMs }]),
    ])
    t.strictSame(
      await clickhouse.rows(
        "SELECT record_id FROM decisions WHERE account_id = 'ac_asked' AND decided_by = 'unserved'",
      ),
      [{ record_id: 'last' }],
      'a word that the earlier version did not know',
    )
    t.strictSame(
      await clickhouse.rows(
        "SELECT record_id, source, weight, own_time = time AS same FROM decisions WHERE account_id = 'ac_asked' ORDER BY record_id",
      ),
      [
        { record_id: 'first', source: 'record', weight: 1, same: 1 },
        { record_id: 'last', source: 'record', weight: 1, same: 1 },
        { record_id: 'loaded', source: 'history', weight: 1, same: 0 },
        { record_id: 'of an earlier version', source: 'record', weight: 1, same: 1 },
        { record_id: 'question', source: 'asked', weight: 9, same: 1 },
      ],
      'rows of an earlier version have the time at which they were stored',
    )
    t.strictSame(
      await clickhouse.rows(`SELECT dimension, value, sum(block) AS block FROM decision_counts
WHERE account_id = 'ac_asked' AND dimension IN ('none', 'rule', 'asked', 'asked_rule') GROUP BY ALL ORDER BY dimension`),
      [
        { dimension: 'none', value: '', block: 3 },
        { dimension: 'rule', value: 'ipr_7', block: 2 },
        { dimension: 'asked', value: '', block: 9 },
        { dimension: 'asked_rule', value: 'ipr_7', block: 9 },
      ],
    )
  })

  await t.test('attempts to deliver are stored, and counted by minute', async (t) => {
    const writer = open(parts.clickhouse)
    const at = Math.floor(Date.now() / 60_000) * 60_000 - hourMs + 1_234
    const error = { errorCode: 'ValidationException', error: 'Bad.' }
    const rows = [
      deliveryRow({ at, eventsFrom: at - 5, eventsUntil: at - 1, tags: [1, 2 ** 32 - 1, 3], receipt: '49' }),
      deliveryRow({ at, outcome: 'failed', requests: 0, tags: [4, 5], ...error }),
      deliveryRow({ at: at + 1, outcome: 'dead_lettered', requests: 0, attempt: 2, tags: [5], ...error }),
    ]
    await publishRows(admin, deliveryBytes(rows), 3, deliveryRowsSubject)
    await publish(decisionRow({ recordId: 'neighbour' }))
    await publishRows(admin, deliveryBytes(rows).subarray(0, 90), 3, deliveryRowsSubject)
    await until('the rows are stored', async () => (await waiting()) === 0)
    const shownTime = (ms: number) => new Date(ms).toISOString().replace('T', ' ').replace('Z', '')
    const [first, ...others] = await parts.clickhouse.rows('SELECT * FROM deliveries ORDER BY time, outcome')
    t.strictSame(first, {
      account_id: 'ac_1',
      destination_id: 'ed_1',
      time: shownTime(at),
      took_ms: 12,
      outcome: 'delivered',
      attempt: 1,
      requests: 1,
      pack: 9,
      request_id: 'request-1',
      shard: '',
      receipt: '49',
      error_code: '',
      error: '',
      events_from: shownTime(at - 5),
      events_until: shownTime(at - 1),
      events: 3,
      event_tags: [1, 2 ** 32 - 1, 3],
    })
    t.match(others, [
      { outcome: 'failed', events: 2, error_code: 'ValidationException' },
      { outcome: 'dead_lettered', events: 1, attempt: 2 },
    ])
    const counts = await parts.clickhouse.rows('SELECT * FROM delivery_counts FINAL')
    t.match(counts, [{ destination_id: 'ed_1', delivered: 3, failed: 2, dead_lettered: 1, requests: 1 }])
    t.match(reported('malformed').at(-1), { rows: 3, fields: { subject: deliveryRowsSubject } })
    await writer.close()
  })

  await t.test(
    'changed bounds apply to tables that exist; the oldest rows are dropped beyond them',
    async (t) => {
      const { clickhouse } = parts
      const engine = async () => {
        const [row] = await clickhouse.rows<{ engine_full: string }>(
          "SELECT engine_full FROM system.tables WHERE name = 'decisions'",
        )
        return row!.engine_full
      }
      const before = await engine()
      await shapeLogTables(clickhouse, bounds)
      t.equal(await engine(), before)
      await shapeLogTables(clickhouse, { retentionMs: 24 * hourMs, bytesMax: 2 ** 20 })
      t.match(await engine(), /toIntervalSecond\(86400\)/)
      t.match(await engine(), /max_bytes_to_merge_at_max_space_in_pool = 65536,/)
      const old = rowBytes([decisionRow({ recordId: 'old', at: Date.now() - 12 * hourMs })])
      await clickhouse.insertBlocks('decisions', [old])
      const [size] = await clickhouse.rows<{ bytes: number }>(
        "SELECT sum(bytes_on_disk) AS bytes FROM system.parts WHERE table IN ('decisions', 'deliveries') AND active",
      )
      t.equal(await dropOldestRows(clickhouse, size!.bytes), 0)
      t.equal(await dropOldestRows(clickhouse, size!.bytes - 1), 1)
      t.notOk((await idsIn(clickhouse)).includes('old'))
      t.ok((await idsIn(clickhouse)).includes('neighbour'))
    },
  )

  await t.test('a ClickHouse server that fails, hangs or is away gets the rows later', async (t) => {
    const path = join(dir, 'served')
    let front = await startClickhouseFront(path)
    t.teardown(() => front.process.kill())
    const clickhouse = await openClickhouse({ url: front.url, directory: dir })
    t.teardown(() => clickhouse.close())
    const writer = open(clickhouse)
    await publish(decisionRow({ recordId: 'first' }))
    await until('the first row is stored', async () => (await waiting()) === 0)
    await front.mode('fail')
    reports.length = 0
    await publish(decisionRow({ recordId: 'while it fails' }))
    await until('an insert has failed', () => reported('unwritten').length > 0)
    t.equal(await waiting(), 1, 'the row stays in the stream')
    t.equal(reported('malformed').length, 0)
    const port = Number(new URL(front.url).port)
    await front.process.kill()
    await publish(decisionRow({ recordId: 'while it is away' }))
    const failures = reported('unwritten').length
    await until('an insert has failed again', () => reported('unwritten').length > failures)
    front = await startClickhouseFront(path, port)
    await until('both rows are stored', async () => (await waiting()) === 0)
    t.strictSame(await idsIn(clickhouse), ['first', 'while it fails', 'while it is away'])
    await front.mode('hang')
    await publish(decisionRow({ recordId: 'unstored' }))
    await until('it is in flight', async () => {
      const info = await admin.consumerInfo(decisionLogStream, 'log')
      return info !== undefined && info.delivered > info.ackFloor
    })
    await writer.close()
    t.equal(await waiting(), 1, 'a stop does not wait for ClickHouse, and gives the row back')
  })
})
