import fc from 'fast-check'
import ipaddr from 'ipaddr.js'
import t from 'tap'
import type { GeoLookup } from '../../../src/delivery/record/geo.js'
import { PolicyContext } from '../../../src/delivery/record/policy-context.js'
import type { ConnectionRecord } from '../../../src/delivery/record/traffic-record.js'
import { StepBudget } from '../../../src/ground/expr/run.js'
import { evaluate, type Phase } from '../../../src/judging/evaluate/evaluate.js'
import { buildPolicySet } from '../../../src/judging/evaluate/policy-set.js'
import type { PoliciesModule, PolicyRow } from '../../../src/judging/evaluate/policy-source.js'
import { deny, log, noGeo, noYield, TestConfiguration } from './configuration.js'

interface Question {
  readonly configuration: TestConfiguration
  readonly conn?: ConnectionRecord['conn']
  readonly phase?: Phase
  readonly geo?: GeoLookup
  readonly steps?: number
}

async function verdictOn({ configuration, conn, phase = 'closed', geo = noGeo, steps }: Question) {
  const policySet = await buildPolicySet(configuration, undefined, noYield)
  const record = {
    record_id: 'r',
    type: 'tcp_connection',
    edge_id: 'edge',
    conn: conn ?? { client_ip: '198.51.100.7' },
  } as const
  const found = policySet.findEdge(record)
  if (!found.ok) throw new Error(found.problem.msg)
  return evaluate(
    policySet,
    found.value,
    new PolicyContext(record, 'edge', geo),
    new StepBudget(steps),
    phase,
  )
}

t.test('IP policies of a module', async (t) => {
  const cases = [
    { name: 'an allow rule matches', policies: [['198.51.100.0/24']], ip: '198.51.100.7', want: 'allow' },
    { name: 'no rule matches', policies: [['10.0.0.0/8']], ip: '198.51.100.7', want: 'block' },
    { name: 'no rules', policies: [[]], ip: '198.51.100.7', want: 'block' },
    { name: 'no policies', policies: [], ip: '198.51.100.7', want: 'block' },
    { name: 'deny rules alone', policies: [['!10.0.0.0/8']], ip: '198.51.100.7', want: 'block' },
    {
      name: 'a deny rule wins over a narrower allow rule',
      policies: [['198.51.100.7/32', '!198.51.100.0/24']],
      ip: '198.51.100.7',
      want: 'block',
    },
    {
      name: 'a deny rule of another policy wins',
      policies: [['0.0.0.0/0'], ['!198.51.100.0/24']],
      ip: '198.51.100.7',
      want: 'block',
    },
    {
      name: 'an allow rule of another policy is enough',
      policies: [[], ['198.51.100.0/24']],
      ip: '198.51.100.7',
      want: 'allow',
    },
    {
      name: 'IPv4-mapped IPv6 meets an IPv4 rule',
      policies: [['0.0.0.0/0', '!198.51.100.0/24']],
      ip: '::ffff:198.51.100.7',
      want: 'block',
    },
    {
      name: 'all of IPv6 allowed is nothing of IPv4',
      policies: [['::/0']],
      ip: '198.51.100.7',
      want: 'block',
    },
    {
      name: 'an IPv6 rule',
      policies: [['2001:db8::/32', '!2001:db8:1::/48']],
      ip: '2001:db8:2::1',
      want: 'allow',
    },
    {
      name: 'an IPv6 deny rule',
      policies: [['2001:db8::/32', '!2001:db8:1::/48']],
      ip: '2001:db8:1::1',
      want: 'block',
    },
  ]
  for (const { name, policies, ip, want } of cases) {
    const configuration = new TestConfiguration('ac_1')
    const ids = policies.map((rules, index) => {
      configuration.ipPolicy(`ipp_${index}`, ...rules)
      return `ipp_${index}`
    })
    configuration.tcpEdge('edge', { ip_restriction: { enabled: true, ip_policy_ids: ids } })
    const verdict = await verdictOn({ configuration, conn: { client_ip: ip } })
    t.match(verdict, { decision: want, ipPolicy: { decision: want, policy_ids: ids } }, name)
  }
})

t.test('IP policies agree with a count over all rules', async (t) => {
  const ipv4 = fc.tuple(
    fc.constantFrom(0, 8, 15, 16, 23, 24, 31, 32),
    fc.integer({ min: 0, max: 3 }),
    fc.integer({ min: 0, max: 3 }),
  )
  const rule = fc.tuple(fc.boolean(), ipv4)
  const address = fc
    .tuple(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 3 }))
    .map(([a, b]) => `10.${a}.0.${b}`)
  const policies = fc.array(fc.array(rule, { maxLength: 4 }), { maxLength: 3 })
  const cidrOf = ([prefix, a, b]: [number, number, number]) =>
    `${ipaddr.IPv4.networkAddressFromCIDR(`10.${a}.0.${b}/${prefix}`)}/${prefix}`
  await fc.assert(
    fc.asyncProperty(policies, address, fc.boolean(), async (given, ip, mapped) => {
      const configuration = new TestConfiguration('ac_1')
      for (const [index, rules] of given.entries()) {
        configuration.ipPolicy(
          `ipp_${index}`,
          ...rules.map(([deny, cidr]) => (deny ? '!' : '') + cidrOf(cidr)),
        )
      }
      configuration.tcpEdge('edge', {
        ip_restriction: { enabled: true, ip_policy_ids: given.map((_, index) => `ipp_${index}`) },
      })
      const matching = given
        .flat()
        .filter(([, cidr]) => ipaddr.parse(ip).match(ipaddr.parseCIDR(cidrOf(cidr))))
      const want = matching.length > 0 && matching.every(([deny]) => !deny) ? 'allow' : 'block'
      const { decision } = await verdictOn({
        configuration,
        conn: { client_ip: mapped ? `::ffff:${ip}` : ip },
      })
      t.equal(decision, want)
    }),
    { seed: 3, numRuns: 200 },
  )
})

t.test('modules and restrictions together', async (t) => {
  const [yes, no] = [['ipp_yes'], ['ipp_no']]
  const cases = [
    { name: 'neither', module: null, restriction: null, want: ['allow', undefined, 0] },
    {
      name: 'a module switched off',
      module: { enabled: false, ids: no },
      restriction: null,
      want: ['allow', undefined, 0],
    },
    {
      name: 'the module allows, the restriction too',
      module: { enabled: true, ids: yes },
      restriction: { enforced: true, ids: yes },
      want: ['allow', 'allow', 0],
    },
    {
      name: 'the module blocks',
      module: { enabled: true, ids: no },
      restriction: { enforced: true, ids: yes },
      want: ['block', 'block', 0],
    },
    {
      name: 'the restriction blocks',
      module: { enabled: true, ids: yes },
      restriction: { enforced: true, ids: no },
      want: ['block', 'block', 0],
    },
    {
      name: 'the restriction alone blocks',
      module: null,
      restriction: { enforced: true, ids: no },
      want: ['block', 'block', 0],
    },
    {
      name: 'a restriction that is not enforced warns',
      module: null,
      restriction: { enforced: false, ids: no },
      want: ['allow', undefined, 1],
    },
    {
      name: 'and leaves the decision to the module',
      module: { enabled: true, ids: yes },
      restriction: { enforced: false, ids: no },
      want: ['allow', 'allow', 1],
    },
    {
      name: 'or has nothing to warn of',
      module: null,
      restriction: { enforced: false, ids: yes },
      want: ['allow', undefined, 0],
    },
    {
      name: 'a policy that was deleted has no rules',
      module: { enabled: true, ids: ['ipp_gone'] },
      restriction: null,
      want: ['block', 'block', 0],
    },
    {
      name: 'a restriction of another type',
      module: null,
      restriction: { enforced: true, ids: no, type: 'agent' as const },
      want: ['allow', undefined, 0],
    },
  ]
  for (const { name, module, restriction, want } of cases) {
    const configuration = new TestConfiguration('ac_1')
      .ipPolicy('ipp_yes', '0.0.0.0/0')
      .ipPolicy('ipp_no', '!0.0.0.0/0')
    configuration.tcpEdge('edge', {
      ip_restriction: module === null ? null : { enabled: module.enabled, ip_policy_ids: module.ids },
    })
    if (restriction !== null) {
      const { enforced, ids, type = 'endpoints' } = restriction
      configuration.restriction('ipx_1', { enforced, type, ip_policy_ids: ids })
    }
    const { decision, ipPolicy, warnings } = await verdictOn({ configuration })
    t.same([decision, ipPolicy?.decision, warnings.length], want, name)
  }
})

const logging = (Message: string) => log({ Message })
const policy = (actions: PolicyRow['actions'], ...expressions: string[]): PolicyRow => ({
  actions,
  expressions,
})
const says = (logs: readonly { metadataJson: string }[]) =>
  logs.map(({ metadataJson }) => JSON.parse(metadataJson).Message)

t.test('traffic policies', async (t) => {
  const ssh = 'conn.server_port == 22'
  const web = 'conn.server_port == 443'
  const cases: {
    name: string
    module: Partial<PoliciesModule>
    phase?: Phase
    want: [string, string | null, string[]]
  }[] = [
    { name: 'none', module: {}, want: ['allow', null, []] },
    {
      name: 'no expressions always apply',
      module: { inbound: [policy([deny])] },
      want: ['deny', 'inbound[0]', []],
    },
    {
      name: 'all expressions have to be true',
      module: { inbound: [policy([deny], ssh, web)] },
      want: ['allow', null, []],
    },
    {
      name: 'the first, the second, neither and both of two expressions are false',
      module: {
        inbound: [
          policy([deny], web, ssh),
          policy([deny], ssh, web),
          policy([logging('a')], ssh, 'conn.server_port < 100'),
          policy([deny], web, web),
        ],
      },
      want: ['allow', null, ['a']],
    },
    { name: 'a true one', module: { inbound: [policy([deny], ssh)] }, want: ['deny', 'inbound[0]', []] },
    {
      name: 'the name of the policy that denies',
      module: { inbound: [policy([deny], web), { ...policy([deny], ssh), name: 'No ssh' }] },
      want: ['deny', 'No ssh', []],
    },
    {
      name: 'an empty name is none',
      module: { inbound: [{ ...policy([deny]), name: '' }] },
      want: ['deny', 'inbound[0]', []],
    },
    {
      name: 'log actions before a deny have run',
      module: { inbound: [policy([logging('a')]), policy([logging('b'), logging('c'), deny])] },
      want: ['deny', 'inbound[1]', ['a', 'b', 'c']],
    },
    {
      name: 'nothing runs behind a deny',
      module: { inbound: [policy([deny]), policy([logging('a')])], outbound: [policy([logging('b')])] },
      want: ['deny', 'inbound[0]', []],
    },
    {
      name: 'outbound runs when inbound let it through',
      module: { inbound: [policy([logging('a')])], outbound: [policy([logging('b')])] },
      want: ['allow', null, ['a', 'b']],
    },
    {
      name: 'outbound waits for the end',
      module: { inbound: [policy([logging('a')])], outbound: [policy([logging('b')])] },
      phase: 'opening',
      want: ['allow', null, ['a']],
    },
    {
      name: 'switched off',
      module: { enabled: false, inbound: [policy([deny])] },
      want: ['allow', null, []],
    },
    {
      name: 'the metadata key in another case',
      module: { inbound: [policy([{ type: 'log', config: { mEtAdAtA: { Message: 'a' } } }])] },
      want: ['allow', null, ['a']],
    },
    {
      name: 'a value that counts as true',
      module: { inbound: [policy([deny], 'conn.server_port')] },
      want: ['deny', 'inbound[0]', []],
    },
    {
      name: 'a value that counts as false',
      module: { inbound: [policy([deny], 'conn.start_ts')] },
      want: ['allow', null, []],
    },
    {
      name: 'what an outbound policy can see',
      module: { outbound: [policy([logging('a')], 'conn.bytes_in > 5 && ip_policy.decision == null')] },
      want: ['allow', null, ['a']],
    },
  ]
  for (const { name, module, phase, want } of cases) {
    const configuration = new TestConfiguration('ac_1').tcpEdge('edge', {
      policies: { enabled: true, inbound: [], outbound: [], ...module },
    })
    const conn = { client_ip: '198.51.100.7', server_port: 22, bytes_in: 7 }
    const verdict = await verdictOn({ configuration, conn, ...(phase === undefined ? {} : { phase }) })
    t.same([verdict.decision, verdict.policy?.label ?? null, says(verdict.logs)], want, name)
  }
})

t.test('a connection that IP policies block runs no traffic policy', async (t) => {
  const policies = {
    enabled: true,
    inbound: [policy([logging('a'), deny])],
    outbound: [policy([logging('b')])],
  }
  const configuration = new TestConfiguration('ac_1').tcpEdge('edge', {
    ip_restriction: { enabled: true, ip_policy_ids: [] },
    policies,
  })
  const { decision, policy: decider, logs } = await verdictOn({ configuration })
  t.same([decision, decider, logs], ['block', null, []])
})

t.test('expressions without a result do not match and are reported', async (t) => {
  const cases = [
    {
      name: 'a conversion that fails',
      expression: 'double(conn.server_name) > 3',
      says: 'a text of 3 characters',
    },
    { name: 'a text that does not compile any more', expression: 'conn.gone == 1', says: 'conn.gone' },
    {
      name: 'the budget of the record',
      expression: "conn.server_name|matches('a.*b.*c')",
      steps: 1,
      says: 'steps',
    },
  ]
  for (const { name, expression, steps, says: part } of cases) {
    const inbound = [{ ...policy([deny], expression), name: 'broken' }, policy([logging('still here')])]
    const configuration = new TestConfiguration('ac_1').tcpEdge('edge', {
      policies: { enabled: true, inbound, outbound: [] },
    })
    const conn = { client_ip: '198.51.100.7', server_name: 'abc' }
    const verdict = await verdictOn({ configuration, conn, ...(steps === undefined ? {} : { steps }) })
    t.same([verdict.decision, says(verdict.logs)], ['allow', ['still here']], name)
    t.equal(verdict.failures.length, 1, name)
    const { policy: failed, msg } = verdict.failures[0]!
    t.same([failed.label, failed.ownerId], ['broken', 'edge'], name)
    t.ok(msg.includes(part), `${name}: ${msg}`)
  }
})

t.test('what failed is the expression that was reached', async (t) => {
  const broken = 'double(conn.server_name) > 3'
  const inbound = [
    policy([deny], 'conn.server_port == 23', broken),
    policy([deny], 'conn.server_port == 22', broken, 'conn.gone == 1'),
  ]
  const configuration = new TestConfiguration('ac_1').tcpEdge('edge', {
    policies: { enabled: true, inbound, outbound: [policy([logging('still here')])] },
  })
  const conn = { client_ip: '198.51.100.7', server_name: 'abc', server_port: 22 }
  const { decision, logs, failures } = await verdictOn({ configuration, conn })
  t.same([decision, says(logs)], ['allow', ['still here']])
  t.same(
    failures.map(({ policy: failed, expression }) => [failed.label, expression]),
    [['inbound[1]', broken]],
  )
})

t.test('geography is looked up once, when an expression asks', async (t) => {
  let lookups = 0
  const geo: GeoLookup = {
    lookup: (ip) => {
      lookups += 1
      t.equal(ip, '198.51.100.7')
      return { country_code: 'CH', latitude: 46.5 }
    },
  }
  const run = (...expressions: string[]) => {
    const inbound = [policy([deny], ...expressions)]
    return verdictOn({
      configuration: new TestConfiguration('ac_1').tcpEdge('edge', {
        policies: { enabled: true, inbound, outbound: [] },
      }),
      geo,
    })
  }
  t.equal((await run('conn.client_port == 1')).decision, 'allow')
  t.equal(lookups, 0, 'no lookup was made')
  t.equal(
    (await run("conn.geo.country_code == 'CH'", 'conn.Geo.Latitude >= "45.0"', 'conn.geo.city == null'))
      .decision,
    'deny',
  )
  t.equal(lookups, 1)
})
