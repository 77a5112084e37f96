import fc from 'fast-check'
import t from 'tap'
import { hostOf } from '../../../src/delivery/record/spelling.js'
import type { RequestRecord, TrafficRecord } from '../../../src/delivery/record/traffic-record.js'
import { parseHostport } from '../../../src/ground/core/address/hostport.js'
import { hashToken } from '../../../src/ground/core/ids.js'
import { checkRestriction } from '../../../src/judging/evaluate/ip-restriction.js'
import { buildPolicySet, type PolicySet } from '../../../src/judging/evaluate/policy-set.js'
import { checkAgent } from '../../../src/judging/evaluate/reply.js'
import { deny, noYield, TestConfiguration } from './configuration.js'

const build = (configuration: TestConfiguration, previous?: PolicySet) =>
  buildPolicySet(configuration, previous, noYield)

const tcp = (members: object, conn: object = {}): TrafficRecord => ({
  record_id: 'r',
  type: 'tcp_connection',
  conn: { client_ip: '::1', ...conn },
  ...members,
})
const http = (members: object, conn: object = {}): TrafficRecord => ({
  record_id: 'r',
  type: 'http_request',
  conn: { client_ip: '::1', ...conn },
  ...members,
})
const at = (server_name: string, server_port: number) => ({ server_name, server_port })
const ssh = at('ssh.example', 22)
const www = at('www.example', 443)

t.test('the edge of a record', async (t) => {
  const policySet = await build(
    new TestConfiguration('ac_1', 'ac_2')
      .tcpEdge('edgtcp_1', { hostports: ['ssh.example:22', '[::1]:22', 'xn--bcher-kva.example:22'] })
      .tcpEdge('edgtcp_2', { account_id: 'ac_2', hostports: ['db.example:5432', 'ssh.example:2222'] })
      .httpsEdge('edghts_1', ['www.example:443']),
  )
  const cases = [
    { name: 'by edge_id', record: tcp({ edge_id: 'edgtcp_1' }), want: ['edgtcp_1', 'ac_1'] },
    {
      name: 'edge_id wins over the name',
      record: tcp({ edge_id: 'edgtcp_2' }, ssh),
      want: ['edgtcp_2', 'ac_2'],
    },
    { name: 'by name and port', record: tcp({}, ssh), want: ['edgtcp_1', 'ac_1'] },
    { name: 'names in any letter case', record: tcp({}, at('SSH.Example', 22)), want: ['edgtcp_1', 'ac_1'] },
    { name: 'an IPv6 address as name', record: tcp({}, at('::1', 22)), want: ['edgtcp_1', 'ac_1'] },
    { name: 'an IPv6 address in brackets', record: tcp({}, at('[::1]', 22)), want: ['edgtcp_1', 'ac_1'] },
    {
      name: 'another spelling of an address',
      record: tcp({}, at('0:0::0001', 22)),
      want: ['edgtcp_1', 'ac_1'],
    },
    {
      name: 'a name in another script',
      record: tcp({}, at('Bücher.example.', 22)),
      want: ['edgtcp_1', 'ac_1'],
    },
    {
      name: 'the same in ASCII',
      record: tcp({}, at('XN--bcher-kva.example', 22)),
      want: ['edgtcp_1', 'ac_1'],
    },
    {
      name: 'a character that IDNA would replace by a dot',
      record: tcp({}, at('bücher\u3002example', 22)),
      want: [undefined, undefined],
    },
    {
      name: 'a name that IDNA refuses',
      record: tcp({}, at('bü cher.example', 22)),
      want: [undefined, undefined],
    },
    { name: 'a final dot', record: tcp({}, at('Ssh.example.', 22)), want: ['edgtcp_1', 'ac_1'] },
    { name: 'two final dots', record: tcp({}, at('ssh.example..', 22)), want: [undefined, undefined] },
    { name: 'a dot alone', record: tcp({}, at('.', 22)), want: [undefined, undefined] },
    { name: 'another port', record: tcp({}, at('ssh.example', 23)), want: [undefined, undefined] },
    {
      name: 'a port of the same name that another edge serves',
      record: tcp({}, at('ssh.example', 2222)),
      want: ['edgtcp_2', 'ac_2'],
    },
    {
      name: 'the same with another spelling',
      record: tcp({}, at('SSH.example.', 2222)),
      want: ['edgtcp_2', 'ac_2'],
    },
    {
      name: 'a name without port',
      record: tcp({}, { server_name: 'ssh.example' }),
      want: [undefined, undefined],
    },
    {
      name: 'the account agrees',
      record: tcp({ edge_id: 'edgtcp_1', account_id: 'ac_1' }),
      want: ['edgtcp_1', 'ac_1'],
    },
    { name: 'the account alone', record: tcp({ account_id: 'ac_2' }), want: [undefined, 'ac_2'] },
    {
      name: 'the name of another account',
      record: tcp({ account_id: 'ac_2' }, ssh),
      want: [undefined, 'ac_2'],
    },
    {
      name: 'an account that is not known',
      record: tcp({ account_id: 'ac_9' }),
      want: [undefined, undefined],
    },
    { name: 'a request by edge_id', record: http({ edge_id: 'edghts_1' }), want: ['edghts_1', 'ac_1'] },
    { name: 'a request by name', record: http({}, www), want: ['edghts_1', 'ac_1'] },
    { name: 'a connection is no request', record: tcp({}, www), want: [undefined, undefined] },
    {
      name: 'a request is no connection',
      record: http({ account_id: 'ac_1' }, ssh),
      want: [undefined, 'ac_1'],
    },
  ]
  for (const { name, record, want } of cases) {
    const found = policySet.findEdge(record)
    t.ok(found.ok, name)
    if (found.ok) t.same([found.value.edgeId, found.value.accountId], want, name)
  }
  const bad = [
    { name: 'an unknown edge', record: tcp({ edge_id: 'edgtcp_9' }), says: 'no such edge', unknown: true },
    {
      name: 'a connection at an HTTPS edge',
      record: tcp({ edge_id: 'edghts_1' }),
      says: 'an HTTPS edge',
      unknown: false,
    },
    {
      name: 'a request at a TCP edge',
      record: http({ edge_id: 'edgtcp_1' }),
      says: 'a TCP edge',
      unknown: false,
    },
    {
      name: 'the edge of another account',
      record: tcp({ edge_id: 'edgtcp_1', account_id: 'ac_2' }),
      says: 'another account',
      unknown: false,
    },
    {
      name: 'an unknown route',
      record: http({ edge_id: 'edghts_1', route_id: 'edghtsrt_9' }),
      says: 'not a route',
      unknown: true,
    },
  ]
  for (const { name, record, says, unknown } of bad) {
    const found = policySet.findEdge(record)
    t.ok(!found.ok && found.problem.msg.includes(says) && found.problem.unknown === unknown, name)
  }
})

t.test('the host of a stored hostport is its own normal form', async (t) => {
  const name = fc.domain().map((domain) => domain.toUpperCase())
  const host = fc.oneof(
    name,
    fc.ipV4(),
    fc.ipV6().map((address) => `[${address}]`),
    fc.constant('Bücher.example'),
  )
  let stored = 0
  fc.assert(
    fc.property(host, (given) => {
      const hostport = parseHostport(`${given}:22`)
      if (!hostport.ok) return
      stored += 1
      const spelled = hostport.value.slice(0, hostport.value.lastIndexOf(':'))
      t.equal(hostOf(spelled), spelled, given)
    }),
  )
  t.ok(stored > 50, `${stored} were stored`)
})

/** Each route names itself by its policy. */
const named = (id: string) => ({ enabled: true, ip_policy_ids: [id] })
const withPath = (path: string | undefined, route_id?: string): RequestRecord => ({
  record_id: 'r',
  type: 'http_request',
  edge_id: 'edghts_1',
  route_id,
  conn: { client_ip: '::1' },
  http: { request: { url: { path } } },
})

t.test('routes', async (t) => {
  const policySet = await build(
    new TestConfiguration('ac_1')
      .httpsEdge('edghts_1')
      .route('exact', {
        edge_id: 'edghts_1',
        match_type: 'exact_path',
        match: '/api/v1',
        ip_restriction: named('exact'),
      })
      .route('api', {
        edge_id: 'edghts_1',
        match_type: 'path_prefix',
        match: '/api',
        ip_restriction: named('api'),
      })
      .route('deep', {
        edge_id: 'edghts_1',
        match_type: 'path_prefix',
        match: '/api/v1/deep/',
        ip_restriction: named('deep'),
      })
      .route('off', {
        edge_id: 'edghts_1',
        match_type: 'path_prefix',
        match: '/off',
        ip_restriction: { enabled: false, ip_policy_ids: ['off'] },
      })
      .httpsEdge('edghts_2')
      .route('elsewhere', {
        edge_id: 'edghts_2',
        match_type: 'path_prefix',
        match: '/',
        ip_restriction: named('all'),
      }),
  )
  const cases = [
    { name: 'by route_id, whatever the path', record: withPath('/api/v1', 'deep'), want: ['deep'] },
    { name: 'an exact match before a prefix', record: withPath('/api/v1'), want: ['exact'] },
    { name: 'a prefix', record: withPath('/api/v2'), want: ['api'] },
    { name: 'the prefix itself', record: withPath('/api'), want: ['api'] },
    { name: 'with a slash', record: withPath('/api/'), want: ['api'] },
    { name: 'whole segments only', record: withPath('/apiary'), want: undefined },
    { name: 'the longest prefix', record: withPath('/api/v1/deep/er'), want: ['deep'] },
    { name: 'the longest prefix without its slash', record: withPath('/api/v1/deep'), want: ['deep'] },
    { name: 'a longer segment', record: withPath('/api/v1/deeper'), want: ['api'] },
    { name: 'another letter case', record: withPath('/API'), want: undefined },
    { name: 'a module switched off', record: withPath('/off'), want: undefined },
    { name: 'no path', record: withPath(undefined), want: undefined },
    { name: 'a prefix of everything', record: { ...withPath('/x/y'), edge_id: 'edghts_2' }, want: ['all'] },
    { name: 'the root', record: { ...withPath('/'), edge_id: 'edghts_2' }, want: ['all'] },
  ]
  for (const { name, record, want } of cases) {
    const found = policySet.findEdge(record)
    t.ok(found.ok, name)
    if (found.ok) t.same(found.value.ipPolicyIds, want, name)
  }
  t.notOk(policySet.findEdge(withPath('/', 'elsewhere')).ok, 'the route of another edge')
})

t.test('prefixes agree with a comparison of segments', async (t) => {
  const path = fc
    .array(fc.constantFrom('a', 'b', 'ab', ''), { maxLength: 4 })
    .map((segments) => `/${segments.join('/')}`)
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(path, { maxLength: 5, selector: (text) => text.replace(/\/$/, '') }),
      path,
      async (prefixes, asked) => {
        const configuration = new TestConfiguration('ac_1').httpsEdge('edghts_1')
        for (const match of prefixes)
          configuration.route(match, {
            edge_id: 'edghts_1',
            match_type: 'path_prefix',
            match,
            ip_restriction: named(match),
          })
        const matching = prefixes.filter((prefix) =>
          `${asked}/`.startsWith(prefix.endsWith('/') ? prefix : `${prefix}/`),
        )
        const [longest] = matching.toSorted(
          (a, b) => b.replace(/\/$/, '').length - a.replace(/\/$/, '').length,
        )
        const found = (await build(configuration)).findEdge(withPath(asked))
        t.same(found.ok && found.value.ipPolicyIds, longest === undefined ? undefined : [longest])
      },
    ),
    { seed: 5, numRuns: 300 },
  )
})

t.test('a view takes over what did not change', async (t) => {
  const policies = {
    enabled: true,
    inbound: [{ expressions: [], actions: [deny] }],
    outbound: [],
  }
  const configuration = new TestConfiguration('ac_1')
    .ipPolicy('ipp_1', '10.0.0.0/8')
    .ipPolicy('ipp_2', '10.0.0.0/8')
    .tcpEdge('edgtcp_1', { policies })
    .tcpEdge('edgtcp_2')
  const first = await build(configuration)
  const edge = (policySet: PolicySet, id: string) => policySet.contents.tcpEdges.get(id)
  configuration.ipPolicy('ipp_2', '11.0.0.0/8').tcpEdge('edgtcp_2', { policies })
  configuration.table('ip_policy').delete('ipp_gone')
  const second = await build(configuration, first)
  t.equal(second.ipPolicy('ipp_1'), first.ipPolicy('ipp_1'))
  t.not(second.ipPolicy('ipp_2'), first.ipPolicy('ipp_2'))
  t.equal(edge(second, 'edgtcp_1'), edge(first, 'edgtcp_1'))
  t.not(edge(second, 'edgtcp_2'), edge(first, 'edgtcp_2'))
  t.equal(edge(first, 'edgtcp_2')?.policies, undefined, 'the view in use stays as it is')
  configuration.table('tcp_edge').delete('edgtcp_1')
  configuration.table('ip_policy').delete('ipp_1')
  const third = await build(configuration, second)
  t.equal(edge(third, 'edgtcp_1'), undefined)
  t.equal(third.ipPolicy('ipp_1'), undefined)
  t.equal(third.revision, configuration.revision)
})

t.test('edges with the same IP policies share their list', async (t) => {
  const naming = (...ip_policy_ids: string[]) => ({ ip_restriction: { enabled: true, ip_policy_ids } })
  const configuration = new TestConfiguration('ac_1')
    .tcpEdge('edgtcp_1', naming('ipp_1', 'ipp_2'))
    .tcpEdge('edgtcp_2', naming('ipp_1', 'ipp_2'))
    .tcpEdge('edgtcp_3', naming('ipp_2', 'ipp_1'))
  const first = await build(configuration)
  const list = (policySet: PolicySet, id: string) => policySet.contents.tcpEdges.get(id)?.ipPolicyIds
  t.equal(list(first, 'edgtcp_2'), list(first, 'edgtcp_1'))
  t.same(list(first, 'edgtcp_3'), ['ipp_2', 'ipp_1'])
  const second = await build(configuration.tcpEdge('edgtcp_4', naming('ipp_1', 'ipp_2')), first)
  t.equal(list(second, 'edgtcp_4'), list(first, 'edgtcp_1'), 'also with edges of the view before')
})

t.test('a large view is built in slices', async (t) => {
  const rules = Array.from(
    { length: 60_000 },
    (_, index) => `${1 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}.0/24`,
  )
  const configuration = new TestConfiguration('ac_1').ipPolicy('ipp_1', ...rules)
  let turns = 0
  await buildPolicySet(configuration, undefined, async () => {
    turns += 1
  })
  t.ok(turns > 0)
})

t.test('restrictions of the management API', async (t) => {
  const configuration = new TestConfiguration('ac_1', 'ac_2').ipPolicy('ipp_home', '198.51.100.0/24')
  configuration.restriction('ipx_1', { type: 'api', ip_policy_ids: ['ipp_home'] })
  configuration.restriction('ipx_2', {
    type: 'api',
    account_id: 'ac_2',
    enforced: false,
    ip_policy_ids: ['ipp_home'],
  })
  const policySet = await build(configuration)
  const check = (account: string, ip: string) => checkRestriction(policySet, account, 'api', ip)
  t.same(check('ac_1', '198.51.100.7'), { decision: 'allow', warning: undefined })
  t.same(check('ac_1', '203.0.113.7'), { decision: 'block', warning: undefined })
  t.match(check('ac_2', '203.0.113.7'), {
    decision: 'allow',
    warning: { restrictionId: 'ipx_2', msg: /not enforced/ },
  })
  t.same(check('ac_3', '203.0.113.7').decision, 'allow', 'no restriction')
})

t.test('agents', async (t) => {
  const configuration = new TestConfiguration('ac_1', 'ac_2').ipPolicy('ipp_home', '198.51.100.0/24')
  const tokens: [string, string[], string?][] = [
    ['empty', []],
    ['star', ['bind:x.example', '*']],
    ['one', ['bind:app.example']],
    ['wild', ['bind:*.Example.com']],
    ['wilder', ['bind:*.a.example.com']],
    ['fenced', [], 'ac_2'],
  ]
  for (const [token, acl, account] of tokens)
    configuration.credential(`cr_${token}`, hashToken(token), acl, account)
  configuration.restriction('ipx_1', { account_id: 'ac_2', type: 'agent', ip_policy_ids: ['ipp_home'] })
  const policySet = await build(configuration)
  const cases = [
    { name: 'an unknown token', token: 'nobody', bind: 'a.example', want: 'block', id: null },
    { name: 'an empty acl', token: 'empty', bind: 'anything', want: 'allow' },
    { name: 'a star', token: 'star', bind: 'anything', want: 'allow' },
    { name: 'the name itself', token: 'one', bind: 'app.example', want: 'allow' },
    { name: 'the name in another case', token: 'one', bind: 'APP.example', want: 'allow' },
    { name: 'another name', token: 'one', bind: 'b.example', want: 'block' },
    { name: 'below the name', token: 'one', bind: 'x.app.example', want: 'block' },
    { name: 'below a wildcard', token: 'wild', bind: 'a.example.com', want: 'allow' },
    { name: 'far below a wildcard', token: 'wild', bind: 'c.b.a.example.com', want: 'allow' },
    { name: 'the wildcard itself', token: 'wild', bind: '*.example.com', want: 'allow' },
    { name: 'a narrower wildcard', token: 'wild', bind: '*.a.example.com', want: 'allow' },
    { name: 'a wider wildcard', token: 'wilder', bind: '*.example.com', want: 'block' },
    { name: 'the domain of the wildcard', token: 'wild', bind: 'example.com', want: 'block' },
    { name: 'a name that ends alike', token: 'wild', bind: 'notexample.com', want: 'block' },
    { name: 'an empty label', token: 'wild', bind: '.example.com', want: 'block' },
    { name: 'inside the fence', token: 'fenced', bind: 'a', ip: '198.51.100.7', want: 'allow' },
    { name: 'outside the fence', token: 'fenced', bind: 'a', ip: '203.0.113.7', want: 'block' },
  ]
  for (const { name, token, bind, ip = '203.0.113.7', want, id = `cr_${token}` } of cases) {
    const { decision, credential_id, reason } = checkAgent(policySet, { token, client_ip: ip, bind })
    t.same([decision, credential_id], [want, id], `${name}: ${reason}`)
    t.notOk(reason.includes(`token ${token}`), 'the token is not repeated')
  }
})

t.test('an empty view', async (t) => {
  const found = (await build(new TestConfiguration())).findEdge(tcp({}, ssh))
  t.ok(found.ok && found.value.accountId === undefined)
})
