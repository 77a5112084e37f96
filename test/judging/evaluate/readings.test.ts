/** The target of a request is judged in every reading that servers have of it, by everything that judges. */
import fc from 'fast-check'
import t from 'tap'
import { parseDecisionRequest } from '../../../src/delivery/record/record.js'
import type { RequestRecord } from '../../../src/delivery/record/traffic-record.js'
import { Slices } from '../../../src/ground/core/slices.js'
import { splitUri } from '../../../src/ground/core/text/request-target.js'
import { buildChallengers } from '../../../src/judging/evaluate/challenger-build.js'
import { decideRecord, explainChallenged } from '../../../src/judging/evaluate/decide.js'
import { buildPolicySet, type PolicySet } from '../../../src/judging/evaluate/policy-set.js'
import type { PolicyRow } from '../../../src/judging/evaluate/policy-source.js'
import { runPolicyTest } from '../../../src/judging/evaluate/policy-test.js'
import { deny, log, noGeo, noYield, TestConfiguration } from './configuration.js'

const denying = (name: string, ...expressions: string[]): PolicyRow => ({
  name,
  expressions,
  actions: [deny],
})
const module = (...inbound: PolicyRow[]) => ({ enabled: true, inbound, outbound: [] })

const configuration = new TestConfiguration('ac_1')
  .ipPolicy('ipp_office', '198.51.100.0/24')
  .httpsEdge(
    'edghts_1',
    ['www.example:443'],
    'ac_1',
    module(denying('private', "http.request.url.path.startsWith('/private/')"), {
      name: 'seen',
      expressions: [],
      actions: [log({})],
    }),
  )
  .route('edghtsrt_admin', {
    edge_id: 'edghts_1',
    match_type: 'path_prefix',
    match: '/admin',
    policies: module(denying('nobody')),
  })
  .route('edghtsrt_office', {
    edge_id: 'edghts_1',
    match_type: 'path_prefix',
    match: '/office',
    ip_restriction: { enabled: true, ip_policy_ids: ['ipp_office'] },
  })
  .httpsEdge('edghts_open', ['open.example:443'])
  .httpsEdge(
    'edghts_asks',
    ['asks.example:443'],
    'ac_1',
    module(denying('odd', 'http.request.url.ambiguous')),
  )
  .httpsEdge(
    'edghts_only',
    ['only.example:443'],
    'ac_1',
    module(denying('else', "!http.request.url.path.startsWith('/public/')")),
  )
configuration.table('https_edge').set('edghts_strict', {
  ...configuration.table('https_edge').get('edghts_open')!,
  id: 'edghts_strict',
  hostports: ['strict.example:443'],
  ambiguous_targets: 'refuse',
})

const policySet = await buildPolicySet(configuration, undefined, noYield)

function asked(uri: string, host = 'www.example', url: object = { ...splitUri(uri), raw: uri }) {
  const request = {
    type: 'http_request',
    conn: { client_ip: '203.0.113.7', server_name: host, server_port: 443 },
    http: { request: { method: 'GET', url } },
    explain: true,
  }
  const parsed = parseDecisionRequest(request)
  if (!parsed.ok) throw new Error(parsed.problem.msg)
  return parsed.value
}

function decided(set: PolicySet, ...of: Parameters<typeof asked>) {
  const result = decideRecord(set, noGeo, asked(...of))
  if (!result.ok) throw new Error(result.problem.msg)
  return result.value
}

const decisionOf = (...of: Parameters<typeof asked>) => decided(policySet, ...of).answer.decision

const denied = [
  ...[
    '/admin',
    '/admin/\\..\\..\\public',
    '/private/%5c..%5c..%5cx',
    '/private/.',
    '/private/x/%2e%2e',
    '/private%2fx/..%2f',
  ],
  ...[
    '/admin/x%2f..%2f..%2fpublic',
    '//admin',
    '//x/admin',
    '/x/..;/admin',
    '/%2561dmin',
    '/x/%252e%252e/admin',
    '/admin%00',
    '/a%c0%afadmin/../admin',
  ],
  ...['/private;x/y', '/private//x', '/pri%0avate/', 'http:\\\\x\\admin', '/admin#', '/admin%3fx'],
  ...[
    '/x/../admin/..',
    '/x/../admin/...',
    '/pu%2562lic/../admin/..',
    '/%61/../private/%20%2e%20',
    '/x/..%2fadmin/..',
    '/admin;a/../../x',
    '*admin',
    'http://h%2fadmin',
  ],
]
const allowed = [
  '/',
  '/public',
  '/public/b%C3%BCcher',
  '/administrator',
  '/a//b',
  '/a%2fb',
  '/a;x=1',
  '/x/../y',
  '/private',
  '/office%2d',
]

t.test('a request is refused if any reading of its target is', (t) => {
  for (const uri of denied) t.equal(decisionOf(uri), 'deny', uri)
  for (const uri of allowed) t.equal(decisionOf(uri), 'allow', uri)
  t.equal(decisionOf('/x/..%2foffice'), 'block', 'by the IP policies of a route')
  t.end()
})

t.test('whether the record has the target, the path or both', (t) => {
  for (const uri of denied.filter((each) => each.startsWith('/'))) {
    t.equal(
      decisionOf(uri, undefined, { raw: `https://www.example${uri}?x=//..` }),
      'deny',
      `the URL of ${uri}`,
    )
    t.equal(
      decisionOf(uri, undefined, { path: '/', raw: uri }),
      'deny',
      `${uri}, and a path of another reading`,
    )
    t.equal(decisionOf(uri, undefined, { path: uri }), 'deny', `the path ${uri} alone`)
  }
  t.equal(
    decisionOf('', undefined, { path: '/admin/x', raw: '/' }),
    'deny',
    'the path that the record shows is one',
  )
  t.equal(decisionOf('', undefined, { path: '/', raw: '/?x=/../admin//' }), 'allow', 'a query is no path')
  t.end()
})

t.test('some servers ignore the case of letters', (t) => {
  for (const uri of ['/ADMIN', '/Admin/x', '/x%2f..%2fAdmin', '/PRIVATE/'])
    t.equal(decisionOf(uri), 'deny', uri)
  for (const uri of ['/Public', '/AdMiNs', '/A//b']) t.equal(decisionOf(uri), 'allow', uri)
  t.match(decided(policySet, '/Admin').answer.explanation!.target, {
    readings: [{ path: '/admin', how: 'as sent, in small letters' }],
    reason: 'Some servers ignore the case of letters. As "/admin" the path is refused.',
  })
  t.notOk(decided(policySet, '/Public').answer.explanation!.target, 'and that is not ambiguous')
  for (const uri of ['/adm\u0130n/x', '/adm%C4%B0n', '/pr\u0130vate/'])
    t.equal(decisionOf(uri), 'deny', `${uri}, as Go puts it into small letters`)
  t.end()
})

/** With the headers of a browser. */
function decisionAt(set: PolicySet, uri: string): string {
  const given = asked(uri)
  const { record } = given as { record: RequestRecord }
  const request = {
    ...record.http!.request!,
    user_agent: 'Mozilla/5.0',
    headers: { 'User-Agent': ['Mozilla/5.0'] },
  }
  const result = decideRecord(set, noGeo, { ...given, record: { ...record, http: { request } } })
  return result.ok ? result.value.judgement.decision : result.problem.msg
}

/** An edge that denies by these expressions, each in a policy of its own. */
const edgeWith = (...expressions: string[]) =>
  new TestConfiguration('ac_1').httpsEdge(
    'edghts_1',
    ['www.example:443'],
    'ac_1',
    module(...expressions.map((expression, index) => denying(`no ${index}`, expression))),
  )

t.test('capital letters of an expression count for it alone', async (t) => {
  const path = 'http.request.url.path'
  const cases: readonly {
    readonly name: string
    readonly expressions: readonly string[]
    readonly denied: readonly string[]
    readonly allowed: readonly string[]
  }[] = [
    {
      name: 'what paths must begin with',
      expressions: [`!${path}.startsWith('/API/')`],
      denied: ['/api/x', '/x'],
      allowed: ['/API/x'],
    },
    {
      name: 'another policy names a capital letter',
      expressions: [`${path}.startsWith('/Setup')`, `${path}.startsWith('/admin')`],
      denied: ['/ADMIN/x', '/Admin', '/Setup', '/x%2f..%2fADMIN'],
      allowed: ['/setup', '/SETUP', '/Public'],
    },
    {
      name: 'and one before it lets other letters in',
      expressions: [`${path}.startsWith('/admin')`, `!(${path}.startsWith('/API/') || ${path} == '/ADMIN')`],
      denied: ['/ADMIN', '/admin', '/Api/x'],
      allowed: ['/API/x'],
    },
    {
      name: 'a text that is compared with something else',
      expressions: [`${path}.startsWith('/admin') && http.request.user_agent.contains('Mozilla')`],
      denied: ['/ADMIN'],
      allowed: ['/PUBLIC'],
    },
    {
      name: 'an escape of a pattern',
      expressions: [`${path}.matches('^/admin/\\\\S')`],
      denied: ['/Admin/x'],
      allowed: ['/Admin/'],
    },
    {
      name: 'the key of a header',
      expressions: [`${path} == '/admin' && http.request.headers['User-Agent'] != ''`],
      denied: ['/Admin'],
      allowed: ['/Admins'],
    },
  ]
  for (const { name, expressions, denied: denies, allowed } of cases) {
    const set = await buildPolicySet(edgeWith(...expressions), undefined, noYield)
    for (const uri of denies) t.equal(decisionAt(set, uri), 'deny', `${name}: ${uri}`)
    for (const uri of allowed) t.equal(decisionAt(set, uri), 'allow', `${name}: ${uri}`)
  }
})

t.test('capital letters of a route count for it alone', async (t) => {
  const configuration = edgeWith("http.request.url.path == '/health/secret'")
  const add = (match: string, match_type: 'path_prefix' | 'exact_path', expression: string) =>
    configuration.route(`edghtsrt_${match}`, {
      edge_id: 'edghts_1',
      match_type,
      match,
      policies: module(denying('no', expression)),
    })
  add('/', 'path_prefix', 'true')
  add('/API', 'path_prefix', "http.request.url.path.contains('secret')")
  add('/Exact', 'exact_path', 'false')
  add('/open', 'path_prefix', 'false')
  add('/open/admin', 'path_prefix', 'true')
  const set = await buildPolicySet(configuration, undefined, noYield)
  for (const uri of ['/API/x', '/API/X', '/Exact', '/OPEN', '/open/Adm'])
    t.equal(decisionAt(set, uri), uri === '/OPEN' ? 'deny' : 'allow', uri)
  for (const uri of ['/api/x', '/Api', '/API/SECRET', '/exact', '/EXACT', '/open/ADMIN', '/Open/Admin/x'])
    t.equal(decisionAt(set, uri), 'deny', uri)
})

t.test('what a target must begin with', (t) => {
  for (const uri of ['/public/', '/public/a%20b', '/public/a;b', '/public//x'])
    t.equal(decisionOf(uri, 'only.example'), 'allow', uri)
  for (const uri of ['/public/../x', '/public%2f..', '/%70ublic/x', '/public%5cx', '/public', '//public/x'])
    t.equal(decisionOf(uri, 'only.example'), 'deny', uri)
  t.end()
})

t.test('the explanation names the reading that decided', (t) => {
  const { answer, judgement } = decided(policySet, '/x%2f..%2fadmin/y')
  t.match(answer, { decision: 'deny', policy: 'nobody' })
  t.match(answer.explanation, {
    decided_by: { type: 'traffic_policy', id: 'edghtsrt_admin', name: 'nobody' },
    target: {
      refused: { path: '/admin/y', how: 'decoded, dot segments removed' },
      reason: 'Servers read the path in 3 ways. As "/admin/y" (decoded, dot segments removed) it is refused.',
    },
  })
  t.strictSame(
    answer.explanation!.target!.readings.map(({ path }) => path),
    ['/x%2f..%2fadmin/y', '/x/../admin/y', '/admin/y'],
  )
  t.equal(judgement.routeId, 'edghtsrt_admin')
  t.match(
    answer.explanation!.policies.map(({ policy, applied }) => [policy, applied]),
    [
      ['private', false],
      ['seen', true],
      ['nobody', true],
    ],
    'in that reading',
  )
  t.equal(
    decided(policySet, '/a//b').answer.explanation!.target!.reason,
    'Servers read the path in 2 ways. All are allowed.',
  )
  t.notOk(decided(policySet, '/a/b').answer.explanation!.target, 'one reading')
  t.strictSame(decided(policySet, '/a//b').judgement.verdict.logs.length, 1, 'actions run once')
  t.end()
})

t.test('an edge may refuse all targets that servers read differently, and a policy may ask', (t) => {
  for (const host of ['strict.example', 'asks.example']) {
    for (const uri of ['/a//b', '/a%2fb', '/a/%2e', '/a;b', '/a%00', '/%2561', '/%ff'])
      t.equal(decisionOf(uri, host), 'deny', uri)
    for (const uri of ['/', '/a/b.c', '/b%C3%BCcher?a=//%2f..', 'http://x/a'])
      t.equal(decisionOf(uri, host), 'allow', uri)
  }
  const { answer } = decided(policySet, '/a//b', 'strict.example')
  t.match(answer, {
    policy: 'ambiguous target',
    explanation: {
      decided_by: { type: 'traffic_policy', id: 'edghts_strict', name: 'ambiguous target' },
      target: { reason: /^Servers read the path in 2 ways, and the edge refuses such requests/ },
    },
  })
  t.equal(decisionOf('/a//b', 'open.example'), 'allow', 'another edge')
  t.end()
})

t.test('more readings than are judged', (t) => {
  const uri = `/${'a//b/../%5c;%2f%2e%252f'.repeat(20)}`
  t.match(decided(policySet, uri, 'only.example').answer, {
    decision: 'deny',
    policy: 'else',
  })
  const free = new TestConfiguration('ac_1')
    .httpsEdge('edghts_1', ['www.example:443'])
    .route('edghtsrt_1', { edge_id: 'edghts_1', match_type: 'exact_path', match: '/never' })
  return buildPolicySet(free, undefined, noYield).then((set) => {
    t.match(decided(set, uri).answer, {
      decision: 'deny',
      policy: 'too many readings of the target',
      explanation: {
        target: { reason: 'There are more ways to read the path than are judged, so the request is denied.' },
      },
    })
    t.equal(decisionOf(uri, 'open.example'), 'allow', 'where nothing depends on the path')
  })
})

t.test('policy tests, shadows and challengers read the same way', async (t) => {
  const { record } = asked('/x%2f..%2fadmin')
  const { record_id: _, ...given } = record
  const outcome = runPolicyTest(
    policySet,
    noGeo,
    'ac_1',
    given as never,
    { decision: 'deny', decided_by: { name: 'nobody' } } as never,
  )
  t.equal(outcome.passed, true)

  const shadowed = new TestConfiguration('ac_1')
    .httpsEdge('edghts_1', ['www.example:443'])
    .route('edghtsrt_1', {
      edge_id: 'edghts_1',
      match_type: 'path_prefix',
      match: '/admin',
      policies: module({ ...denying('nobody'), enforced: false } as PolicyRow),
    })
  const set = await buildPolicySet(shadowed, undefined, noYield)
  const { judgement } = decided(set, '/x%2f..%2fadmin')
  t.match(
    [judgement.decision, judgement.shadow?.decision, judgement.shadow?.decidedBy.id],
    ['allow', 'deny', 'edghtsrt_1'],
  )
  t.equal(
    decided(set, '/x%2f..%2fadministrator').judgement.shadow,
    null,
    'nothing of it applies in any reading',
  )

  const policies = { ...module(denying('drafted')), id: 'edghtsrt_1' }
  shadowed.challenger('chl_1', {
    created_at: 0,
    ends_at: '9999-01-01T00:00:00Z',
    draft: {
      edges: [],
      routes: [{ id: 'edghtsrt_1', ip_restriction: null, policies }],
      ip_policies: [],
      ip_restrictions: [],
    },
    based_on: [],
  })
  const challengers = await buildChallengers(shadowed, set, undefined, new Slices({ letOthers: noYield }), 0)
  const challenger = challengers.find('ac_1', 1)!
  t.match(judgement.by(challenger), { decision: 'deny', decidedBy: { name: 'drafted' } }, 'a challenger')
  const explained = explainChallenged(challenger, judgement.record, judgement.endpoint, noGeo)
  t.equal(explained.explanation?.target?.refused?.path, '/admin')
})

t.test('letters are read by the policies of a shadow or a draft, and not by those in force', async (t) => {
  const path = 'http.request.url.path'
  const small = module(denying('small', `${path}.startsWith('/admin')`))
  const configuration = edgeWith(`${path}.startsWith('/Setup')`)
  const enforced = module(denying('live', `${path}.startsWith('/Setup')`), {
    ...small.inbound[0]!,
    enforced: false,
  } as PolicyRow)
  configuration.httpsEdge('edghts_shadow', ['shadow.example:443'], 'ac_1', enforced)
  configuration.challenger('chl_1', {
    created_at: 0,
    ends_at: '9999-01-01T00:00:00Z',
    draft: {
      edges: [{ id: 'edghts_1', ip_restriction: null, policies: small }],
      routes: [],
      ip_policies: [],
      ip_restrictions: [],
    },
    based_on: [],
  })
  const set = await buildPolicySet(configuration, undefined, noYield)
  const { shadow, decision } = decided(set, '/ADMIN/x', 'shadow.example').judgement
  t.match([decision, shadow], ['allow', { decision: 'deny', decidedBy: { name: 'small' } }])
  const challengers = await buildChallengers(
    configuration,
    set,
    undefined,
    new Slices({ letOthers: noYield }),
    0,
  )
  const { judgement } = decided(set, '/ADMIN/x')
  t.equal(judgement.decision, 'allow')
  t.match(judgement.by(challengers.find('ac_1', 1)!), { decision: 'deny', decidedBy: { name: 'small' } })
})

t.test('a target without what servers disagree about costs nothing more, whatever its query', (t) => {
  fc.assert(
    fc.property(
      fc.webPath().filter((path) => !/[%;]|\/\/|[.](?:\/|$)/.test(path)),
      fc.webQueryParameters(),
      (path, query) => {
        const uri = `${path || '/'}?${query}`
        t.equal(decided(policySet, uri).judgement.readings, undefined, uri)
      },
    ),
  )
  t.end()
})
