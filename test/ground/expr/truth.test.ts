/** The truth of an expression, as far as it is known without a record. */
import t from 'tap'
import { policyScopes } from '../../../src/delivery/record/policy-scope.js'
import { truthOf } from '../../../src/ground/expr/expression.js'
import type { Truth } from '../../../src/ground/expr/truth.js'
import { tcpConnectionClosed } from '../../../src/words/event/tcp-connection-closed.js'

const expressions: readonly [text: string, want: Truth | undefined][] = [
  ['true', 'always'],
  ['false', 'never'],
  ['1 == 2', 'never'],
  ["'a' in ['a', 'b']", 'always'],
  ["'10.1.2.3'|inCidrRange('10.0.0.0/8')", 'always'],
  ['0', 'never'],
  ["''", 'never'],
  ['conn.server_port == 22', undefined],
  ['conn.server_port == 22 && false', 'never'],
  ['false && conn.server_port == 22', 'never'],
  ['true || conn.server_port == 22', 'always'],
  ['true && conn.server_port == 22', undefined],
  ['false || conn.server_port == 22', undefined],
  ['!(conn.server_port == 22)', undefined],
  ['!(false && conn.server_port == 22)', 'always'],
  ['conn.server_port == 22 || true', 'always'],
  ['!(conn.server_port == 22 && false)', 'always'],
  // The first part may fail, and then the whole does.
  ['double(conn.server_name) == 22 || true', 'unless_fails'],
  ["conn.server_name.contains('a') || true", 'unless_fails'],
  ['double(conn.server_name) == 22 && false', 'never'],
  // Sets.
  ['conn.server_port in []', 'never'],
  ['!(conn.server_port in [])', 'always'],
  ['lower(conn.server_name) in []', 'never'],
  ["conn.server_name in ['a'] || !(conn.server_name in ['a', 'b'])", undefined],
  ["conn.server_name in ['a'] && !(conn.server_name in ['a', 'b'])", 'never'],
  ["conn.server_port in ['22']", 'never'],
  // One name twice.
  ['conn.server_port == conn.server_port', 'always'],
  ['conn.server_port != conn.server_port', 'never'],
  ['conn.server_port < conn.server_port', 'never'],
  ['conn.server_port <= conn.server_port', undefined],
  ['conn.server_port == conn.client_port', undefined],
  ["conn.server_name == 'a' && conn.server_name == 'b'", 'never'],
  ["conn.server_name == 'a' || conn.server_name == 'b'", undefined],
  ["conn.server_name != 'a' || conn.server_name != 'b'", 'always'],
  ["conn.server_name == 'a' && conn.server_port == 1 && conn.server_name == 'b'", 'never'],
  [
    "(conn.server_name == 'a' || conn.server_port == 1) && (conn.server_name == 'b' || conn.server_port == 2)",
    undefined,
  ],
  ["conn.server_name == 'ab' && !conn.server_name.startsWith('a')", 'never'],
  ["conn.server_name == 'ab' && conn.server_name.startsWith('b')", 'never'],
  ["conn.server_name.startsWith('a') || !conn.server_name.startsWith('a')", 'always'],
  ["conn.server_name.startsWith('a') && !conn.server_name.startsWith('b')", undefined],
  ['conn.server_port > 10 && conn.server_port < 5', 'never'],
  ['conn.server_port > 10 && conn.server_port < 12', undefined],
  ['conn.server_port > 10 && conn.server_port < 11', 'never'],
  // Without a value, nothing is larger or smaller; null counts as 0.
  ['conn.server_port > 10 || conn.server_port <= 10', undefined],
  ["inList(conn.client_ip, 'a') && !inList(conn.client_ip, 'a')", 'never'],
  ["inList(conn.client_ip, 'a') && !inList(conn.client_ip, 'b')", undefined],
  // Values that a field can't have.
  ['conn.server_port < 0', 'never'],
  ['conn.server_port == 65536', 'never'],
  ['conn.server_port == 65535', undefined],
  ['0 > conn.client_port', 'never'],
  ['conn.server_port == 22.5', 'never'],
  ["conn.server_port == 'ssh'", 'never'],
  ["conn.server_port == '22'", undefined],
  ["conn.geo.country_code == 'de'", 'never'],
  ["conn.geo.country_code != 'de'", 'always'],
  ["conn.geo.country_code in ['de', 'fr']", 'never'],
  ["conn.geo.country_code in ['de', 'FR']", undefined],
  ["conn.geo.country_code == 'DEU'", 'never'],
  ["conn.geo.country_code == 'DE'", undefined],
  ["conn.geo.country_code == ''", 'never'],
  ["conn.geo.continent_code == 'Europe'", 'never'],
  ["conn.client_ip == '10.0.0.0/8'", 'never'],
  ["conn.client_ip == '10.0.0.1'", undefined],
  ["conn.start_ts == '2026-11-20'", 'never'],
  ["conn.start_ts > '2026-11-20'", undefined],
  ['conn.geo.latitude > 90', 'never'],
  ["lower(conn.server_name) == 'Db'", 'never'],
  ["lower(conn.server_name) == 'db'", undefined],
  ["upper(conn.geo.city) in ['oslo']", 'never'],
  ['conn.geo.city', undefined],
  ['true ? conn.server_port == 22 : true', undefined],
  ['false ? conn.server_port == 22 : true', 'always'],
  ['conn.server_port == 22 ? true : true', 'always'],
  ['no.such.name', undefined],
]

for (const [text, want] of expressions)
  t.test(text, async (t) => {
    t.equal(truthOf(text, policyScopes.tcp_connection.inbound), want)
  })

const outbound: readonly [text: string, want: Truth | undefined][] = [
  ["ip_policy.decision == 'deny'", 'never'],
  ["ip_policy.decision == 'block'", undefined],
  ['conn.bytes_in < 0', 'never'],
]

for (const [text, want] of outbound)
  t.test(text, async (t) => {
    t.equal(truthOf(text, policyScopes.tcp_connection.outbound), want)
  })

const filters: readonly [text: string, want: Truth | undefined][] = [
  ["ev.decision == 'blocked'", 'never'],
  ["decision == 'block'", undefined],
  ["ev.conn.geo.country_code == 'de'", 'never'],
  ['conn.server_port == 1 || true', 'always'],
  ["conn.start_ts == '2026-11-20T13:19:00Z'", undefined],
]

for (const [text, want] of filters)
  t.test(text, async (t) => {
    t.equal(truthOf(text, tcpConnectionClosed.filterScope), want)
  })

t.test('requests', async (t) => {
  const { inbound, outbound } = policyScopes.http_request
  t.equal(truthOf("http.request.method == 'GET'", inbound), undefined, 'spelled like its values')
  t.equal(truthOf('http.request.url.ambiguous && !http.request.url.ambiguous', inbound), 'never')
  t.equal(
    truthOf("http.request.headers['a'] == 'x' && http.request.headers['A'] == 'y'", inbound),
    'never',
    'keys of headers are in lower case',
  )
  t.equal(truthOf("http.request.headers['a'] == 'x' && http.request.headers['b'] == 'y'", inbound), undefined)
  t.equal(truthOf("http.request.cookies['a'] == 'x' && http.request.cookies['A'] == 'y'", inbound), undefined)
  t.equal(truthOf('http.response.status_code == 99999999999', outbound), 'never')
})

t.test('a large expression costs little', async (t) => {
  const scope = policyScopes.tcp_connection.inbound
  const many = Array.from(
    { length: 300 },
    (_, index) => `(conn.server_port == ${index} && conn.server_name == 'a${index}')`,
  )
  const work = { left: 20_000 }
  t.equal(truthOf(many.join(' || '), scope, work), undefined)
  t.ok(work.left >= 0, 'within its bound')
})
