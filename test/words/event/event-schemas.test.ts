/**
 * The schemas of events, against events as they are rendered; those of audit events are held against where they are read.
 */
import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import fc from 'fast-check'
import t from 'tap'
import { Compile } from 'typebox/compile'
import { parseMessage, parseRecord } from '../../../src/delivery/record/record.js'
import type { ConnectionRecord, RequestRecord } from '../../../src/delivery/record/traffic-record.js'
import { subscribableKinds } from '../../../src/words/event/check-source.js'
import type { LogEntry, ShownDecision, TrafficEventKind } from '../../../src/words/event/define.js'
import { eventSchemas, testEventJson } from '../../../src/words/event/event-schemas.js'
import { httpRequestComplete } from '../../../src/words/event/http-request-complete.js'
import { log } from '../../../src/words/event/log.js'
import { tcpConnectionClosed } from '../../../src/words/event/tcp-connection-closed.js'
import { shownDecision } from './shown-decision.js'
import { eventJson, objectJson } from './written.js'

const checks = new Map(eventSchemas().map(({ kind, schema }) => [kind, Compile(schema)]))

const accountId = 'ac_01KAJ5T2Q8XN4RB6TZ5CDEFGHJ'
const id = 'ev_7f3a1c9e5d2b4860a1f0c3d5e7b9a2c4'

const rendered = <R>(
  kind: TrafficEventKind<R>,
  record: R,
  decided: ShownDecision,
  fields?: readonly string[],
) =>
  JSON.parse(
    eventJson(
      { kindName: kind.name, accountId, eventId: id },
      '2026-11-20T10:00:00.000Z',
      objectJson(kind, fields)(record, decided),
    ),
  )

const isAsDescribed = (kind: string, event: unknown): boolean => {
  const check = checks.get(kind)!
  if (check.Check(event)) return true
  throw new Error(`${JSON.stringify(event)}\n${JSON.stringify([...check.Errors(event)])}`)
}

const records = parseMessage(gunzipSync(readFileSync('fixtures/records/demo.ndjson.gz'))).flatMap(
  ({ bytes }) => {
    const record = parseRecord(bytes)
    return record.ok ? [record.value] : []
  },
)

const connection = records.find(({ type }) => type === 'tcp_connection')!

const decisions: ShownDecision[] = [
  shownDecision(connection),
  shownDecision(connection, {
    ipPolicy: { decision: 'allow' },
    edgeId: 'edghts_1',
    routeId: 'edghtsrt_1',
    geo: {
      country_code: 'DE',
      country: 'Germany',
      city: 'Berlin',
      subdivision: 'Berlin',
      continent_code: 'EU',
      latitude: 52.52,
      longitude: 13.4,
      radius: 20,
      asn: 64_500,
      as_org: 'Example',
    },
    warnings: ['A restriction would block.'],
  }),
  shownDecision(connection, {
    decision: 'block',
    decidedBy: {
      type: 'restriction',
      id: 'ipx_1',
      name: 'office',
      ipPolicyId: 'ipp_1',
      ruleId: 'ipr_1',
      cidr: '::/0',
    },
    ipPolicy: { decision: 'block' },
  }),
]

/** A record that has every member, as it is published. */
const whole = {
  record_id: 'r',
  type: 'http_request',
  conn: {
    client_ip: '::1',
    server_ip: '192.0.2.1',
    server_name: 'a',
    server_port: 443,
    start_ts: '2026-11-20T10:00:00Z',
  },
  http: {
    request: {
      body_length: 2 ** 53 - 1,
      headers: { 'user-agent': ['a', 'b'] },
      method: 'GET',
      url: { host: 'a', path: '/', query: 'x', raw: '/?x', scheme: 'https' },
      user_agent: 'b',
    },
    response: { body_length: 0, headers: {}, status_code: 200 },
  },
  tls: { cipher_suite: 'x', version: '1.3', client_cert: { serial_number: '1', subject: { cn: 'c' } } },
  backend: { connection_reused: true },
  basic_auth: { decision: 'allow', username: 'u' },
  circuit_breaker: { decision: 'allow' },
  compression: { algorithm: 'gzip', bytes_saved: -5 },
  oauth: { app_client_id: 'x', decision: 'allow', user: { id: 'i', name: 'n' } },
  user_agent_filter: { decision: 'allow' },
  webhook_verification: { decision: 'allow' },
}

t.test('every kind that a source may name has one, and the test event', async (t) => {
  t.strictSame([...checks.keys()].toSorted(), [...subscribableKinds(), 'test.v0'].toSorted())
})

t.test('events of records, whatever is selected of them', async (t) => {
  const of = (type: string) => records.filter((record) => record.type === type)
  const parsed = parseRecord(Buffer.from(JSON.stringify(whole)))
  if (!parsed.ok) throw new Error(parsed.problem.msg)
  const requests = [...of('http_request'), parsed.value] as RequestRecord[]
  const connections = of('tcp_connection') as ConnectionRecord[]
  const holds = <R>(kind: TrafficEventKind<R>, some: readonly R[]): void => {
    for (const record of some) isAsDescribed(kind.name, rendered(kind, record, decisions[0]!))
    fc.assert(
      fc.property(
        fc.constantFrom(...some),
        fc.constantFrom(...decisions),
        fc.subarray([...kind.fields.keys()]),
        (record, decided, fields) => isAsDescribed(kind.name, rendered(kind, record, decided, fields)),
      ),
    )
  }
  holds(tcpConnectionClosed, connections)
  holds(httpRequestComplete, requests)
  const event = rendered(httpRequestComplete, requests.at(-1)!, decisions[1]!)
  t.notMatch(JSON.stringify(event), 'null', 'the whole record leaves no field out')
})

const logged = (metadata: object): LogEntry => ({
  metadataJson: JSON.stringify(metadata),
  policyName: 'watch',
  direction: 'outbound',
})

t.test('events of log actions', async () => {
  const metadata = fc.dictionary(fc.string(), fc.jsonValue())
  fc.assert(
    fc.property(metadata, (map) => isAsDescribed('log.v0', rendered(log, logged(map), decisions[0]!))),
  )
})

t.test('the test event', async (t) => {
  const json = testEventJson('ev_01KAJ5T2Q8XN4RB6TZ5CDEFGHJ', 0, accountId, 'ed_01KAJ5T2Q8XN4RB6TZ5CDEFGHJ')
  t.ok(isAsDescribed('test.v0', JSON.parse(json)))
})

t.test('what is not as described is found', async (t) => {
  const event = rendered(tcpConnectionClosed, records[0] as ConnectionRecord, decisions[0]!)
  const check = checks.get('tcp_connection_closed.v0')!
  t.equal(check.Check(event), true)
  t.equal(check.Check({ ...event, event_type: 'log.v0' }), false)
  t.equal(check.Check({ ...event, object: { conn: { mtu: 1 } } }), false)
  t.equal(check.Check({ ...event, object: { conn: { bytes_in: '1' } } }), false)
})
