import t from 'tap'
import { hashToken } from '../../../src/ground/core/ids.js'
import { buildPolicySet } from '../../../src/judging/evaluate/policy-set.js'
import { decide, decideAgent } from '../../../src/judging/evaluate/reply.js'
import { deny, log, noGeo, noYield, TestConfiguration } from './configuration.js'

const conn = { client_ip: '198.51.100.7', server_name: 'ssh.example', server_port: 22 }

const configuration = new TestConfiguration('ac_1')
  .ipPolicy('ipp_1', '198.51.100.0/24', '!198.51.100.66/32')
  .tcpEdge('edgtcp_1', {
    hostports: ['ssh.example:22'],
    ip_restriction: { enabled: true, ip_policy_ids: ['ipp_1'] },
    policies: {
      enabled: true,
      inbound: [
        { expressions: ['int(conn.server_name) == 1'], actions: [deny] },
        {
          name: 'No low ports',
          expressions: ['conn.client_port < 1024', 'conn.client_port > 0'],
          actions: [deny],
        },
        {
          expressions: ['conn.client_port == 5000'],
          actions: [log({}), deny],
        },
      ],
      outbound: [{ expressions: [], actions: [log({})] }],
    },
  })
  .tcpEdge('edgtcp_2', { account_id: 'ac_2' })
  .restriction('ipx_1', { account_id: 'ac_2', enforced: false, ip_policy_ids: ['ipp_none'] })
  .credential('cr_1', hashToken('secret-token'), ['bind:*.example.com'])

const policySet = await buildPolicySet(configuration, undefined, noYield)

const ask = (request: unknown) => {
  const bytes = Buffer.from(typeof request === 'string' ? request : JSON.stringify(request))
  return JSON.parse(Buffer.from(decide(policySet, noGeo, bytes)).toString())
}

t.test('decisions', async (t) => {
  const ip = { decision: 'allow', policy_ids: ['ipp_1'] }
  const cases = [
    {
      name: 'let in',
      request: { type: 'tcp_connection', conn },
      want: { decision: 'allow', ip_policy: ip, policy: null },
    },
    {
      name: 'let in with a zone',
      request: { type: 'tcp_connection', conn: { ...conn, client_ip: '::ffff:198.51.100.7%eth0' } },
      want: { decision: 'allow', ip_policy: ip, policy: null },
    },
    {
      name: 'blocked',
      request: { type: 'tcp_connection', conn: { ...conn, client_ip: '198.51.100.66' } },
      want: { decision: 'block', ip_policy: { ...ip, decision: 'block' }, policy: null },
    },
    {
      name: 'denied by name',
      request: { type: 'tcp_connection', conn: { ...conn, client_port: 80 } },
      want: { decision: 'deny', ip_policy: ip, policy: 'No low ports', served: true },
    },
    {
      name: 'denied by place',
      request: { type: 'tcp_connection', conn: { ...conn, client_port: 5000 } },
      want: { decision: 'deny', ip_policy: ip, policy: 'inbound[2]' },
    },
    {
      name: 'a restriction meets an IPv4-mapped address, and names it as IPv4',
      request: { type: 'tcp_connection', edge_id: 'edgtcp_2', conn: { client_ip: '::FFFF:198.51.100.7' } },
      want: { decision: 'allow', warnings: [/would block 198\.51\.100\.7;/] },
    },
    {
      name: 'a record_id is accepted',
      request: { record_id: 'r', type: 'tcp_connection', conn },
      want: { decision: 'allow' },
    },
    {
      name: 'no account known',
      request: { type: 'tcp_connection', conn: { client_ip: '::1' } },
      want: { decision: 'allow', ip_policy: null, policy: null, served: false, warnings: [/No edge serves/] },
    },
    {
      name: 'a restriction that is not enforced',
      request: { type: 'tcp_connection', edge_id: 'edgtcp_2', conn },
      want: { decision: 'allow', ip_policy: null, warnings: [/ipx_1 would block/] },
    },
  ]
  for (const { name, request, want } of cases) {
    const answer = ask(request)
    t.match(answer, want, name)
    t.same(Object.keys(answer), ['decision', 'ip_policy', 'policy', 'served', 'revision', 'warnings'], name)
    t.equal(answer.revision, configuration.revision, name)
  }
  t.match(
    ask({ type: 'tcp_connection', conn }).warnings,
    [/int\(conn.server_name\).*inbound\[0\]/],
    'an expression without a result',
  )
})

t.test('a decision that is not explained to who asks', (t) => {
  const request = { type: 'tcp_connection', conn: { ...conn, client_port: 5000 } }
  const answerTo = (asked: object) => {
    const bytes = Buffer.from(JSON.stringify(asked))
    return JSON.parse(Buffer.from(decide(policySet, noGeo, bytes, () => {}, false)).toString())
  }
  const answer = answerTo(request)
  t.strictSame(answer, ask(request))
  const { warnings, ...rest } = answerTo({ ...request, explain: true })
  t.strictSame({ ...rest, warnings: warnings.slice(0, -1) }, answer, 'the same decision, and no explanation')
  t.match(warnings.at(-1), 'WEIR_DECIDE_EXPLAIN is off')
  t.end()
})

t.test('explanations', async (t) => {
  const { explanation } = ask({ type: 'tcp_connection', conn: { ...conn, client_port: 5000 }, explain: true })
  const rule = {
    ip_policy_id: 'ipp_1',
    list_id: null,
    comment: null,
    description: null,
    expires_at: null,
    enforced: true,
  }
  t.same(explanation.ip_policies, [
    {
      source: 'ip_restriction of edgtcp_1',
      enforced: true,
      decision: 'allow',
      reason: 'The allow rule ipr_0 contains the address, and no deny rule does.',
      rules: [
        {
          ...rule,
          rule_id: 'ipr_0',
          cidr: '198.51.100.0/24',
          action: 'allow',
          matches: true,
          won: true,
          reason: 'It contains the address, and no deny rule does.',
        },
        {
          ...rule,
          rule_id: 'ipr_1',
          cidr: '198.51.100.66/32',
          action: 'deny',
          matches: false,
          won: false,
          reason: 'It does not contain the address.',
        },
      ],
      rules_left_out: 0,
    },
  ])
  t.match(explanation.policies, [
    {
      policy: 'inbound[0]',
      direction: 'inbound',
      applied: false,
      expressions: [
        { expression: 'int(conn.server_name) == 1', value: null, failure: /a text of 11 characters/ },
      ],
      actions: ['deny'],
    },
    {
      policy: 'No low ports',
      applied: false,
      expressions: [{ expression: 'conn.client_port < 1024', value: false }],
    },
    { policy: 'inbound[2]', applied: true, expressions: [{ value: true }], actions: ['log', 'deny'] },
  ])
  t.equal(explanation.policies[1].expressions.length, 1, 'what was not evaluated is not explained')
  const many = new TestConfiguration('ac_1').ipPolicy(
    'ipp_1',
    ...Array.from({ length: 3000 }, (_, index) => `10.${index >> 8}.${index & 255}.0/24`),
    '192.0.2.0/24',
  )
  many.tcpEdge('edgtcp_1', { ip_restriction: { enabled: true, ip_policy_ids: ['ipp_1'] } })
  const large = await buildPolicySet(many, undefined, noYield)
  const request = {
    type: 'tcp_connection',
    edge_id: 'edgtcp_1',
    conn: { client_ip: '192.0.2.1' },
    explain: true,
  }
  const [group] = JSON.parse(
    Buffer.from(decide(large, noGeo, Buffer.from(JSON.stringify(request)))).toString(),
  ).explanation.ip_policies
  t.match(
    group,
    { rules_left_out: 2001, rules: [{ cidr: '192.0.2.0/24', matches: true }] },
    'what matches comes first',
  )
})

t.test('requests that are refused', async (t) => {
  const cases = [
    { name: 'no JSON', request: '{', want: 'ERR_INVALID_JSON' },
    { name: 'no record', request: '[]', want: 'ERR_INVALID_REQUEST' },
    { name: 'no address', request: { type: 'tcp_connection', conn: {} }, want: 'ERR_INVALID_REQUEST' },
    {
      name: 'explain as text',
      request: { type: 'tcp_connection', conn, explain: 'yes' },
      want: 'ERR_INVALID_REQUEST',
    },
    {
      name: 'an empty record_id',
      request: { record_id: '', type: 'tcp_connection', conn },
      want: 'ERR_INVALID_REQUEST',
    },
    {
      name: 'an unknown edge',
      request: { type: 'tcp_connection', edge_id: 'edgtcp_9', conn },
      want: 'ERR_NOT_FOUND',
    },
    {
      name: 'the edge of another account',
      request: { type: 'tcp_connection', edge_id: 'edgtcp_1', account_id: 'ac_2', conn },
      want: 'ERR_INVALID_REQUEST',
    },
  ]
  for (const { name, request, want } of cases) {
    const answer = ask(request)
    t.same(Object.keys(answer), ['error_code', 'msg'], name)
    t.equal(answer.error_code, want, `${name}: ${answer.msg}`)
  }
})

t.test('agents', async (t) => {
  const askAgent = (request: unknown) =>
    JSON.parse(Buffer.from(decideAgent(policySet, Buffer.from(JSON.stringify(request)))).toString())
  const cases = [
    {
      name: 'let in',
      request: { token: 'secret-token', client_ip: '::1', bind: 'a.example.com' },
      want: { decision: 'allow', credential_id: 'cr_1' },
    },
    ...['fe80::9%2', 'fe80::9%eth0'].map((client_ip) => ({
      name: `an address with a zone: ${client_ip}`,
      request: { token: 'secret-token', client_ip, bind: 'a.example.com' },
      want: { decision: 'allow', credential_id: 'cr_1' },
    })),
    {
      name: 'a zone of IPv4, which has none',
      request: { token: 'secret-token', client_ip: '192.0.2.1%eth0', bind: 'a' },
      want: { error_code: 'ERR_INVALID_REQUEST', msg: /"client_ip" is "192.0.2.1%eth0"/ },
    },
    {
      name: 'not allowed to bind',
      request: { token: 'secret-token', client_ip: '::1', bind: 'a.example.org' },
      want: { decision: 'block', credential_id: 'cr_1' },
    },
    {
      name: 'unknown',
      request: { token: 'other', client_ip: '::1', bind: 'a.example.com' },
      want: { decision: 'block', credential_id: null },
    },
    {
      name: 'no token',
      request: { client_ip: '::1', bind: 'a' },
      want: { error_code: 'ERR_INVALID_REQUEST', msg: /token/ },
    },
    {
      name: 'no address',
      request: { token: 'secret-token', client_ip: 'x', bind: 'a' },
      want: { error_code: 'ERR_INVALID_REQUEST', msg: '"client_ip" is "x"; it must be an IPv4' },
    },
    {
      name: 'an address left out',
      request: { token: 'secret-token', bind: 'a' },
      want: { error_code: 'ERR_INVALID_REQUEST', msg: '"client_ip" is missing; it must be an IPv4' },
    },
    {
      name: 'nothing to bind',
      request: { token: 'secret-token', client_ip: '::1' },
      want: { error_code: 'ERR_INVALID_REQUEST', msg: '"bind" is missing; it must be a host' },
    },
    { name: 'a list', request: [], want: { error_code: 'ERR_INVALID_REQUEST' } },
  ]
  for (const { name, request, want } of cases) {
    const answer = askAgent(request)
    t.match(answer, want, name)
    t.notOk(JSON.stringify(answer).includes('secret-token'), name)
  }

  t.test('names of other accounts are not bound, whatever the acl allows', async (t) => {
    const configuration = new TestConfiguration('ac_1', 'ac_2', 'ac_3')
      .tcpEdge('edgtcp_wide', { account_id: 'ac_1', hostports: ['*.shop.example:443', '*:25'] })
      .tcpEdge('edgtcp_one', { account_id: 'ac_1', hostports: ['one.example:22'] })
      .tcpEdge('edgtcp_both', { account_id: 'ac_2', hostports: ['pay.both.example:443'] })
    const table = configuration.table('domain')
    const domain = { version: 1, created_at: 0, account_id: 'ac_1' }
    table.set('rd_1', { ...domain, id: 'rd_1', domain: 'app.example' } as never)
    table.set('rd_2', { ...domain, id: 'rd_2', domain: 'both.example' } as never)
    configuration
      .table('reserved_addr')
      .set('ra_1', { ...domain, id: 'ra_1', addr: '1.tcp.eu.weir.example:20000' } as never)
    for (const accountId of ['ac_1', 'ac_2', 'ac_3'])
      configuration.credential(`cr_${accountId}`, hashToken(accountId), [], accountId)
    const set = await buildPolicySet(configuration, undefined, noYield)
    const isAllowed = (token: string, bind: string): boolean => {
      const request = Buffer.from(JSON.stringify({ token, client_ip: '::1', bind }))
      const { decision, reason } = JSON.parse(Buffer.from(decideAgent(set, request)).toString())
      t.notMatch(reason.replaceAll(`cr_${token}`, ''), 'ac_', 'no hint about whose')
      return decision === 'allow'
    }
    const owned = [
      'pay.shop.example',
      'PAY.shop.example:443',
      'shop.example:443',
      '*.shop.example',
      '*.example',
      'one.example',
      'one.example:22',
      'x.app.example:8443',
      '1.tcp.eu.weir.example:20000',
      'pay.shop.example.:443',
      ' pay.shop.example:0443',
      'https://one.example/',
      '*.shop.example.',
    ]
    for (const bind of owned) {
      t.ok(isAllowed('ac_1', bind) || bind === '*.example', `its own ${bind}`)
      t.notOk(isAllowed('ac_3', bind), bind)
    }
    const free = [
      'pay.shop.example:8443',
      'one.example:23',
      'x.one.example',
      'mail.example:25',
      'no name at all',
      '[::1]:22',
    ]
    for (const bind of free) t.ok(isAllowed('ac_3', bind), bind)
    for (const token of ['ac_1', 'ac_2'])
      t.ok(isAllowed(token, 'pay.both.example:443'), 'both have it from before')
  })

  const uses: unknown[] = []
  const watch = { warned: () => {}, decided: () => {}, used: (...use: unknown[]) => void uses.push(use) }
  for (const [token, bind] of [
    ['secret-token', 'a.example.com'],
    ['secret-token', 'a.example.org'],
    ['other', 'a.example.com'],
  ])
    decideAgent(policySet, Buffer.from(JSON.stringify({ token, client_ip: '0::1', bind })), watch)
  const use = ['cr_1', '::1']
  t.strictSame(uses, [use, use], 'a credential is used whatever is decided; an unknown token is no use')
})
