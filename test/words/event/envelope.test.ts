import { createHash } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import type { ConnectionRecord, RequestRecord } from '../../../src/delivery/record/traffic-record.js'
import { JsonBytes } from '../../../src/ground/core/text/json-bytes.js'
import { utcMicros } from '../../../src/ground/core/text/timestamp.js'
import { type AuditOccasion, auditEvent } from '../../../src/words/event/audit.js'
import type { LogEntry } from '../../../src/words/event/define.js'
import {
  compileObject,
  defaultFields,
  purposePart,
  RecordPart,
  templateOf,
} from '../../../src/words/event/envelope.js'
import { httpRequestComplete } from '../../../src/words/event/http-request-complete.js'
import { log } from '../../../src/words/event/log.js'
import { tcpConnectionClosed } from '../../../src/words/event/tcp-connection-closed.js'
import { shownDecision } from './shown-decision.js'
import { eventJson, objectJson } from './written.js'

const conn = {
  client_ip: '203.0.113.7',
  server_port: 22,
  bytes_in: 7,
  start_ts: '2026-11-20T10:00:00.123456Z',
}
const connection: ConnectionRecord = { record_id: 'r', type: 'tcp_connection', conn }

t.test('selected fields are nested, in the order of the kind', async (t) => {
  const cases = [
    {
      name: 'all of them',
      fields: undefined,
      want: {
        conn: {
          bytes_in: 7,
          bytes_out: null,
          client_ip: '203.0.113.7',
          end_ts: null,
          server_ip: null,
          server_name: null,
          server_port: 22,
          start_ts: '2026-11-20T10:00:00.123456Z',
        },
        ip_policy: { decision: 'block' },
      },
    },
    { name: 'one', fields: ['conn.server_port'], want: { conn: { server_port: 22 } } },
    { name: 'one without a value', fields: ['conn.end_ts'], want: { conn: { end_ts: null } } },
    {
      name: 'in another order, one twice',
      fields: ['ip_policy.decision', 'conn.client_ip', 'conn.client_ip'],
      want: { conn: { client_ip: '203.0.113.7' }, ip_policy: { decision: 'block' } },
    },
    { name: 'none', fields: [], want: {} },
  ]
  for (const { name, fields, want } of cases) {
    const serialize = objectJson(tcpConnectionClosed, fields)
    const decided = shownDecision(connection, { ipPolicy: { decision: 'block' } })
    t.equal(serialize(connection, decided), JSON.stringify(want), name)
  }
  t.throws(() => compileObject(tcpConnectionClosed, ['conn.mtu']), { message: /has no field conn.mtu/ })
})

t.test('a request gives each field of its kind', async (t) => {
  const request: RequestRecord = {
    record_id: 'r',
    type: 'http_request',
    conn: {
      client_ip: '::1',
      server_ip: '::2',
      server_name: 'www.example',
      server_port: 443,
      start_ts: '2026-11-20T10:00:00Z',
    },
    http: {
      request: {
        body_length: 1,
        headers: { 'user-agent': ['X'] },
        method: 'GET',
        user_agent: 'X',
        url: { host: 'h', path: '/p', query: 'q=1', raw: 'https://h/p?q=1', scheme: 'https' },
      },
      response: { body_length: 2, headers: { AGE: ['1'] }, status_code: 200 },
    },
    tls: { cipher_suite: 'c', version: '1.3', client_cert: { serial_number: '01', subject: { cn: 'n' } } },
    backend: { connection_reused: false },
    basic_auth: { decision: 'allow', username: 'u' },
    circuit_breaker: { decision: 'allow' },
    compression: { algorithm: 'gzip', bytes_saved: -3 },
    oauth: { decision: 'allow', app_client_id: 'a', user: { id: 'i', name: 'n' } },
    user_agent_filter: { decision: 'block' },
    webhook_verification: { decision: 'allow' },
  }
  const {
    conn,
    http,
    tls,
    backend,
    basic_auth,
    circuit_breaker,
    compression,
    oauth,
    user_agent_filter,
    webhook_verification,
  } = request
  const written = JSON.parse(
    objectJson(httpRequestComplete)(request, shownDecision(request, { ipPolicy: { decision: 'allow' } })),
  )
  t.same(written, {
    conn: { ...conn, start_ts: '2026-11-20T10:00:00.000000Z' },
    tls,
    backend,
    basic_auth,
    circuit_breaker,
    compression,
    oauth,
    user_agent_filter,
    webhook_verification,
    http: {
      request: { ...http!.request, headers: { 'User-Agent': ['x'] }, method: 'get' },
      response: { ...http!.response, headers: { Age: ['1'] } },
    },
    ip_policy: { decision: 'allow' },
  })
  const empty: RequestRecord = {
    record_id: 'r',
    type: 'http_request',
    conn: { client_ip: '::1' },
    http: { request: null },
  }
  const bare = JSON.parse(objectJson(httpRequestComplete)(empty, shownDecision(empty)))
  t.equal(bare.http.request.url.path, null, 'what is not there is null, however deep')
  t.equal(bare.tls.client_cert.subject.cn, null)
})

/** The value at a dotted name, null where there is none. */
const at = (value: unknown, name: string) =>
  name
    .split('.')
    .reduce<unknown>((inner, key) => (inner as Record<string, unknown> | undefined)?.[key], value) ?? null

t.test('equal to JSON.stringify of the picked fields', async (t) => {
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 80 }),
    fc.constantFrom('\ud800', '\udc00x', '"\\', '\u2028', '\u0000'),
  )
  const years = { min: new Date('0000-01-01T00:00:00Z'), max: new Date('9999-12-31T23:59:59Z') }
  const timestamp = fc.date({ ...years, noInvalidDate: true }).map((date) => date.toISOString())
  const members = fc.record(
    {
      client_ip: fc.ipV4(),
      server_ip: text,
      server_name: text,
      server_port: fc.nat(65535),
      start_ts: timestamp,
      end_ts: timestamp,
      bytes_in: fc.maxSafeNat(),
      bytes_out: fc.maxSafeNat(),
    },
    { requiredKeys: ['client_ip'] },
  )
  const names = defaultFields(tcpConnectionClosed)
  fc.assert(
    fc.property(members, fc.subarray([...names]), (given, selection) => {
      const record: ConnectionRecord = { record_id: 'r', type: 'tcp_connection', conn: given }
      const picked: Record<string, Record<string, unknown>> = {}
      for (const name of selection) {
        const [group, leaf] = name.split('.') as [string, string]
        const value = at(record, name)
        const isTime = typeof value === 'string' && leaf.endsWith('_ts')
        picked[group] = { ...picked[group], [leaf]: isTime ? utcMicros(value) : value }
      }
      const json = objectJson(tcpConnectionClosed, selection)(record, shownDecision(record))
      t.equal(json, JSON.stringify(picked))
    }),
    { seed: 7, numRuns: 300 },
  )
})

const action: LogEntry = { metadataJson: '{"Message":"hi"}', policyName: 'a "b"', direction: 'inbound' }

t.test('fields that sources must select: what was decided, by what, about which client', async (t) => {
  const decided = shownDecision(connection, {
    decision: 'block',
    decidedBy: {
      type: 'restriction',
      id: 'ipx_1',
      name: 'the "office"',
      ipPolicyId: 'ipp_1',
      ruleId: 'ipr_1',
      cidr: '203.0.113.0/24',
    },
    edgeId: 'edgtcp_1',
    geo: { country_code: 'DE', latitude: 52.5, asn: 4_294_967_295, as_org: 'A "B"' },
    warnings: ['one "x"', 'two'],
    revision: 42,
    shadow: {
      decision: 'deny',
      decidedBy: {
        type: 'traffic_policy',
        id: 'edgtcp_1',
        name: 'p',
        ipPolicyId: null,
        ruleId: null,
        cidr: null,
      },
    },
  })
  const optional = [...tcpConnectionClosed.fields].filter(([, { optIn }]) => optIn).map(([name]) => name)
  const geo = { city: null, continent_code: null, country: null, country_code: 'DE', latitude: 52.5 }
  const client = {
    as_org: 'A "B"',
    asn: 4_294_967_295,
    geo: { ...geo, longitude: null, radius: null, subdivision: null },
  }
  const place = { edge: { id: 'edgtcp_1' }, record_id: 'r' }
  t.strictSame(JSON.parse(objectJson(tcpConnectionClosed, optional)(connection, decided)), {
    conn: client,
    configuration_revision: 42,
    decided_by: {
      cidr: '203.0.113.0/24',
      id: 'ipx_1',
      ip_policy_id: 'ipp_1',
      name: 'the "office"',
      rule_id: 'ipr_1',
      type: 'restriction',
    },
    decision: 'block',
    ...place,
    route: { id: null },
    shadow: {
      decided_by: {
        cidr: null,
        id: 'edgtcp_1',
        ip_policy_id: null,
        name: 'p',
        rule_id: null,
        type: 'traffic_policy',
      },
      decision: 'deny',
    },
    warnings: ['one "x"', 'two'],
  })
  t.strictSame(JSON.parse(objectJson(log, [...log.fields.keys()])(action, decided)), {
    metadata: { Message: 'hi' },
    conn: {
      bytes_in: 7,
      bytes_out: null,
      client_ip: '203.0.113.7',
      client_port: null,
      end_ts: null,
      server_ip: null,
      server_name: null,
      server_port: 22,
      start_ts: '2026-11-20T10:00:00.123456Z',
      ...client,
    },
    ...place,
    policy: { direction: 'inbound', name: 'a "b"' },
    route: { id: null },
  })
})

t.test('the envelope of traffic events', async (t) => {
  const object = objectJson(log)(action, shownDecision(connection))
  const ids = { kindName: 'log.v0', accountId: 'ac_1', eventId: 'ev_1' }
  const traffic = eventJson(ids, '2026-11-20T10:00:00.000Z', object)
  t.equal(
    traffic,
    '{"event_id":"ev_1","event_type":"log.v0","event_timestamp":"2026-11-20T10:00:00.000Z","account_id":"ac_1","object":{"metadata":{"Message":"hi"}}}',
  )
})

t.test('audit events', async (t) => {
  const occasion: AuditOccasion = {
    object: 'ip_policy',
    verb: 'created',
    accountId: 'ac_1',
    resourceId: 'ipp_1',
    version: 7,
    at: Date.UTC(2026, 10, 20, 10),
    principal: { id: 'ac_1', subject: 'acme', source: 'CLI', credential: null },
    shown: { id: 'ipp_1' },
  }
  const { eventId, resourceId, json } = auditEvent(occasion)
  t.equal(resourceId, 'ipp_1')
  t.equal(
    json,
    `{"event_id":"${eventId}","event_type":"ip_policy_created.v0","event_timestamp":"2026-11-20T10:00:00.000Z","account_id":"ac_1","principal":{"id":"ac_1","subject":"acme","source":"CLI","credential":null},"object":{"id":"ipp_1"}}`,
  )
  t.strictSame(auditEvent({ ...occasion }), { eventId, resourceId, json }, 'told again, it is the same')
  const others: Partial<AuditOccasion>[] = [
    { object: 'ip_policy_rule' },
    { verb: 'updated' },
    { accountId: 'ac_2' },
    { resourceId: 'ipp_2' },
    { version: 8 },
  ]
  const ids = others.map((other) => auditEvent({ ...occasion, ...other }).eventId)
  t.equal(new Set([eventId, ...ids]).size, others.length + 1, 'another change has another id')
})

t.test('event ids are a function of what they are for', async (t) => {
  const about = { kindName: 'log.v0', accountId: 'ac_1' }
  const object = compileObject(log)
  const idOf = (record: string, ...purpose: (string | number)[]) => {
    const bytes = new JsonBytes()
    new RecordPart(record).write(bytes)
    return templateOf({ ...about, purposePart: purposePart(...purpose) }, object).idOf(bytes.take())
  }
  const id = idOf('r1', 'ac_1', 'log.v0', 'esb_1', 'policy', 0)
  const digest = (text: string) => createHash('sha256').update(text).digest('hex')
  t.equal(id, `ev_${digest('r1').slice(0, 32)}${digest('["ac_1","log.v0","esb_1","policy",0]').slice(0, 16)}`)
  const others = [
    idOf('r2', 'ac_1', 'log.v0', 'esb_1', 'policy', 0),
    idOf('r1', 'ac_2', 'log.v0', 'esb_1', 'policy', 0),
    idOf('r1', 'ac_1', 'tcp_connection_closed.v0', 'esb_1', 'policy', 0),
    idOf('r1', 'ac_1', 'log.v0', 'esb_2', 'policy', 0),
    idOf('r1', 'ac_1', 'log.v0', 'esb_1', 'other', 0),
    idOf('r1', 'ac_1', 'log.v0', 'esb_1', 'policy', 1),
    idOf('r1', 'ac_1', 'log.v0', 'esb_1'),
  ]
  t.equal(new Set([id, ...others]).size, others.length + 1, 'each part makes a difference')
})
