/** The records that the demo publishes after its report: fresh times and ids, now and then a bad record. */
import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { recordsPerSecond, renewed } from '../../../src/outside/demo/live-traffic.js'
import { tour } from '../../../src/outside/demo/tour.js'
import { Checks } from '../../harness/checks.js'

const accountId = 'ac_1'
const scenario = tour(JSON.parse(readFileSync('fixtures/records/demo.counts.json', 'utf8')))
const lines = gunzipSync(readFileSync('fixtures/records/demo.ndjson.gz'))
  .toString()
  .split('\n')
  .slice(0, 1_500)

// biome-ignore lint/suspicious/noExplicitAny: records of both types.
type Any = any

t.test('records as if they had just ended', (t) => {
  const checks = new Checks()
  const renew = renewed({ accountId, scenario })
  const nowMs = Date.parse('2027-01-01T00:00:00Z')
  const old = lines.filter((line) => line.endsWith('}')).map((line) => JSON.parse(line) as Any)
  const made = old.map((record, index) => renew(record, index + 1, nowMs) as Any)
  checks.equal(new Set(made.map(({ record_id }) => record_id)).size, made.length, 'ids of their own')
  const bad = made.filter(({ conn }) => typeof conn.server_port !== 'number')
  checks.equal(bad.length, Math.floor(made.length / (60 * recordsPerSecond)), 'one a minute is bad')
  for (const { account_id } of bad) checks.equal(account_id, accountId, 'and belongs to the account')
  const unserved = made.filter(({ conn }) => conn.server_name === 'nobody.demo.example')
  checks.ok(unserved.length > 5, 'a name that nobody serves')
  for (const record of made) {
    const isOwned = unserved.includes(record) || bad.includes(record)
    checks.equal(record.account_id, isOwned ? accountId : undefined)
    checks.ok(Date.parse(record.conn.start_ts) <= nowMs)
  }
  for (const [index, { conn }] of made.entries()) {
    const { start_ts, end_ts } = old[index].conn
    if (end_ts === undefined) continue
    checks.equal(Date.parse(conn.end_ts), nowMs, 'it has just ended')
    const lasted = Date.parse(end_ts) - Date.parse(start_ts)
    checks.equal(Date.parse(conn.end_ts) - Date.parse(conn.start_ts), lasted, 'and lasted as long')
  }
  checks.report(t)
  t.end()
})

t.test('a record that names its edge, without times', (t) => {
  const renew = renewed({ accountId, scenario })
  const nowMs = Date.parse('2027-01-01T00:00:00Z')
  t.strictSame(renew({ edge_id: 'edgtcp_1', conn: { server_name: 'x' } }, 7, nowMs), {
    edge_id: 'edgtcp_1',
    record_id: 'live-7',
    conn: { server_name: 'x', start_ts: '2027-01-01T00:00:00.000Z' },
  })
  t.end()
})
