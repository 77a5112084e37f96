/** Records over HTTP, and what of them can be seen afterwards. */
import { gzipSync } from 'node:zlib'
import type { Json } from '../answer.js'
import type { Chapter } from '../clause.js'
import { client } from '../questions.js'
import { connection, logged, publish } from '../traffic.js'
import type { Visit } from '../visit.js'

const ndjson = { 'content-type': 'application/x-ndjson' }

/** Three records of a name that no edge serves, and the path that finds them in the log. */
async function published(visit: Visit) {
  const host = visit.host('published')
  const ids = ['one', 'two', 'three'].map((name) => visit.recordId(name))
  const start_ts = new Date(Date.now() - 60_000).toISOString()
  const records = ids.map((id, at) =>
    connection(id, host, { client_ip: `203.0.113.${20 + at}`, bytes_in: at, start_ts }),
  )
  const answer = (await publish(visit, ...records)).is(200)
  answer.same([answer.body.stored, answer.body.refused_count], [3, 0], 'stored and refused_count')
  return { host, ids, records }
}

const byHost = (host: string): string => `filter=${encodeURIComponent(`conn.server_name == '${host}'`)}`

export const records: Chapter = {
  title: 'Records',
  clauses: [
    {
      number: 1001,
      page: 'ingress.md#publish-records-over-http',
      says: 'Wrong lines are refused, each with its number and a reason; the others are stored, and blank lines are ignored.',
      needs: ['writes'],
      check: async (visit) => {
        const good = JSON.stringify(connection(visit.recordId('line'), visit.host('lines')))
        const bad = good.replace(client, '203.0.113')
        const answer = await visit.ask.post('/records', `${good}\n\n${bad}\nno JSON\n`, { headers: ndjson })
        answer
          .is(200)
          .same([answer.body.stored, answer.body.refused_count], [1, 2], 'stored and refused_count')
        const [first, second] = answer.body.refused
        answer.same([first.line, second.line], [3, 4], 'the lines')
        answer.must(/conn\.client_ip.*203\.0\.113/.test(first.reason), 'a reason that names member and value')
        answer.must(/JSON/.test(second.reason), 'a reason that says that it is no JSON')
      },
    },
    {
      number: 1002,
      page: 'ingress.md#records',
      says: '`record_id`, `type` and `conn.client_ip` are required; unknown members are ignored; wrong types are refused by name.',
      needs: ['writes'],
      check: async (visit) => {
        const base = connection(visit.recordId('form'), visit.host('forms'))
        const refusedFor = async (record: object, member: string): Promise<void> => {
          const answer = (await publish(visit, record)).is(200)
          answer.same(answer.body.refused_count, 1, 'refused_count')
          answer.must(answer.body.refused[0].reason.includes(member), `a reason that names ${member}`)
        }
        await refusedFor({ ...base, record_id: undefined }, 'record_id')
        await refusedFor({ ...base, record_id: 'x'.repeat(129) }, 'record_id')
        await refusedFor({ ...base, type: undefined }, 'type')
        await refusedFor({ ...base, conn: { server_port: 22 } }, 'conn.client_ip')
        await refusedFor({ ...base, conn: { ...base.conn, server_port: 65_536 } }, 'conn.server_port')
        await refusedFor({ ...base, conn: { ...base.conn, bytes_in: -1 } }, 'conn.bytes_in')
        await refusedFor({ ...base, conn: { ...base.conn, start_ts: 'yesterday' } }, 'conn.start_ts')
        await refusedFor({ ...base, edge_id: 'edgtcp_00000000000000000000000000' }, 'edge')
        const taken = (
          await publish(visit, { ...base, note: 'unknown', conn: { ...base.conn, other: 1 } })
        ).is(200)
        taken.same(taken.body.stored, 1, 'stored')
      },
    },
    {
      number: 1003,
      page: 'ingress.md#publish-records-over-http',
      says: 'A body may be compressed with gzip; more than 20,000 lines are refused with 413, and nothing of them is stored.',
      needs: ['writes'],
      check: async (visit) => {
        const line = JSON.stringify(connection(visit.recordId('gzip'), visit.host('gzip')))
        const headers = { ...ndjson, 'content-encoding': 'gzip' }
        const answer = (await visit.ask.post('/records', gzipSync(line), { headers })).is(200)
        answer.same(answer.body.stored, 1, 'stored')
        ;(await visit.ask.post('/records', gzipSync('\n'.repeat(20_001)), { headers })).is(413)
        ;(await visit.ask.post('/records', Buffer.from('no gzip'), { headers })).is(400)
      },
    },
    {
      number: 1004,
      page: 'api.md#what-was-decided',
      says: 'A decision is in the log after a few seconds, found by name, address, range, record and decision.',
      needs: ['writes'],
      check: async (visit) => {
        const { host, ids } = await visit.once(published)
        const all = await logged(visit, byHost(host), 3)
        const found: string[] = all.body.decisions.map((each: Json) => each.record_id)
        all.same(found.toSorted(), ids.toSorted(), 'the records')
        for (const [query, wanted] of [
          [`client=203.0.113.21&${byHost(host)}`, [ids[1]]],
          [`client=203.0.113.20/31&${byHost(host)}`, [ids[0], ids[1]]],
          [`record_id=${ids[2]}`, [ids[2]]],
          [`decision=block,deny&${byHost(host)}`, []],
        ] as const) {
          const answer = await logged(visit, query, wanted.length)
          const ids = answer.body.decisions.map((each: Json) => each.record_id)
          answer.same(ids.toSorted(), wanted.toSorted(), `the records of ${query}`)
        }
      },
    },
    {
      number: 1005,
      page: 'api.md#by-which-time',
      says: 'A decision has the time at which its record was stored, and its own time, by which lists can be sorted.',
      needs: ['writes'],
      check: async (visit) => {
        const { host, records } = await visit.once(published)
        const stored = await logged(visit, byHost(host), 3)
        const [first] = stored.body.decisions
        stored.same(Date.parse(first.own_at), Date.parse(records[0].conn.start_ts), 'own_at')
        stored.must(Date.parse(first.at) > Date.parse(first.own_at), 'at later than own_at')
        const own = await logged(visit, `time=own&${byHost(host)}`, 3)
        own.same(own.body.decisions.length, 3, 'the number of decisions')
      },
    },
    {
      number: 1006,
      page: 'api.md#what-was-decided',
      says: '`GET /records/{record_id}` shows the record, its decision and the explanation.',
      needs: ['writes'],
      check: async (visit) => {
        const { host, ids, records } = await visit.once(published)
        await logged(visit, byHost(host), 3)
        const answer = (await visit.ask.get(`/records/${ids[0]}`)).is(200)
        const [shown] = answer.body.publications
        answer
          .same(shown.decision.record_id, ids[0], 'record_id')
          .same(shown.decision.decision, 'allow', 'decision')
        answer.same(shown.record.conn, records[0].conn, 'conn of the record')
        answer.same(shown.explained.decision, 'allow', 'the decision of the explanation')
        ;(await visit.ask.get(`/records/${visit.recordId('never')}`)).is(404)
      },
    },
    {
      number: 1007,
      page: 'api.md#what-was-decided',
      says: 'Decisions also come as CSV, with dotted names in its head, and as NDJSON.',
      needs: ['writes'],
      check: async (visit) => {
        const { host, ids } = await visit.once(published)
        await logged(visit, byHost(host), 3)
        const path = `/decisions?since=1h&${byHost(host)}`
        const csv = (await visit.ask.get(path, { headers: { accept: 'text/csv' } })).is(200)
        const [head = '', ...rows] = csv.text.trim().split('\n')
        csv.must(/(^|,)record_id,/.test(head) && head.includes('decided_by.type'), 'a head with names')
        csv.same(rows.length, 3, 'the number of rows')
        const lines = (await visit.ask.get(path, { headers: { accept: 'application/x-ndjson' } })).is(200)
        const found: string[] = lines.text
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line).record_id)
        lines.same(found.toSorted(), ids.toSorted(), 'the records')
      },
    },
    {
      number: 1008,
      page: 'api.md#what-was-decided',
      says: '`GET /stats` counts decisions by interval, with the parameters of the list.',
      needs: ['writes'],
      check: async (visit) => {
        const { host } = await visit.once(published)
        await logged(visit, byHost(host), 3)
        const answer = (await visit.ask.get(`/stats?interval=hour&since=2h&${byHost(host)}`)).is(200)
        const sum = answer.body.counts.reduce((all: number, { allow }: Json) => all + allow, 0)
        answer.same(sum, 3, 'the sum of allow')
      },
    },
    {
      number: 1009,
      page: 'ingress.md#opentelemetry',
      says: '`POST /v1/logs` takes log records over OTLP; those that are no record are rejected and counted.',
      needs: ['writes'],
      check: async (visit) => {
        const record_id = visit.recordId('otlp')
        const text = (key: string, stringValue: string) => ({ key, value: { stringValue } })
        const attributes = [
          text('weir.record_id', record_id),
          text('client.address', client),
          text('server.address', visit.host('otlp')),
        ]
        const logRecords = [
          { timeUnixNano: `${Date.now()}000000`, attributes },
          { attributes: [text('client.port', '1')] },
        ]
        const answer = (
          await visit.ask.post('/v1/logs', { resourceLogs: [{ scopeLogs: [{ logRecords }] }] })
        ).is(200)
        answer.same(Number(answer.body.partialSuccess.rejectedLogRecords), 1, 'rejectedLogRecords')
        const found = await logged(visit, `record_id=${record_id}`, 1)
        const [decision] = found.body.decisions
        found.same(
          [decision.client_ip, decision.server_port],
          [client, 443],
          'the address and the default port',
        )
      },
    },
    {
      number: 1012,
      page: 'api.md#expressions-without-a-result',
      says: 'A policy whose expression had no result for a record is listed, with the record, some seconds after it.',
      needs: ['writes'],
      check: async (visit) => {
        const host = visit.host('failing-policy')
        const inbound = [
          { name: 'no number', expressions: ['int(conn.client_ip) == 1'], actions: [{ type: 'deny' }] },
        ]
        const { id } = await visit.make('/edges/tcp', { hostports: [`${host}:22`], policies: { inbound } })
        const record = connection(visit.recordId('failing'), host)
        ;(await publish(visit, record)).is(200)
        await logged(visit, `record_id=${record.record_id}`, 1)
        await visit.within(20, 'the policy is listed, with its record', async () => {
          const { body } = (await visit.ask.get(`/expression_failures?since=1h&edge_id=${id}`)).is(200)
          return body.expression_failures.find((each: Json) => each.example_record_id === record.record_id)
        })
      },
    },
    {
      number: 1013,
      page: 'api.md#what-is-still-used',
      says: 'Of a domain it is known when traffic named it last.',
      needs: ['writes'],
      check: async (visit) => {
        const domain = visit.host('used')
        const { id } = await visit.make('/reserved_domains', { domain })
        const record = connection(visit.recordId('used'), domain)
        ;(await publish(visit, record)).is(200)
        await logged(visit, `record_id=${record.record_id}`, 1)
        const answer = (await visit.ask.get('/reserved_domains/last_traffic?limit=100')).is(200)
        const entry = (Object.values(answer.body).find(Array.isArray) as Json[]).find(
          (each) => each.id === id,
        )
        answer.must(Date.now() - Date.parse(entry?.last_traffic_at) < 300_000, 'the time of the record')
      },
    },
  ],
}
