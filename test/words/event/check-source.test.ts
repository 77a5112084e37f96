import t from 'tap'
import { trafficEvents } from '../../../src/words/event/catalog.js'
import { checkSource } from '../../../src/words/event/check-source.js'

const tcp = 'tcp_connection_closed.v0'
const http = 'http_request_complete.v0'

t.test('the kinds: fields that are sent by default, and those of them that filters may use', async (t) => {
  const conn = ['conn.client_ip', 'conn.server_ip', 'conn.server_name', 'conn.server_port']
  const request = ['http.request.body_length', 'http.request.method', 'http.request.url.path']
  const response = ['http.response.body_length', 'http.response.status_code']
  const cases = [
    { name: http, fields: 34, filterable: [...conn, ...request, ...response, 'ip_policy.decision'] },
    { name: tcp, fields: 9, filterable: ['conn.bytes_in', 'conn.bytes_out', ...conn, 'ip_policy.decision'] },
    { name: 'log.v0', fields: 1, filterable: [] },
    {
      name: 'decision_differs.v0',
      fields: 17,
      filterable: [
        ...['id', 'name', 'rule_id', 'type'].map((name) => `challenger.decided_by.${name}`),
        ...['challenger.decision', 'challenger.id'],
        ...['conn.client_ip', 'conn.server_name', 'conn.server_port'],
        ...['id', 'name', 'rule_id', 'type'].map((name) => `decided_by.${name}`),
        ...['decision', 'edge.id', 'record_id', 'route.id'],
      ],
    },
  ]
  const sent = trafficEvents.map(({ name, fields }) => {
    const byDefault = [...fields].filter(([, { optIn }]) => !optIn)
    const filterable = byDefault.filter(([, field]) => field.filterable)
    return { name, fields: byDefault.length, filterable: filterable.map(([field]) => field) }
  })
  t.same(sent, cases)
  for (const { fields } of trafficEvents)
    for (const [name, { optIn, filterable }] of fields) if (optIn) t.ok(filterable, name)
})

t.test('sources that are taken', async (t) => {
  const cases = [
    { name: 'a kind alone', source: { type: tcp } },
    { name: 'an audit kind', source: { type: 'ip_policy_created.v0' } },
    {
      name: 'an audit kind with nothing chosen',
      source: { type: 'ip_policy_created.v0', fields: null, filter: '' },
    },
    { name: 'fields', source: { type: tcp, fields: ['conn.bytes_in', 'ip_policy.decision'] } },
    { name: 'metadata of log', source: { type: 'log.v0', fields: ['metadata'] } },
    {
      name: 'every filterable field',
      source: {
        type: http,
        filter:
          "conn.client_ip != '' && conn.server_ip != '' && conn.server_name != '' && conn.server_port > 0",
      },
    },
    {
      name: 'what was decided, by what, and about whom',
      source: {
        type: tcp,
        filter:
          "decision != 'allow' && decided_by.type == 'restriction' && conn.geo.country_code == 'US' && conn.asn == 64500 && 'x' in warnings",
      },
    },
    {
      name: 'a log action',
      source: { type: 'log.v0', filter: "policy.name == 'watch' && conn.bytes_in > 9" },
    },
    { name: 'a leading ev.', source: { type: tcp, filter: 'ev.conn.server_port == 22' } },
    { name: 'aliases', source: { type: tcp, filter: "conn.ServerPort == 22 && ev.conn.ClientIP != '::1'" } },
    { name: 'an empty filter', source: { type: tcp, filter: '' } },
  ]
  for (const { name, source } of cases) t.equal(checkSource(source), undefined, name)
})

t.test('sources that are refused, with a sentence', async (t) => {
  const cases = [
    { name: 'an unknown kind', source: { type: 'tcp_conection_closed.v0' }, says: [tcp, 'did you mean'] },
    {
      name: 'a kind near to nothing',
      source: { type: 'log' },
      says: [
        `There is no event source "log"; supported are ${http}, ${tcp}, log.v0, `,
        'event_destination_state_changed.v0, ',
        'events_dropped.v0, and <object>_created.v0,',
        'of api_key, bouncer, certificate_authority,',
      ],
    },
    {
      name: 'an unknown field',
      source: { type: tcp, fields: ['conn.byte_in'] },
      says: ['conn.byte_in', 'did you mean conn.bytes_in'],
    },
    {
      name: 'a field of another kind',
      source: { type: tcp, fields: ['tls.version'] },
      says: [`${http} has it`],
    },
    {
      name: 'a field of two other kinds',
      source: { type: 'log.v0', fields: ['decision'] },
      says: [`log.v0 has no field "decision"; ${http}, ${tcp} and decision_differs.v0 have it.`],
    },
    {
      name: 'a field near to nothing',
      source: { type: 'log.v0', fields: ['x'] },
      says: ['log.v0 has no field "x"; supported are "metadata", '],
    },
    { name: 'no fields', source: { type: tcp, fields: [] }, says: ['empty list'] },
    {
      name: 'fields of an audit kind',
      source: { type: 'ip_policy_created.v0', fields: ['id'] },
      says: ['audit kind', 'no fields'],
    },
    {
      name: 'a filter of an audit kind',
      source: { type: 'ip_policy_created.v0', filter: 'true' },
      says: ['audit kind', 'no filter'],
    },
    {
      name: 'a name of another kind in a filter',
      source: { type: 'log.v0', filter: "decided_by.type == 'none'" },
      says: ['decided_by.type'],
    },
    {
      name: 'a field that is not filterable',
      source: { type: tcp, filter: "conn.end_ts > '2026'" },
      says: ['conn.end_ts is not filterable', 'conn.client_ip'],
    },
    {
      name: 'the same with ev.',
      source: { type: tcp, filter: "ev.conn.end_ts > '2026'" },
      says: ['is not filterable'],
    },
    {
      name: 'a mistyped name',
      source: { type: tcp, filter: 'conn.server_prt == 22' },
      says: ['did you mean', 'conn.server_port'],
    },
    { name: 'no expression', source: { type: tcp, filter: 'conn.server_port ==' }, says: [''] },
  ]
  for (const { name, source, says } of cases) {
    const problem = checkSource(source)
    t.ok(
      problem !== undefined && says.every((part) => problem.msg.includes(part)),
      `${name}: ${problem?.msg}`,
    )
  }
})
