import t from 'tap'
import { trafficEvents } from '../../src/event/catalog.js'
import { checkSource } from '../../src/event/check-source.js'

const tcp = 'tcp_connection_closed.v0'
const http = 'http_request_complete.v0'

t.test('the kinds', async (t) => {
  const filterable = ['conn.client_ip', 'conn.server_ip', 'conn.server_name', 'conn.server_port']
  const cases = [
    { name: http, fields: 34, filterable },
    { name: tcp, fields: 9, filterable },
    { name: 'log.v0', fields: 1, filterable: [] },
  ]
  t.same(
    trafficEvents.map(({ name, fields }) => ({
      name,
      fields: fields.size,
      filterable: [...fields].filter(([, field]) => field.filterable).map(([field]) => field),
    })),
    cases,
  )
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
        `There is no event source "log"; supported are ${http}, ${tcp}, log.v0, and <object>_created.v0,`,
        'of api_key, certificate_authority,',
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
      source: { type: 'log.v0', fields: ['conn.client_ip'] },
      says: [`log.v0 has no field "conn.client_ip"; ${http} and ${tcp} have it.`],
    },
    {
      name: 'a field near to nothing',
      source: { type: 'log.v0', fields: ['x'] },
      says: ['log.v0 has no field "x"; supported are "metadata".'],
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
    { name: 'a filter of log', source: { type: 'log.v0', filter: 'true' }, says: ['log.v0 takes no filter'] },
    {
      name: 'a field that is not filterable',
      source: { type: tcp, filter: 'conn.bytes_in > 3' },
      says: ['conn.bytes_in is not filterable', 'conn.client_ip'],
    },
    {
      name: 'the same with ev.',
      source: { type: tcp, filter: 'ev.conn.bytes_in > 3' },
      says: ['is not filterable'],
    },
    {
      name: 'geography, which only policies know',
      source: { type: tcp, filter: "conn.geo.country_code == 'US'" },
      says: ['conn.geo.country_code'],
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
