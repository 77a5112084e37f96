/** Challengers, compiled: what is taken over from one view to the next, and drafted rules that expire. */
import t from 'tap'
import { PolicyContext } from '../../../src/delivery/record/policy-context.js'
import type { TrafficRecord } from '../../../src/delivery/record/traffic-record.js'
import { Slices } from '../../../src/ground/core/slices.js'
import { StepBudget } from '../../../src/ground/expr/run.js'
import type { Challengers } from '../../../src/judging/evaluate/challenger.js'
import { buildChallengers } from '../../../src/judging/evaluate/challenger-build.js'
import { decideRecord } from '../../../src/judging/evaluate/decide.js'
import { evaluate } from '../../../src/judging/evaluate/evaluate.js'
import { Judgement } from '../../../src/judging/evaluate/judgement.js'
import { buildPolicySet, type PolicySet } from '../../../src/judging/evaluate/policy-set.js'
import { noGeo, noYield, TestConfiguration } from './configuration.js'

const startMs = Date.parse('2026-11-20T10:00:00Z')
const timeAfter = (seconds: number) => `${new Date(startMs + 1000 * seconds).toISOString().slice(0, 19)}Z`

const rule = (id: string, cidr: string, action: string, expires_at: string | null = null) => ({
  id,
  cidr,
  list_id: null,
  action,
  description: null,
  metadata: null,
  expires_at,
  enforced: true,
})

const nothing = { edges: [], routes: [], ip_policies: [], ip_restrictions: [] }

class Built {
  readonly configuration = new TestConfiguration('ac_1')
    .ipPolicy('ipp_1', '0.0.0.0/0')
    .tcpEdge('edgtcp_1', { ip_restriction: { enabled: true, ip_policy_ids: ['ipp_1'] } })
  policySet: PolicySet | undefined
  challengers: Challengers | undefined

  constructor(draft: object, based_on: readonly object[] = []) {
    this.configuration.challenger('chl_1', {
      created_at: startMs,
      ends_at: timeAfter(3600),
      draft: { ...nothing, ...draft },
      based_on,
    })
  }

  async after(seconds: number) {
    const nowMs = startMs + 1000 * seconds
    this.policySet = await buildPolicySet(this.configuration, this.policySet, noYield, nowMs)
    const slices = new Slices({ letOthers: noYield })
    this.challengers = await buildChallengers(
      this.configuration,
      this.policySet,
      this.challengers,
      slices,
      nowMs,
    )
    return this.challengers
  }

  /** The draft's decision about a connection. */
  decision(client_ip = '203.0.113.9') {
    const policySet = this.policySet!
    const record: TrafficRecord = {
      record_id: 'r',
      type: 'tcp_connection',
      edge_id: 'edgtcp_1',
      conn: { client_ip },
    }
    const found = policySet.findEdge(record)
    if (!found.ok) throw new Error(found.problem.msg)
    const context = new PolicyContext(record, 'edgtcp_1', noGeo)
    const verdict = evaluate(policySet, found.value, context, new StepBudget(), 'closed')
    const judgement = new Judgement(record, found.value, context, verdict, policySet)
    return judgement.by(this.challengers!.find('ac_1', startMs + 1000)!).decision
  }
}

t.test('parts of a draft are compiled again only if what they are drafted from has changed', async (t) => {
  const built = new Built({
    edges: [{ id: 'edgtcp_1', policies: { enabled: true, inbound: [], outbound: [] } }],
    ip_policies: [{ id: 'ipp_1', add: [rule('ipr_9', '192.0.2.0/24', 'deny')], change: [], remove: [] }],
  })
  const partsOf = ({ parts }: Challengers) => ({
    policy: parts?.ipPolicies.get('chl_1 ipp_1'),
    edge: parts?.endpoints.get('chl_1 edgtcp_1'),
  })
  const first = partsOf(await built.after(0))
  t.equal(built.decision('192.0.2.1'), 'block')
  t.equal(built.decision(), 'allow')
  const again = partsOf(await built.after(1))
  t.ok(first.policy !== undefined && again.policy === first.policy)
  t.ok(first.edge !== undefined && again.edge === first.edge)
  built.configuration.ipPolicy('ipp_1', '198.51.100.0/24')
  const changed = partsOf(await built.after(2))
  t.not(changed.policy, first.policy)
  t.equal(changed.edge, first.edge)
  t.equal(built.decision(), 'block', 'the draft is over what is there now')
})

t.test('a drafted rule that expires is without effect from then on', async (t) => {
  const built = new Built({
    ip_policies: [
      { id: 'ipp_1', add: [rule('ipr_9', '203.0.113.0/24', 'deny', timeAfter(3))], change: [], remove: [] },
    ],
  })
  t.equal((await built.after(0)).expiresMs, startMs + 3_000)
  t.equal(built.decision(), 'block')
  t.equal((await built.after(3)).expiresMs, Number.POSITIVE_INFINITY)
  t.equal(built.decision(), 'allow')
})

t.test('a drafted restriction of another type than endpoints decides nothing', async (t) => {
  const drafted = { ip_restrictions: [{ id: 'ipx_1', enforced: true, ip_policy_ids: ['ipp_none'] }] }
  for (const [type, decision] of [
    ['endpoints', 'block'],
    ['dashboard', 'allow'],
  ] as const) {
    const built = new Built(drafted, [{ kind: 'ip_restriction', id: 'ipx_1', version: 1 }])
    built.configuration.restriction('ipx_1', { type, enforced: false, ip_policy_ids: ['ipp_1'] })
    await built.after(0)
    t.equal(built.decision(), decision, type)
  }
})

t.test('a challenger that ended a day ago is not compiled any more', async (t) => {
  const built = new Built({
    edges: [{ id: 'edgtcp_1', policies: { enabled: true, inbound: [], outbound: [] } }],
  })
  const day = 24 * 3600
  t.ok((await built.after(3600 + day - 1)).find('ac_1', startMs + 1000))
  t.equal((await built.after(3600 + day)).find('ac_1', startMs + 1000), undefined)
})

t.test('a draft lets no name in that no edge serves', async (t) => {
  const built = new Built({ edges: [], ip_policies: [] })
  await built.after(0)
  const record: TrafficRecord = {
    record_id: 'r',
    type: 'tcp_connection',
    account_id: 'ac_1',
    conn: { client_ip: '203.0.113.9', server_name: 'other.example.com', server_port: 22 },
  }
  for (const unserved of ['deny', 'allow'] as const) {
    const decided = decideRecord(built.policySet!, noGeo, { record, explain: false }, 'ac_1', { unserved })
    if (!decided.ok) throw new Error(decided.problem.msg)
    const { judgement } = decided.value
    t.equal(judgement.decision, unserved)
    const drafted = judgement.by(built.challengers!.find('ac_1', startMs + 1000)!)
    t.equal(drafted.decision, unserved)
    t.strictSame(drafted.decidedBy, judgement.decidedBy)
  }
})
