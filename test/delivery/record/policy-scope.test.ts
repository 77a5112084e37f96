import t from 'tap'
import { type AddressLists, PolicyContext } from '../../../src/delivery/record/policy-context.js'
import { policyScopes } from '../../../src/delivery/record/policy-scope.js'
import { type RequestRecord, recordTypes } from '../../../src/delivery/record/traffic-record.js'
import {
  checkExpression,
  compileClosures,
  listsIn,
  namesIn,
  truthOf,
} from '../../../src/ground/expr/expression.js'
import { StepBudget } from '../../../src/ground/expr/run.js'
import { defineScope } from '../../../src/ground/expr/scope.js'

const record: RequestRecord = {
  record_id: 'r',
  type: 'http_request',
  conn: { client_ip: '203.0.113.7', server_name: 'www.example', server_port: 443 },
  http: {
    request: {
      method: 'POST',
      body_length: 12,
      user_agent: 'curl/8',
      url: { host: 'WWW.Example.', path: '/a', query: 'b=1' },
      headers: {
        'X-Name': ['First', 'second'],
        'x-name': ['third'],
        EMPTY: [],
        __proto__: ['p'],
        constructor: ['c'],
      } as never,
    },
    response: { status_code: 503, body_length: 7, headers: { Server: ['nginx'] } },
  },
  tls: { version: 'TLSv1.3', client_cert: { subject: { cn: 'device 1' } } },
  basic_auth: { username: 'ann' },
  oauth: { user: { name: 'Bob' } },
}

const empty: RequestRecord = { record_id: 'r', type: 'http_request', conn: { client_ip: '203.0.113.7' } }

const valueIn = (text: string, from: RequestRecord): unknown => {
  const compiled = compileClosures(text, policyScopes.http_request.outbound)
  if (!compiled.ok) throw new Error(compiled.problem.msg)
  const context = new PolicyContext(from, undefined, { lookup: () => ({}) })
  return compiled.value.evaluate(context, new StepBudget())
}

t.test('names of requests: their values, and none in a record without them', (t) => {
  const cases: Readonly<Record<string, unknown>> = {
    'conn.server_port': 443,
    'http.request.method': 'post',
    'http.request.url.host': 'www.example',
    'http.request.url.path': '/a',
    'http.request.url.query': 'b=1',
    'http.request.user_agent': 'curl/8',
    'http.request.body_length': 12,
    "http.request.headers['x-name']": 'First',
    "http.request.headers['X-NAME']": 'First',
    "http.request.headers['empty']": undefined,
    "http.request.headers['x-other']": undefined,
    "http.request.headers['constructor']": 'c',
    "http.request.headers['tostring']": undefined,
    "http.request.headers['hasOwnProperty']": undefined,
    'http.response.status_code': 503,
    'http.response.body_length': 7,
    'http.response.headers.server': 'nginx',
    'tls.version': 'TLSv1.3',
    'tls.client_cert.subject.cn': 'device 1',
    'basic_auth.username': 'ann',
    'oauth.user.name': 'Bob',
    'ip_policy.decision': undefined,
  }
  for (const [text, want] of Object.entries(cases)) {
    t.equal(valueIn(text, record), want, text)
    if (text !== 'conn.server_port') t.equal(valueIn(text, empty) ?? undefined, undefined, text)
  }
  t.equal(valueIn("http.request.method == 'Post'", record), true, 'methods in any case')
  t.equal(valueIn("http.request.url.host in ['WWW.EXAMPLE']", record), true, 'hosts, too')
  t.end()
})

t.test('a name that cannot have a value is refused, with the reason', (t) => {
  const cases = [
    { type: 'tcp_connection', side: 'inbound', text: 'tls.version', says: /HTTP requests only/ },
    {
      type: 'tcp_connection',
      side: 'outbound',
      text: "http.request.headers['a']",
      says: /not a known name|HTTP/,
    },
    { type: 'http_request', side: 'outbound', text: 'conn.bytes_in', says: /TCP connections only/ },
    {
      type: 'http_request',
      side: 'inbound',
      text: 'http.response.status_code',
      says: /is complete; use it in outbound/,
    },
    { type: 'tcp_connection', side: 'inbound', text: 'conn.end_ts', says: /is closed; use it in outbound/ },
    {
      type: 'http_request',
      side: 'inbound',
      text: 'http.request.headers',
      says: /write one as http\.request\.headers\['/,
    },
    {
      type: 'http_request',
      side: 'inbound',
      text: 'http.request.headers[conn.server_name]',
      says: /for each key only/,
    },
    {
      type: 'http_request',
      side: 'inbound',
      text: 'http.request.path',
      says: /did you mean .*http\.request\.url\.path/,
    },
  ] as const
  for (const { type, side, text, says } of cases)
    t.match(checkExpression(text, policyScopes[type][side])?.msg, says, `${type} ${side}: ${text}`)
  t.end()
})

t.test('every name is available or refused with a reason, for each type of record', (t) => {
  const all = new Set(recordTypes.flatMap((type) => [...policyScopes[type].outbound.names.keys()]))
  for (const type of recordTypes) {
    for (const side of ['inbound', 'outbound'] as const) {
      const { names, unavailable } = policyScopes[type][side]
      t.same(
        [...all].filter((name) => names.has(name) === unavailable.has(name)),
        [],
        `${type} ${side}`,
      )
    }
  }
  t.end()
})

t.test('a header is a name of its own for those who count names', (t) => {
  const text =
    "http.request.headers['X-A'] == 'a' && http.request.headers['x-a'] != http.request.headers[\"it's\"]"
  const names = namesIn(text, policyScopes.http_request.inbound)
  t.same(names.map(({ name }) => name).toSorted(), [
    "http.request.headers['it\\'s']",
    "http.request.headers['x-a']",
  ])
  t.end()
})

t.test('lists of the account', (t) => {
  const lists: AddressLists = {
    isIn: (list, { words }) => list === 'partners' && words[3] === 0xcb007107,
    categoriesOf: () => ['proxy', 'proxy.tor'],
  }
  const value = (text: string, known?: AddressLists) => {
    const compiled = compileClosures(text, policyScopes.http_request.inbound)
    if (!compiled.ok) throw new Error(compiled.problem.msg)
    const context = new PolicyContext(empty, undefined, { lookup: () => ({}) })
    context.lists = known
    return compiled.value.evaluate(context, new StepBudget())
  }
  const cases: readonly [text: string, listed: unknown, without: unknown][] = [
    ["inList(conn.client_ip, 'partners')", true, false],
    ["conn.ClientIP.inList('partners')", true, false],
    ["!conn.client_ip|inList('others')", true, true],
    ["'proxy' in conn.ip.categories", true, false],
    ["'Proxy.Tor' in conn.ip.categories && size(conn.ip.categories) == 2", true, false],
    ["'tor' in conn.ip.categories", false, false],
  ]
  for (const [text, listed, without] of cases) {
    t.equal(value(text, lists), listed, text)
    t.equal(value(text), without, text)
  }
  const refused: readonly [text: string, says: RegExp][] = [
    ["inList(conn.server_ip, 'partners')", /can be asked about conn\.client_ip only/],
    ["inList('203.0.113.7', 'partners')", /can be asked about conn\.client_ip only/],
    ['inList(conn.client_ip, conn.server_name)', /must be a literal text/],
    ['inList(conn.client_ip)', /inList takes 2 .* not 1/],
    ['conn.ip.categories.length', /is not a known name/],
  ]
  for (const [text, says] of refused)
    t.match(checkExpression(text, policyScopes.http_request.inbound)?.msg, says, text)
  t.match(
    checkExpression("inList(a, 'b')", defineScope({ names: { a: { type: 'string', read: () => '' } } }))?.msg,
    /known in expressions of traffic policies only/,
  )
  const mixed = "inList(conn.client_ip, 'a') || conn.server_port == 1 || inList(conn.client_ip, \"b'\")"
  t.same(
    namesIn(mixed, policyScopes.http_request.inbound)
      .map(({ name }) => name)
      .toSorted(),
    ['conn.server_port', "inList(conn.client_ip, 'a')", "inList(conn.client_ip, 'b\\'')"],
  )
  t.same(
    listsIn(mixed, policyScopes.http_request.inbound)
      .map(({ name }) => name)
      .toSorted(),
    ['a', "b'"],
  )
  t.equal(truthOf("inList(conn.client_ip, 'a')", policyScopes.http_request.inbound), undefined)
  t.end()
})
