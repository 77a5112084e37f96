/** Rules and policies that are not enforced: they decide nothing, and the shadow says what they would decide. */
import fc from 'fast-check'
import t from 'tap'
import { PolicyContext } from '../../../src/delivery/record/policy-context.js'
import type { RequestRecord } from '../../../src/delivery/record/traffic-record.js'
import { StepBudget } from '../../../src/ground/expr/run.js'
import { decideRecord } from '../../../src/judging/evaluate/decide.js'
import { evaluate } from '../../../src/judging/evaluate/evaluate.js'
import { Judgement } from '../../../src/judging/evaluate/judgement.js'
import { buildPolicySet } from '../../../src/judging/evaluate/policy-set.js'
import type { PolicyRow } from '../../../src/judging/evaluate/policy-source.js'
import { deny, log, noGeo, noYield, TestConfiguration } from './configuration.js'

interface Given {
  /** The rules of the edge's route; undefined: it has no module. */
  readonly rules?: readonly string[] | undefined
  readonly restriction?: { readonly enforced: boolean; readonly rules: readonly string[] } | undefined
  /** The policies of the edge. */
  readonly inbound?: readonly PolicyRow[]
  readonly ofRoute?: readonly PolicyRow[]
  readonly outbound?: readonly PolicyRow[]
}

const record: RequestRecord = {
  record_id: 'r',
  type: 'http_request',
  edge_id: 'edghts_1',
  route_id: 'edghtsrt_1',
  conn: { client_ip: '198.51.100.7', client_port: 5000 },
}

function configurationOf({ rules, restriction, inbound = [], ofRoute = [], outbound = [] }: Given) {
  const configuration = new TestConfiguration('ac_1')
  const rows = (given: readonly PolicyRow[]) => [...given]
  if (rules !== undefined) configuration.ipPolicy('ipp_1', ...rules)
  if (restriction !== undefined)
    configuration
      .ipPolicy('ipp_2', ...restriction.rules)
      .restriction('ipx_1', { enforced: restriction.enforced, ip_policy_ids: ['ipp_2'] })
  return configuration
    .httpsEdge('edghts_1', [], 'ac_1', {
      enabled: true,
      inbound: rows(inbound),
      outbound: rows(outbound),
    })
    .route('edghtsrt_1', {
      edge_id: 'edghts_1',
      match_type: 'path_prefix',
      match: '/',
      ip_restriction: rules === undefined ? null : { enabled: true, ip_policy_ids: ['ipp_1'] },
      policies: { enabled: true, inbound: rows(ofRoute), outbound: [] },
    })
}

async function judged(given: Given) {
  const policySet = await buildPolicySet(configurationOf(given), undefined, noYield)
  const found = policySet.findEdge(record)
  if (!found.ok) throw new Error(found.problem.msg)
  const context = new PolicyContext(record, 'edghts_1', noGeo)
  const budget = new StepBudget()
  const verdict = evaluate(policySet, found.value, context, budget, 'closed')
  const judgement = new Judgement(record, found.value, context, verdict, policySet)
  const explained = decideRecord(policySet, noGeo, { record, explain: true })
  if (!explained.ok) throw new Error(explained.problem.msg)
  return { judgement, verdict, explanation: explained.value.answer.explanation! }
}

const policy = (name: string, expression: string, ...actions: PolicyRow['actions']): PolicyRow => ({
  name,
  expressions: expression === '' ? [] : [expression],
  actions,
})
const unenforced = (row: PolicyRow): PolicyRow => ({ ...row, enforced: false })

const denial = policy('no 5000', 'conn.client_port == 5000', deny)

t.test('the live decision and its shadow', async (t) => {
  const cases: readonly {
    readonly name: string
    readonly given: Given
    readonly live: string
    readonly shadow: object | null
    readonly reason?: RegExp
  }[] = [
    {
      name: 'everything is enforced',
      given: { rules: ['0.0.0.0/0'], inbound: [denial] },
      live: 'deny',
      shadow: null,
    },
    {
      name: 'a traffic policy of the edge',
      given: { inbound: [unenforced(denial)] },
      live: 'allow',
      shadow: { decision: 'deny', decidedBy: { type: 'traffic_policy', id: 'edghts_1', name: 'no 5000' } },
      reason: /would be denied by the traffic policy "no 5000" of edghts_1\.$/,
    },
    {
      name: 'a traffic policy of the route',
      given: { ofRoute: [unenforced(denial)] },
      live: 'allow',
      shadow: { decision: 'deny', decidedBy: { type: 'traffic_policy', id: 'edghtsrt_1' } },
    },
    {
      name: 'a traffic policy that does not apply',
      given: { inbound: [unenforced(policy('other', 'conn.client_port == 1', deny))] },
      live: 'allow',
      shadow: { decision: 'allow', decidedBy: { type: 'none' } },
      reason: /the decision would be the same\.$/,
    },
    {
      name: 'a traffic policy before the one that denies',
      given: { inbound: [unenforced({ ...denial, name: 'first' }), denial] },
      live: 'deny',
      shadow: { decision: 'deny', decidedBy: { name: 'first' } },
      reason: /would be denied by the traffic policy "first"/,
    },
    {
      name: 'a deny rule',
      given: { rules: ['0.0.0.0/0', '~!198.51.100.0/24'] },
      live: 'allow',
      shadow: {
        decision: 'block',
        decidedBy: { type: 'ip_restriction', id: 'edghtsrt_1', ruleId: 'ipr_1', cidr: '198.51.100.0/24' },
      },
      reason: /blocked by the deny rule ipr_1 \(198\.51\.100\.0\/24\) of the ip_restriction of edghtsrt_1\.$/,
    },
    {
      name: 'an allow rule that lets in who is blocked, and then a traffic policy denies',
      given: { rules: ['~0.0.0.0/0'], inbound: [denial] },
      live: 'block',
      shadow: { decision: 'deny', decidedBy: { type: 'traffic_policy', name: 'no 5000' } },
    },
    {
      name: 'an allow rule that lets in who is blocked',
      given: { rules: ['~0.0.0.0/0'] },
      live: 'block',
      shadow: { decision: 'allow', decidedBy: { type: 'none' } },
      reason: /it would be allowed\.$/,
    },
    {
      name: 'a restriction of the account',
      given: { rules: ['0.0.0.0/0'], restriction: { enforced: false, rules: ['10.0.0.0/8'] } },
      live: 'allow',
      shadow: { decision: 'block', decidedBy: { type: 'restriction', id: 'ipx_1', ruleId: null } },
      reason: /blocked by the restriction ipx_1: no allow rule contains the address\.$/,
    },
    {
      name: 'a rule of an enforced restriction',
      given: { restriction: { enforced: true, rules: ['0.0.0.0/0', '~!198.51.100.7/32'] } },
      live: 'allow',
      shadow: { decision: 'block', decidedBy: { type: 'restriction', id: 'ipx_1', ruleId: 'ipr_1' } },
    },
  ]
  for (const { name, given, live, shadow, reason } of cases) {
    const { judgement, explanation } = await judged(given)
    t.equal(judgement.decision, live, name)
    if (shadow === null) {
      t.equal(judgement.shadow, null, name)
      t.equal(explanation.shadow, null, name)
      continue
    }
    t.match(judgement.shadow, shadow, name)
    t.equal(explanation.shadow?.decision, judgement.shadow?.decision, name)
    if (reason !== undefined) t.match(explanation.shadow?.reason, reason, name)
  }
})

t.test('other accounts and endpoints have no shadow', async (t) => {
  const configuration = configurationOf({ inbound: [unenforced(denial)] })
    .tcpEdge('edgtcp_1', {})
    .tcpEdge('edgtcp_2', { account_id: 'ac_2' })
  const policySet = await buildPolicySet(configuration, undefined, noYield)
  t.equal(policySet.hasShadow('ac_1'), true)
  t.equal(policySet.hasShadow('ac_2'), false)
  t.equal(policySet.hasShadow(undefined), false)
  for (const edge_id of ['edgtcp_1', 'edgtcp_2']) {
    const asked = {
      record_id: 'r',
      type: 'tcp_connection',
      edge_id,
      conn: { client_ip: '10.0.0.1' },
    } as const
    const decided = decideRecord(policySet, noGeo, { record: asked, explain: false })
    t.equal(decided.ok && decided.value.judgement.shadow, null, edge_id)
  }
  configuration.httpsEdge('edghts_1', [], 'ac_1', { enabled: true, inbound: [denial], outbound: [] })
  const again = await buildPolicySet(configuration, policySet, noYield)
  t.equal(again.hasShadow('ac_1'), false, 'once it is enforced')
})

t.test('policies that are not enforced make no events, warnings or steps', async (t) => {
  const costly = policy('costly', "conn.server_name.matches('(a|b)*c')", log({}))
  const failing = policy('failing', "int(conn.server_name + 'x') == 1", deny)
  const logging = policy('logging', '', log({ is: 'here' }))
  const { judgement, verdict } = await judged({
    inbound: [costly, failing, logging].map(unenforced),
    outbound: [unenforced(logging)],
  })
  t.same(verdict.logs, [])
  t.same(verdict.failures, [])
  t.same(judgement.warnings, [])
  t.match(judgement.shadow, { decision: 'allow' })
  t.same(judgement.warnings, [], 'also after the shadow was made')
})

t.test('an explanation has what is not enforced in its place', async (t) => {
  const { explanation } = await judged({
    rules: ['0.0.0.0/0', '~!198.51.100.0/24'],
    inbound: [
      policy('', 'conn.client_port == 1', deny),
      unenforced(policy('', '', deny)),
      { ...denial, name: '' },
    ],
    outbound: [unenforced(policy('', '', log({})))],
  })
  t.match(explanation.ip_policies, [
    {
      decision: 'allow',
      reason: 'The allow rule ipr_0 contains the address, and no enforced deny rule does.',
      rules: [
        { rule_id: 'ipr_0', enforced: true, won: true },
        { rule_id: 'ipr_1', enforced: false, matches: true, won: false, reason: /it is not enforced/ },
      ],
    },
  ])
  t.match(explanation.policies, [
    { policy: 'inbound[0]', enforced: true, applied: false },
    { policy: 'inbound[2]', enforced: true, applied: true },
  ])
  t.match(explanation.policies_not_reached, [
    {
      policy: 'inbound[1]',
      enforced: false,
      reason: /not enforced, and the address would be blocked before/,
    },
    { policy: 'outbound[0]', enforced: false, reason: /outbound policies decide nothing/ },
  ])
  t.match(explanation.decided_by, { type: 'traffic_policy', name: 'inbound[2]' })
  const reached = await judged({
    inbound: [unenforced(policy('first', '', deny)), unenforced(policy('later', '', deny)), denial],
  })
  t.match(reached.explanation.policies, [
    {
      policy: 'first',
      enforced: false,
      applied: false,
      reason: 'It is not enforced. It has no expressions, so it would deny.',
    },
    { policy: 'no 5000', enforced: true, applied: true },
  ])
  t.match(reached.explanation.policies_not_reached, [
    { policy: 'later', enforced: false, reason: /"first" would deny before/ },
  ])
})

const ranges = ['0.0.0.0/0', '198.51.100.0/24', '198.51.100.7/32', '10.0.0.0/8']
const anyRule = fc
  .tuple(fc.constantFrom('', '~'), fc.constantFrom('', '!'), fc.constantFrom(...ranges))
  .map((parts) => parts.join(''))
const anyRules = fc.uniqueArray(anyRule, { maxLength: 4, selector: (text) => text.replace(/^~?!?/, '') })
const anyPolicy = (outbound: boolean) =>
  fc
    .record({
      name: fc.constantFrom('', 'a', 'b'),
      expression: fc.constantFrom('', 'conn.client_port == 5000', 'conn.client_port == 1', "int('x') == 1"),
      actions: outbound ? fc.constant([log({})]) : fc.constantFrom([deny], [log({})], [log({}), deny]),
      enforced: fc.boolean(),
    })
    .map(({ name, expression, actions, enforced }) => ({
      ...policy(name, expression, ...actions),
      ...(enforced ? {} : { enforced: false as const }),
    }))
const anyGiven = fc.record({
  rules: fc.option(anyRules, { nil: undefined }),
  restriction: fc.option(fc.record({ enforced: fc.boolean(), rules: anyRules }), { nil: undefined }),
  inbound: fc.array(anyPolicy(false), { maxLength: 4 }),
  ofRoute: fc.array(anyPolicy(false), { maxLength: 3 }),
  outbound: fc.array(anyPolicy(true), { maxLength: 2 }),
})

const isLive = ({ enforced }: PolicyRow): boolean => enforced !== false

/** The same without what is not enforced. */
const withoutUnenforced = ({ rules, restriction, inbound, ofRoute, outbound }: Required<Given>): Given => {
  const live = (texts: readonly string[]) => texts.filter((text) => !text.startsWith('~'))
  return {
    rules: rules && live(rules),
    restriction: restriction?.enforced ? { ...restriction, rules: live(restriction.rules) } : undefined,
    inbound: inbound.filter(isLive),
    ofRoute: ofRoute.filter(isLive),
    outbound: outbound.filter(isLive),
  }
}

const whollyEnforced = ({ rules, restriction, inbound, ofRoute, outbound }: Required<Given>): Given => {
  const enforced = (texts: readonly string[]) => texts.map((text) => text.replace('~', ''))
  const whole = (rows: readonly PolicyRow[]) => rows.map(({ enforced: _, ...row }) => row)
  return {
    rules: rules && enforced(rules),
    restriction: restriction && { enforced: true, rules: enforced(restriction.rules) },
    inbound: whole(inbound),
    ofRoute: whole(ofRoute),
    outbound: whole(outbound),
  }
}

t.test(
  'any configuration decides as without what is not enforced, and its shadow as if all were',
  async (t) => {
    await fc.assert(
      fc.asyncProperty(anyGiven, async (generated) => {
        const given = generated as Required<Given>
        const [{ judgement, verdict, explanation }, without, whole] = await Promise.all([
          judged(given),
          judged(withoutUnenforced(given)),
          judged(whollyEnforced(given)),
        ])
        const { decision, ipPolicy, logs, failures } = without.verdict
        const shown = (each: typeof failures) => each.map(({ expression, msg }) => `${expression} ${msg}`)
        const isSame =
          verdict.decision === decision &&
          JSON.stringify(verdict.ipPolicy) === JSON.stringify(ipPolicy) &&
          verdict.logs.length === logs.length &&
          JSON.stringify(shown(verdict.failures)) === JSON.stringify(shown(failures))
        const { shadow } = judgement
        const hasUnenforced = JSON.stringify(given).match(/~|"enforced":false/) !== null
        const isShadowed =
          shadow === null
            ? !hasUnenforced && decision === whole.judgement.decision
            : hasUnenforced &&
              shadow.decision === whole.judgement.decision &&
              shadow.decidedBy.type === whole.judgement.decidedBy.type &&
              shadow.decidedBy.id === whole.judgement.decidedBy.id &&
              shadow.decidedBy.cidr === whole.judgement.decidedBy.cidr &&
              shadow.decidedBy.name === whole.judgement.decidedBy.name
        return isSame && isShadowed && (explanation.shadow === null) === (shadow === null)
      }),
      { numRuns: 500 },
    )
    t.pass()
  },
)
