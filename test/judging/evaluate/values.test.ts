/** Of a header, cookie or parameter that a request has several times, every value is judged that a server may take. */
import fc from 'fast-check'
import t from 'tap'
import { parseDecisionRequest } from '../../../src/delivery/record/record.js'
import type { Headers } from '../../../src/delivery/record/traffic-record.js'
import { Slices } from '../../../src/ground/core/slices.js'
import { splitUri } from '../../../src/ground/core/text/request-target.js'
import { buildChallengers } from '../../../src/judging/evaluate/challenger-build.js'
import { decideRecord } from '../../../src/judging/evaluate/decide.js'
import { buildPolicySet, type PolicySet } from '../../../src/judging/evaluate/policy-set.js'
import type { PolicyRow } from '../../../src/judging/evaluate/policy-source.js'
import { runPolicyTest } from '../../../src/judging/evaluate/policy-test.js'
import { deny, log, noGeo, noYield, TestConfiguration } from './configuration.js'

interface Asked {
  readonly uri?: string
  readonly method?: string
  readonly headers?: Headers
}

function requestOf({ uri = '/', method = 'GET', headers = {} }: Asked) {
  return {
    type: 'http_request',
    conn: { client_ip: '203.0.113.7', server_name: 'www.example', server_port: 443 },
    http: {
      request: {
        method,
        headers,
        user_agent: headers['user-agent']?.[0] ?? null,
        url: { ...splitUri(uri), raw: uri },
      },
    },
  }
}

const module = (...inbound: PolicyRow[]) => ({ enabled: true, inbound, outbound: [] })
const denying = (...expressions: string[]): PolicyRow => ({ name: 'no', expressions, actions: [deny] })

const withPolicies = (...inbound: PolicyRow[]): Promise<PolicySet> =>
  buildPolicySet(
    new TestConfiguration('ac_1').httpsEdge('edghts_1', ['www.example:443'], 'ac_1', module(...inbound)),
    undefined,
    noYield,
  )

const denyIf = (...expressions: string[]): Promise<PolicySet> => withPolicies(denying(...expressions))

function decided(set: PolicySet, asked: Asked) {
  const parsed = parseDecisionRequest({ ...requestOf(asked), explain: true })
  if (!parsed.ok) throw new Error(parsed.problem.msg)
  const result = decideRecord(set, noGeo, parsed.value)
  if (!result.ok) throw new Error(result.problem.msg)
  return result.value
}

interface Case {
  readonly policy: string
  readonly denied: readonly Asked[]
  readonly allowed: readonly Asked[]
}

const header = (name: string, ...values: string[]): Asked => ({ headers: { [name]: values } })
const query = (text: string): Asked => ({ uri: `/?${text}` })

const cases: Record<string, Case> = {
  'a header that is repeated': {
    policy: "http.request.headers['x-role'] == 'admin'",
    denied: [
      header('x-role', 'admin'),
      header('X-Role', 'user', 'admin'),
      header('x-role', 'user', 'admin', 'guest'),
      header('x-role', 'admin', ''),
      header('x-role', '', 'admin'),
      { headers: { 'X-Role': ['user'], 'x-ROLE': ['admin'] } },
      { headers: { 'x-role': ['user'], x_role: ['admin'] } },
      header('x_role', 'admin'),
      header('x.role', 'admin'),
      header('x-role', 'user, admin'),
      header('x-role', 'user,admin'),
      header('x-role', 'admin\u00a0'),
    ],
    allowed: [
      header('x-role', 'user'),
      header('x-role', 'user', 'guest'),
      header('x-role', 'Admin'),
      header('x-role', 'administrator, user'),
      header('x-roles', 'admin'),
      {},
    ],
  },
  'a header that must have one value': {
    policy: "http.request.headers['x-key'] != 'secret'",
    denied: [
      header('x-key', 'secret', 'x'),
      header('x-key', 'x', 'secret'),
      header('x-key', 'secret', 'secret'),
      header('x_key', 'secret'),
      {},
    ],
    allowed: [header('x-key', 'secret'), header('X-Key', 'secret')],
  },
  'a header that must be there': {
    policy: "http.request.headers['user-agent'] == null || http.request.user_agent == null",
    denied: [{}, header('user-agent', ''), header('user-agent', ' ')],
    allowed: [header('user-agent', 'curl/8')],
  },
  'joined values': {
    policy: "http.request.headers['x-a'].startsWith('a, b') || http.request.headers['x-a'] == 'c,d'",
    denied: [header('x-a', 'a', 'b'), header('x-a', 'c', 'd')],
    allowed: [header('x-a', 'b', 'a'), header('x-a', 'd', 'c')],
  },
  'headers whose commas are part of their value': {
    policy:
      "!http.request.user_agent.startsWith('Mozilla/') || !http.request.headers.accept.contains('html')",
    denied: [
      { headers: { 'user-agent': ['Mozilla/5.0', 'curl/8'], accept: ['text/html'] } },
      { headers: { 'user-agent': ['Mozilla/5.0'], accept: ['text/html', 'text/plain'] } },
    ],
    allowed: [
      { headers: { 'user-agent': ['Mozilla/5.0 (KHTML, like Gecko)'], accept: ['text/html, text/plain'] } },
    ],
  },
  'cookies in the text': {
    policy: "http.request.headers['cookie'].matches('(^|; )role=admin(;|$)')",
    denied: [
      'role=user; role=admin',
      'role=admin; role=user',
      'a=1;role=admin',
      'a=1; role = admin',
      'a=1; role="admin"',
      'a=1; role="\\141dmin"',
      'role=%61dmin',
      'a=1,role=admin',
      'ROLE=admin',
      '$Version=1; role=admin; $Path=/',
    ]
      .map((text) => header('cookie', text))
      .concat(header('cookie', 'role=user', 'role=admin'), header('cookie', 'a=1', 'b=2; role=admin')),
    allowed: [
      header('cookie', 'role=user'),
      header('cookie', 'xrole=admin'),
      header('cookie', 'role=admins', 'a=1'),
    ],
  },
  'the text of all cookies': {
    policy: "http.request.headers['cookie'] == 'role=admin'",
    denied: [header('cookie', 'role=user; role=admin'), header('cookie', 'role=user', 'role=admin')],
    allowed: [header('cookie', 'role=admin; a=1'), header('cookie', 'role=user')],
  },
  'a cookie by its name': {
    policy: "http.request.cookies['role'] == 'admin'",
    denied: [
      'role=admin',
      'role=user; role=admin',
      'role=admin;role=user',
      'role=user; role=admin; role=guest',
      'role="admin"',
      'role="\\141d\\min"',
      'role=%61dmin',
      ' role = admin ',
      'Role=admin',
      'a=1,role=admin',
      'role[0]=admin',
    ]
      .map((text) => header('cookie', text))
      .concat(header('cookie', 'role=user', 'role=admin')),
    allowed: [
      header('cookie', 'role=user'),
      header('cookie', 'a=role; role=administrator'),
      header('cookie', 'x=admin'),
      {},
    ],
  },
  'a parameter by its name': {
    policy: "http.request.url.parameters['role'] == 'super admin'",
    denied: [
      'role=super+admin',
      'role=super%20admin',
      'role=%73uper%20admin',
      '%72ole=super+admin',
      'role=user&role=super+admin',
      'role=super+admin&role=user',
      'role=a&role=super+admin&role=b',
      'x=1;role=super+admin',
      'ROLE=super+admin',
      'role[]=super+admin',
      'role%5B0%5D=super+admin',
      '+role=super+admin',
      'role=user&ROLE=super+admin',
      'x=1#&role=super+admin',
      '#a&role=super+admin',
    ].map(query),
    allowed: ['role=user', 'x=role', 'role=superadmin', 'xrole=super+admin', ''].map(query),
  },
  'a parameter whose name has capitals or a dot': {
    policy: "http.request.url.parameters['userId'] == '1' || http.request.url.parameters['a.b'] == '2'",
    denied: ['userId=1', 'userid=1', 'a.b=2', 'a_b=2'].map(query),
    allowed: ['userId=2', 'user_id=1', 'ab=2'].map(query),
  },
  'the text of the query': {
    policy: "http.request.url.query.contains('role=admin')",
    denied: [
      'role=admin',
      'role=user&role=admin',
      'role=%61dmin',
      '%72%6fle=admin',
      'ROLE=admin',
      'role[]=admin',
      'role[0]=%61dmin',
      'x=1;role=admin',
      'x=1#role=admin',
    ].map(query),
    allowed: ['role=user', 'role=ADMIN', 'role&admin', 'q=a%20b+c'].map(query),
  },
  'the whole query': {
    policy: "http.request.url.query == 'role=admin'",
    denied: ['role=user&role=admin', 'role=admin&role=user', 'role=x&role=y&role=admin'].map(query),
    allowed: ['role=admin&x=1', 'role=user&role=guest'].map(query),
  },
  'a query that must have what it has': {
    policy: "!http.request.url.query.matches('^ids%5B%5D=[0-9]+&path=%2F[a-z+]*$')",
    denied: ['ids%5B%5D=1&path=x', 'ids%5B%5D=1&ids%5B%5D=2&path=%2Fa'].map(query),
    allowed: [query('ids%5B%5D=1&path=%2Fa+b')],
  },
  'a bracket without an end, as PHP reads it': {
    policy:
      "http.request.url.parameters['user_role'] == 'admin' || http.request.url.query.contains('user_role=admin')",
    denied: ['user[role=admin', 'user%5Brole=admin', 'user.role=admin'].map(query),
    allowed: ['user[role]=admin', 'user[role=user'].map(query),
  },
  'methods that a request asks for': {
    policy: "http.request.method == 'delete'",
    denied: [
      { method: 'DELETE' },
      { method: 'delete' },
      { method: 'POST', headers: { 'X-HTTP-Method-Override': ['DELETE'] } },
      { method: 'POST', headers: { 'x-http-method': ['PUT', 'delete'] } },
      { headers: { 'X-METHOD-OVERRIDE': [' Delete '] } },
      { headers: { X_HTTP_METHOD_OVERRIDE: ['DELETE'] } },
      { method: 'POST', uri: '/?_method=DELETE' },
      { method: 'POST', uri: '/?a=1#&%5fmethod=DELETE' },
      { method: 'POST', uri: '/?_method=put&_method=DELET%45' },
      { method: 'POST', uri: '/?.method=DELETE' },
      { method: 'POST', uri: '/?X-HTTP-Method-Override=DELETE' },
      { method: 'POST', uri: '/?x-http-%6dethod-override=put&x-http-method-override=delete' },
      { method: 'POST', headers: { 'X.HTTP.Method.Override': ['DELETE'] } },
    ],
    allowed: [
      {
        method: 'POST',
        headers: { 'X-HTTP-Method-Override': ['PUT'] },
        uri: '/?_method=patch&method=delete&X-HTTP-Method-Override=PUT',
      },
      {},
    ],
  },
}

for (const [name, { policy, denied, allowed }] of Object.entries(cases))
  t.test(name, async (t) => {
    const set = await denyIf(policy)
    for (const asked of denied) t.equal(decided(set, asked).answer.decision, 'deny', JSON.stringify(asked))
    for (const asked of allowed) t.equal(decided(set, asked).answer.decision, 'allow', JSON.stringify(asked))
  })

t.test('of a route as well, in any reading of the path', async (t) => {
  const configuration = new TestConfiguration('ac_1')
    .httpsEdge('edghts_1', ['www.example:443'], 'ac_1', module(denying("http.request.method == 'trace'")))
    .route('edghtsrt_1', {
      edge_id: 'edghts_1',
      match_type: 'path_prefix',
      match: '/admin',
      policies: module(denying("http.request.headers['x-role'] != 'admin'")),
    })
  const set = await buildPolicySet(configuration, undefined, noYield)
  const admin = (...roles: string[]) => ({ 'x-role': roles })
  const decisionOf = (uri: string, headers: Headers) => decided(set, { uri, headers }).answer.decision
  t.equal(decisionOf('/admin', admin('admin')), 'allow')
  t.equal(decisionOf('/admin', admin('admin', 'user')), 'deny')
  t.equal(decisionOf('/x/..%2fadmin', admin('admin', 'user')), 'deny')
  t.equal(decisionOf('/x/..%2fadmin', admin('admin')), 'allow')
  t.equal(decisionOf('/other', admin('admin', 'user')), 'allow')
  t.equal(decisionOf('/admin', { ...admin('admin'), 'x-http-method-override': ['TRACE'] }), 'deny')
})

t.test('the explanation says which value was refused', async (t) => {
  const set = await denyIf("http.request.headers['x-role'] == 'admin'", "http.request.cookies['a'] == '2'")
  const headers = { 'x-role': ['user', 'admin'], cookie: ['a=1; a=2; a=3'] }
  const { answer } = decided(set, { headers })
  t.match(answer, {
    decision: 'deny',
    policy: 'no',
    explanation: {
      decided_by: { type: 'traffic_policy', id: 'edghts_1', name: 'no' },
      policies: [{ policy: 'no', applied: true }],
      values: {
        refused: [
          { name: "http.request.headers['x-role']", value: 'admin', how: 'the last of 2' },
          { name: "http.request.cookies['a']", value: '2', how: 'number 2 of 3' },
        ],
        reason:
          'Servers may take other values than the first. With http.request.headers[\'x-role\'] as "admin" (the last of 2) and http.request.cookies[\'a\'] as "2" (number 2 of 3) the request is refused.',
      },
    },
  })
  t.equal(
    decided(set, { headers: { ...headers, 'x-role': ['user', 'guest'] } }).answer.explanation!.values!.reason,
    "Servers may take other values of http.request.headers['x-role'], http.request.cookies['a'] than the first. With all of them it is allowed.",
  )
  const first = decided(set, { headers: { 'x-role': ['admin', 'user'], cookie: ['a=2; a=1'] } }).answer
    .explanation!
  t.match(first.values, { refused: [], reason: /With those that are shown it is refused\.$/ })
  t.notOk(decided(set, { headers: { 'x-role': ['user'], 'x-other': ['1', '2'] } }).answer.explanation!.values)
})

t.test('names that no policy asks about, or none that denies, cost nothing', async (t) => {
  const set = await withPolicies(denying("http.request.headers['x-role'] == 'admin'"), {
    name: 'seen',
    expressions: ["http.request.headers['x-other'] != 'a'"],
    actions: [log({})],
  })
  const { judgement } = decided(set, {
    headers: { 'x-role': ['user'], 'x-other': ['a', 'b'], cookie: ['a=1; a=2'] },
  })
  t.strictSame(judgement.otherValues, [])
  const several = decided(set, { headers: { 'x-role': ['user', 'b'], 'x-other': ['b'] } }).judgement
  t.equal(several.otherValues.length, 3)
  t.equal(several.verdict.logs.length, 1, 'actions run once')
})

t.test('more values than are judged', async (t) => {
  const set = await denyIf(
    "http.request.headers['x-a'] == 'never'",
    "http.request.url.parameters['b'] == 'never'",
  )
  const many = (count: number) => Array.from({ length: count }, (_, at) => `v${at}`)
  const askedWith = (headers: number, parameters: number) => ({
    headers: { 'x-a': many(headers) },
    uri: `/?${many(parameters)
      .map((value) => `b=${value}`)
      .join('&')}`,
  })
  t.match(decided(set, askedWith(100, 100)).answer, {
    decision: 'deny',
    policy: 'too many values',
    explanation: {
      decided_by: { type: 'traffic_policy', id: 'edghts_1', name: 'too many values' },
      values: { reason: 'The request has more values than are judged, so it is denied.' },
    },
  })
  t.equal(decided(set, askedWith(10, 10)).answer.decision, 'allow')
  t.equal(decided(set, askedWith(400, 1)).answer.decision, 'allow')
  t.equal(decided(set, askedWith(1000, 1)).answer.policy, 'too many values')
  const text = await denyIf("http.request.url.query.contains('debug=1')")
  t.equal(decided(text, askedWith(1, 3000)).answer.decision, 'allow', 'a query is a text with all of them')
  const disguised = `${'A.b[0]=%61;'.repeat(5000)}role=user&role=admin`
  t.equal(
    decided(text, query(disguised)).answer.policy,
    'too many values',
    'of a long text fewer readings are judged',
  )
})

t.test('readings of a request have a bound of steps for all of them', async (t) => {
  const costly =
    "http.request.headers['x-a'].matches('(a|b)*c$') || http.request.headers['x-a'].matches('(b|a)*d$')"
  const set = await withPolicies(...Array.from({ length: 20 }, () => denying(costly)))
  const valuesOf = (count: number) => Array.from({ length: count }, (_, at) => `${at}`.padStart(200, 'ab'))
  t.equal(decided(set, { headers: { 'x-a': valuesOf(3) } }).answer.decision, 'allow')
  t.equal(decided(set, { headers: { 'x-a': valuesOf(290) } }).answer.policy, 'too many values')
})

t.test('long values take no longer than they are long', async (t) => {
  const set = await denyIf(
    "http.request.url.query == 'x' || http.request.cookies['a'] == 'x'",
    "http.request.headers['cookie'] == 'x' || http.request.headers['x-a'] == 'x'",
  )
  for (const part of [' ', ';', '=', '="', '%61', '[', 'a=1&', 'a=1; ', '\u00a0', '&+', ',', '%00[', '. '])
    for (const end of ['', '\n', 'z']) {
      const repeated = part.repeat(Math.floor(50_000 / part.length))
      const different = Array.from({ length: 9_000 }, (_, at) => `${part}${at}`).join('')
      for (const text of [repeated + end, different.slice(0, 60_000) + end]) {
        const asked = { uri: `/?${text}`, headers: { cookie: [text], 'x-a': [text] } }
        // A search that goes back over them for each of them would take longer than the test may.
        t.match(decided(set, asked).answer.decision, /allow|deny/, JSON.stringify(part))
      }
    }
})

t.test('policy tests, shadows and challengers see all values', async (t) => {
  const role = "http.request.headers['x-role'] == 'admin'"
  const asked = { headers: { 'x-role': ['user', 'admin'] } }
  const expect = { decision: 'deny', decided_by: { name: 'no' } }
  const outcome = runPolicyTest(await denyIf(role), noGeo, 'ac_1', requestOf(asked) as never, expect as never)
  t.equal(outcome.passed, true)

  const configuration = new TestConfiguration('ac_1').httpsEdge(
    'edghts_1',
    ['www.example:443'],
    'ac_1',
    module({ ...denying(role), enforced: false } as PolicyRow),
  )
  const set = await buildPolicySet(configuration, undefined, noYield)
  const { judgement } = decided(set, asked)
  t.match([judgement.decision, judgement.shadow?.decision], ['allow', 'deny'])
  configuration.challenger('chl_1', {
    created_at: 0,
    ends_at: '9999-01-01T00:00:00Z',
    draft: {
      edges: [
        { id: 'edghts_1', ip_restriction: null, policies: { ...module(denying(role)), id: 'edghts_1' } },
      ],
      routes: [],
      ip_policies: [],
      ip_restrictions: [],
    },
    based_on: [],
  } as never)
  const challengers = await buildChallengers(
    configuration,
    set,
    undefined,
    new Slices({ letOthers: noYield }),
    0,
  )
  t.match(judgement.by(challengers.find('ac_1', 1)!), { decision: 'deny', decidedBy: { name: 'no' } })
})

// --- any request ---

const word = fc.constantFrom('a', 'b', 'c', 'd')
const words = fc.array(word, { minLength: 1, maxLength: 3 })
const operator = fc.constantFrom('==', '!=')
const tests = fc.record({
  header: word,
  cookie: word,
  parameter: word,
  by: fc.tuple(operator, operator, operator),
})

t.test('if any choice of one value for each name is denied, the request is', async (t) => {
  await fc.assert(
    fc.asyncProperty(words, words, words, tests, async (headers, cookies, parameters, { by, ...wanted }) => {
      const set = await denyIf(
        `http.request.headers['x-a'] ${by[0]} '${wanted.header}'`,
        `http.request.cookies['n'] ${by[1]} '${wanted.cookie}'`,
        `http.request.url.parameters['n'] ${by[2]} '${wanted.parameter}'`,
      )
      const asked = (header: string[], cookie: string[], parameter: string[]): Asked => ({
        headers: { 'x-a': header, cookie: [cookie.map((value) => `n=${value}`).join('; ')] },
        uri: `/?${parameter.map((value) => `n=${value}`).join('&')}`,
      })
      const single = headers.flatMap((header) =>
        cookies.flatMap((cookie) => parameters.map((parameter) => asked([header], [cookie], [parameter]))),
      )
      const isAnyDenied = single.some((each) => decided(set, each).answer.decision === 'deny')
      const { answer } = decided(set, asked(headers, cookies, parameters))
      if (isAnyDenied) t.equal(answer.decision, 'deny')
      const shown = decided(set, single[0]!).answer.decision
      const refused = answer.explanation!.values?.refused ?? []
      t.equal(
        refused.length > 0,
        answer.decision === 'deny' && shown === 'allow',
        'the values that were refused are named',
      )
    }),
    { numRuns: 300 },
  )
})

const pairs = fc.uniqueArray(
  fc.tuple(fc.stringMatching(/^[a-z][a-z0-9_-]{0,8}$/), fc.stringMatching(/^[\w.~-]{1,9}$/)),
  {
    selector: ([name]) => name.replace(/-/g, '_'),
    minLength: 1,
    maxLength: 12,
  },
)

t.test('a request that has each name once is judged once', async (t) => {
  const set = await denyIf(
    "http.request.headers['x-a'] == '?' || http.request.headers['cookie'] == '?' || http.request.method == '?'",
    "http.request.cookies['a'] == '?' || http.request.url.parameters['a'] == '?' || http.request.url.query == '?'",
    'http.request.user_agent == "?"',
  )
  fc.assert(
    fc.property(pairs, pairs, pairs, (headers, cookies, parameters) => {
      const text = (all: readonly (readonly string[])[], by: string) =>
        all.map((pair) => pair.join('=')).join(by)
      const asked = {
        uri: `/?${text(parameters, '&')}&q=a+b%20c%2Fd`,
        headers: {
          ...Object.fromEntries(headers.map(([name, value]) => [`x-${name}`, [value]])),
          cookie: [text(cookies, '; ')],
          'user-agent': ['Mozilla/5.0 (KHTML, like Gecko)'],
        },
      }
      const names = parameters.map(([name]) => name)
      if (names.includes('q') || names.some((name) => /method/i.test(name))) return
      t.strictSame(decided(set, asked).judgement.otherValues, [])
    }),
  )
})
