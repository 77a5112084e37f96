/** Policy tests: what they say of a configuration, and that no write passes after which one fails. */
import t from 'tap'
import { shapeLogTables } from '../../../src/management/store/logs/log-tables.js'
import { openTestStore } from '../../harness/api.js'
import { all, type Caller, refusalOf, refused } from '../../harness/caller.js'
import { decisionRow, rowBytes } from '../../harness/decision-rows.js'

const home = '203.0.113.7'
const conn = (server_name: string, client_ip = home) => ({ client_ip, server_name, server_port: 22 })
const connection = (server_name: string, client_ip = home) =>
  ({ type: 'tcp_connection', conn: conn(server_name, client_ip) }) as const
const deny = (expression: string) => ({
  inbound: [{ name: 'nobody', expressions: [expression], actions: [{ type: 'deny' as const }] }],
})

let names = 0

/** An edge that lets in the home address alone, by an IP policy of its own, and a test that says so. */
async function guarded(me: Caller) {
  names += 1
  const server_name = `ssh${names}.tested.example`
  const policy = await me.ipPolicy.create({ description: 'home' })
  const rule = await me.ipPolicyRule.create({
    ip_policy_id: policy.id,
    cidr: '203.0.113.0/24',
    action: 'allow',
  })
  const edge = await me.tcpEdge.create({
    hostports: [`${server_name}:22`],
    ip_restriction: { ip_policy_ids: [policy.id] },
  })
  const test = await me.policyTest.create({
    description: 'home is let in',
    given: connection(server_name),
    expect: { decision: 'allow' },
  })
  return { me, server_name, policy, rule, edge, test }
}

type Guarded = Awaited<ReturnType<typeof guarded>>

t.test('policy tests', async (t) => {
  const store = await openTestStore(t)
  await shapeLogTables(store.parts.clickhouse, { retentionMs: 3_600_000, bytesMax: 2 ** 30 })
  const api = await store.api()

  const breaking: [string, (all: Guarded) => Promise<unknown>][] = [
    ['a rule is deleted', ({ me, rule }) => me.ipPolicyRule.delete(rule.id)],
    ['a rule is changed', ({ me, rule }) => me.ipPolicyRule.update(rule.id, { cidr: '192.0.2.0/24' })],
    [
      'a rule that denies is added',
      ({ me, policy }) =>
        me.ipPolicyRule.create({ ip_policy_id: policy.id, cidr: `${home}/32`, action: 'deny' }),
    ],
    ['all rules are replaced', ({ me, policy }) => me.replaceRules(policy.id, [])],
    ['the policy is deleted', ({ me, policy }) => me.ipPolicy.delete(policy.id)],
    [
      'the module names another policy',
      async ({ me, edge }) => {
        const other = await me.ipPolicy.create({})
        return me.tcpEdge.ip_restriction.put(edge.id, { ip_policy_ids: [other.id] })
      },
    ],
    [
      'a traffic policy denies',
      ({ me, edge }) => me.tcpEdge.policies.put(edge.id, deny("conn.client_ip == '203.0.113.7'")),
    ],
    [
      'a restriction is made',
      async ({ me }) => {
        const other = await me.ipPolicy.create({})
        return me.ipRestriction.create({ type: 'endpoints', enforced: true, ip_policy_ids: [other.id] })
      },
    ],
    [
      'a version of the past is restored',
      async ({ me, edge }) => {
        const { ip_restriction } = await me.tcpEdge.get(edge.id)
        const before = await newestVersion(me)
        await me.tcpEdge.ip_restriction.put(edge.id, {
          ip_policy_ids: ip_restriction?.ip_policies.map(({ id }) => id) ?? [],
          enabled: false,
        })
        const other = await me.ipPolicy.create({})
        await me.tcpEdge.ip_restriction.put(edge.id, { ip_policy_ids: [other.id], enabled: false })
        const disabled = await newestVersion(me)
        await me.raw.send('PUT', `/edges/tcp/${edge.id}/ip_restriction?skip_tests=true`, {
          body: { ip_policy_ids: [other.id], enabled: true },
        })
        const broken = await newestVersion(me)
        await me.tcpEdge.restore(edge.id, disabled)
        t.ok(before < disabled)
        return me.tcpEdge.restore(edge.id, broken)
      },
    ],
  ]
  for (const [name, change] of breaking) {
    t.test(`a write is refused when ${name}`, async (t) => {
      const all = await guarded(await api.account())
      const before = await configurationOf(all)
      const refusal = await refusalOf(change(all))
      t.match(refusal, {
        status_code: 400,
        error_code: 'ERR_POLICY_TEST',
        msg: new RegExp(
          `^The policy test ${all.test.id} \\("home is let in"\\) would fail: it expects allow, and would get (block|deny)`,
        ),
        details: {
          failed: '1',
          'tests[0].policy_test_id': all.test.id,
          'tests[0].expected': '{"decision":"allow"}',
          'tests[0].decision': /block|deny/,
        },
      })
      const explanation = JSON.parse(refusal?.details['tests[0].explanation'] ?? '{}')
      t.ok(explanation.decided_by.type !== 'none', 'and says what would decide')
      if (!name.startsWith('a version')) t.strictSame(await configurationOf(all), before, 'nothing changed')
    })
  }

  t.test('what changes no decision of a test is done', async (t) => {
    const { me, edge, policy, server_name } = await guarded(await api.account())
    await me.ipPolicyRule.create({ ip_policy_id: policy.id, cidr: '198.51.100.0/24', action: 'deny' })
    await me.tcpEdge.policies.put(edge.id, deny("conn.client_ip == '198.51.100.1'"))
    await me.tcpEdge.create({ hostports: [`other.${server_name}:22`] })
    t.match(await me.runPolicyTests(), { passed: 1, failed: 0 })
  })

  t.test('checks and trials show the tests, too', async (t) => {
    const { me, edge, policy, rule } = await guarded(await api.account())
    const body = { inbound: deny('true').inbound }
    const put = await me.raw.send('PUT', `/edges/tcp/${edge.id}/policies?validate_only=true`, { body })
    t.match(put, { status: 400, body: { error_code: 'ERR_POLICY_TEST' } })
    const rules = { rules: [{ cidr: rule.cidr, action: 'deny' }] }
    const replaced = await me.raw.send('PUT', `/ip_policies/${policy.id}/rules?validate_only=true`, {
      body: rules,
    })
    t.match(replaced, { status: 400, body: { error_code: 'ERR_POLICY_TEST' } })
    const trial = await me.tcpEdge.policies.try(edge.id, body)
    t.match(trial.tests, { passed: 0, failed: 1, tests: [{ passed: false, decision: 'deny' }] })
    await me.cancelTrial(trial.id)
  })

  t.test('skip_tests', async (t) => {
    const { me, rule, policy, test } = await guarded(await api.account())
    const path = `/ip_policy_rules/${rule.id}?skip_tests=true`
    const limited = await me.apiKey.create({ rights: ['write'] })
    const refusedDelete = await me.withToken(limited.token).raw.send('DELETE', path)
    t.match(refusedDelete, { status: 403, body: { msg: /lacks the right "skip_tests"/ } })
    const able = await me.apiKey.create({ rights: ['write', 'skip_tests'] })
    t.equal((await me.withToken(able.token).raw.send('DELETE', path)).status, 204)
    const [change] = await all(me.changes())
    t.match(change, { verb: 'delete', id: rule.id, tests_skipped: true })
    t.match(await me.runPolicyTests(), { passed: 0, failed: 1, tests: [{ policy_test_id: test.id }] })
    const body = { ip_policy_id: policy.id, cidr: '192.0.2.0/24', action: 'allow' } as const
    t.match(
      await refusalOf(me.ipPolicyRule.create(body)),
      { error_code: 'ERR_POLICY_TEST' },
      'it still fails',
    )
    const empty = await me.ipPolicy.create({ description: 'decides nothing' })
    await me.ipPolicy.update(empty.id, { description: 'nor does its name' })
    await me.ipPolicyRule.create({ ...body, cidr: '203.0.113.0/24' })
    t.match(await me.runPolicyTests(), { passed: 1, failed: 0 }, 'mended')
    t.match((await all(me.changes()))[0], { tests_skipped: false })
  })

  t.test('two writes at once that together break a test', async (t) => {
    const me = await api.account()
    names += 1
    const server_name = `both${names}.tested.example`
    const one = await me.ipPolicy.create({})
    const rules = await Promise.all(
      ['203.0.113.0/24', '203.0.0.0/16'].map((cidr) =>
        me.ipPolicyRule.create({ ip_policy_id: one.id, cidr, action: 'allow' }),
      ),
    )
    const module = { ip_policy_ids: [one.id] }
    await me.tcpEdge.create({ hostports: [`${server_name}:22`], ip_restriction: module })
    await me.policyTest.create({ given: connection(server_name), expect: { decision: 'allow' } })
    const codes = await Promise.all(
      rules.map(({ id }) => refusalOf(me.ipPolicyRule.delete(id)).then((refusal) => refusal?.error_code)),
    )
    t.strictSame(codes.toSorted(), ['ERR_POLICY_TEST', undefined], 'one is done')
  })

  t.test('of many tests that fail, the first ten are described', async (t) => {
    const { me, edge, server_name } = await guarded(await api.account())
    const expect = { decision: 'allow' } as const
    for (let n = 0; n < 11; n += 1) await me.policyTest.create({ given: connection(server_name), expect })
    const refusal = await refusalOf(me.tcpEdge.policies.put(edge.id, deny('true')))
    t.match(refusal?.msg, /; 11 more would fail, too/)
    t.equal(refusal?.details['failed'], '12')
    t.ok(refusal?.details['tests[9].explanation'], 'the tenth')
    t.notOk(refusal?.details['tests[10].policy_test_id'], 'and no more')
  })

  t.test('what a test expects', async (t) => {
    const me = await api.account()
    const { server_name, edge } = await guarded(me)
    await me.tcpEdge.policies.put(edge.id, deny("conn.geo.country_code == 'NL'"))
    const given = connection(server_name)
    const run = async (test: object) => {
      const { tests } = await me.runPolicyTests([test as never])
      return tests[0]
    }
    const by = { type: 'traffic_policy', name: 'nobody', id: edge.id } as const
    t.match(await run({ given: { ...given, country: 'NL' }, expect: { decision: 'deny', decided_by: by } }), {
      passed: true,
      decided_by: by,
    })
    t.match(
      await run({
        given: { ...given, country: 'NL' },
        expect: { decision: 'deny', decided_by: { name: 'x' } },
      }),
      { passed: false, decision: 'deny', decided_by: by, explanation: { decided_by: by } },
    )
    t.match(await run({ given: { ...given, asn: 64500 }, expect: { decision: 'allow' } }), { passed: true })
    t.match(await run({ given: { ...given, edge_id: 'edgtcp_nothing' }, expect: { decision: 'deny' } }), {
      passed: false,
      decision: null,
      problem: /no such edge/,
    })
  })

  t.test('what is not enforced: what it would decide is guarded, too', async (t) => {
    const { me, edge, server_name } = await guarded(await api.account())
    const nobody = { ...deny("conn.client_ip == '203.0.113.7'").inbound[0]!, enforced: false }
    await me.tcpEdge.policies.put(edge.id, { inbound: [nobody] })
    const isReached = async () =>
      (await me.policyTestCoverage()).unreached.find(({ kind }) => kind === 'traffic_policy')?.tests
    t.equal(await isReached(), false)
    const by = { type: 'traffic_policy', name: 'nobody', id: edge.id } as const
    const shadow = { decision: 'deny', decided_by: { type: 'traffic_policy', name: 'nobody' } } as const
    const test = await me.policyTest.create({
      given: connection(server_name),
      expect: {
        decision: 'allow',
        decided_by: null,
        shadow: { ...shadow, decided_by: { ...shadow.decided_by, id: null } },
      },
    })
    t.strictSame(test.expect, { decision: 'allow', shadow }, 'null may be anything')
    t.equal(await isReached(), true, 'such a test reaches it')
    const ofIt = ({ policy_test_id }: { policy_test_id: string | null }) => policy_test_id === test.id
    t.match((await me.runPolicyTests()).tests.find(ofIt), {
      passed: true,
      decided_by: null,
      shadow: { decision: 'deny', decided_by: by },
    })
    const refusal = await refusalOf(
      me.tcpEdge.policies.put(edge.id, { inbound: [{ ...nobody, expressions: ['false'] }] }),
    )
    t.match(refusal, {
      error_code: 'ERR_POLICY_TEST',
      msg: /it expects allow \(if all were enforced: deny by traffic_policy, name nobody\), and would get allow by none \(if all were enforced: allow by none\)\./,
      details: { 'tests[0].policy_test_id': test.id, 'tests[0].shadow': /"decision":"allow"/ },
    })
    t.match(
      await refusalOf(me.tcpEdge.policies.put(edge.id, { inbound: [{ ...nobody, enforced: true }] })),
      { error_code: 'ERR_POLICY_TEST', msg: /would get deny by traffic_policy/ },
      'it is not switched on by mistake',
    )
    const promoted = { decision: 'deny', shadow } as const
    await me.policyTest.update(test.id, { expect: { decision: 'allow' } })
    const wrong = {
      given: connection(server_name),
      expect: { decision: 'allow', shadow: { decision: 'maybe' } },
    }
    t.match(await refused(400, me.policyTest.create(wrong as never)), /"expect.shadow.decision" is "maybe"/)
    await me.tcpEdge.policies.put(edge.id, deny("conn.client_ip == '203.0.113.7'"), { skipTests: true })
    t.match(
      await me.runPolicyTests([{ given: connection(server_name), expect: promoted }]),
      { passed: 1, tests: [{ shadow: { decision: 'deny', decided_by: by } }] },
      'if all is enforced, the decision is what would be decided if all were',
    )
  })

  t.test('tests that are wrong', async (t) => {
    const me = await api.account()
    const expect = { decision: 'allow' } as const
    const given = connection('wrong.tested.example')
    const wrong: [object, RegExp][] = [
      [{ given: { type: 'tcp_connection' }, expect }, /"given".*conn/],
      [{ given: { ...given, conn: { client_ip: 'home' } }, expect }, /client_ip/],
      [{ given: { ...given, country: 'Netherlands' }, expect }, /country/],
      [{ given: { ...given, asn: -1 }, expect }, /asn/],
      [{ given }, /"expect" is required/],
      [{ given, expect: { decision: 'maybe' } }, /"expect.decision" is "maybe"/],
      [{ given, expect: { decision: 'deny', decided_by: { who: 'x' } } }, /who/],
      [{ given: { ...given, conn: { ...given.conn, server_name: 'x'.repeat(20_000) } }, expect }, /bytes/],
    ]
    for (const [body, message] of wrong)
      t.match(await refused(400, me.policyTest.create(body as never)), message)
    const failing = { given, expect: { decision: 'deny' } } as const
    t.match(await refusalOf(me.policyTest.create(failing)), { error_code: 'ERR_POLICY_TEST' }, 'it fails now')
    const made = await me.raw.send('POST', '/policy_tests?skip_tests=true', { body: failing })
    t.equal(made.status, 201, 'but can be made before what it guards')
    await me.policyTest.create({ given, expect })
    await me.policyTest.delete(made.body.id)
  })

  t.test('what no test, and no traffic, reaches', async (t) => {
    const { me, edge, rule, server_name, policy } = await guarded(await api.account())
    await me.tcpEdge.policies.put(edge.id, {
      inbound: [
        ...deny("conn.client_ip == '198.51.100.1'").inbound,
        { name: 'seen', expressions: ['true'], actions: [{ type: 'log', config: { Metadata: {} } }] },
      ],
    })
    const body = { ip_policy_id: policy.id, cidr: '192.0.2.0/24', action: 'deny' } as const
    const never = await me.ipPolicyRule.create(body)
    const other = await me.tcpEdge.create({ hostports: [`other.${server_name}:22`] })
    const row = decisionRow({ accountId: me.accountId, recordId: 'r1', edgeId: other.id, at: Date.now() })
    await store.parts.clickhouse.insertBlocks('decisions', [rowBytes([row])])
    const coverage = await me.policyTestCoverage()
    t.match(coverage, {
      tests: 1,
      kinds: [
        { kind: 'tcp_edge', parts: 2, reached_by_tests: 1, reached_by_traffic: 1 },
        { kind: 'https_edge', parts: 0 },
        { kind: 'https_edge_route', parts: 0, reached_by_traffic: null },
        { kind: 'traffic_policy', parts: 2, reached_by_tests: 1 },
        { kind: 'ip_policy_rule', parts: 2, reached_by_tests: 1 },
      ],
      unreached_left_out: 0,
    })
    t.strictSame(
      coverage.unreached.map(({ kind, id, name, tests, traffic }) => [kind, id, name, tests, traffic]),
      [
        ['tcp_edge', other.id, `other.${server_name}:22`, false, true],
        ['tcp_edge', edge.id, `${server_name}:22`, true, false],
        ['traffic_policy', edge.id, 'nobody', false, false],
        ['ip_policy_rule', never.id, '192.0.2.0/24', false, false],
      ],
    )
    t.notOk(coverage.unreached.some(({ id }) => id === rule.id))
  })

  t.test("another account's tests say nothing here", async (t) => {
    const { server_name } = await guarded(await api.account('owner'))
    const other = await api.account('other')
    t.match(await other.runPolicyTests(), { passed: 0, failed: 0, tests: [] })
    const asked = { given: connection(server_name), expect: { decision: 'block' } } as const
    t.match(await other.runPolicyTests([asked]), { tests: [{ passed: false, decision: 'allow' }] })
  })
})

const newestVersion = async (me: Caller): Promise<number> => (await all(me.changes()))[0]?.version ?? 0

const configurationOf = async ({ me, edge, policy, rule }: Guarded): Promise<unknown> => [
  await me.tcpEdge.get(edge.id),
  await me.ipPolicy.get(policy.id).catch(String),
  await me.ipPolicyRule.get(rule.id).catch(String),
]
