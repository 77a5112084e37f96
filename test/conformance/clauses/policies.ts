/** Who is let in: IP policies, restrictions, traffic policies and routes, asked by `POST /decide`. */
import type { Json } from '../answer.js'
import type { Chapter } from '../clause.js'
import { asked, client, decides, deny, guarded, log, policyOf, rulesOf, tcp } from '../questions.js'
import type { Visit } from '../visit.js'

/** Rules, an address, and what they decide about it. */
const table: readonly (readonly [readonly string[], string, string])[] = [
  [['allow 203.0.113.0/24'], client, 'allow'],
  [['allow 203.0.113.0/24'], '198.51.100.7', 'block'],
  [['allow 203.0.113.0/24', 'deny 203.0.113.7/32'], client, 'block'],
  [['allow 203.0.113.7/32', 'deny 203.0.113.0/24'], client, 'block'],
  [['deny 198.51.100.0/24'], client, 'block'],
  [[], client, 'block'],
  [['allow 203.0.113.0/24'], '::ffff:203.0.113.7', 'allow'],
  [['allow 2001:db8::/32'], '2001:db8::7', 'allow'],
  [['allow 0.0.0.0/0'], '2001:db8::7', 'block'],
]

/** What a draft decides, without a trace in the account: restrictions are the account's own. */
async function drafted(
  { ask }: Visit,
  restriction: object,
  rules: readonly string[],
  edge: object = {},
): Promise<Json> {
  const draft = {
    tcp_edges: [{ id: 'edge', hostports: ['drafted.example:22'], ...edge }],
    ip_policies: [{ id: 'policy', rules: rulesOf(rules) }],
    ip_restrictions: [{ id: 'restriction', type: 'endpoints', ip_policy_ids: ['policy'], ...restriction }],
  }
  const tests = [{ given: tcp('drafted.example'), expect: { decision: 'deny' } }]
  const answer = (await ask.post('/policy_tests/run', { draft, tests })).is(200)
  return answer.body.tests[0]
}

export const policies: Chapter = {
  title: 'Policies',
  clauses: [
    {
      number: 701,
      page: 'policies.md#ip-policies',
      says: 'An address is allowed if and only if an allow rule matches and no deny rule does.',
      needs: ['writes'],
      check: async (visit) => {
        const { policy, by } = await guarded(visit)
        for (const [rules, address, wanted] of table) {
          ;(await visit.ask.put(`/ip_policies/${policy.id}/rules`, { rules: rulesOf(rules) })).is(200)
          const answer = await decides(visit, by(address), wanted)
          answer.same(answer.body.ip_policy.decision, wanted, 'ip_policy.decision')
        }
      },
    },
    {
      number: 702,
      page: 'policies.md#ip-policies',
      says: 'The rules of all policies that a module names count together.',
      needs: ['writes'],
      check: async (visit) => {
        const { policy, edge, by } = await guarded(visit, 'allow 203.0.113.0/24')
        const other = await policyOf(visit, 'deny 203.0.113.7/32', 'allow 198.51.100.0/24')
        const ip_policy_ids = [policy.id, other.id]
        ;(await visit.ask.put(`/edges/tcp/${edge.id}/ip_restriction`, { ip_policy_ids })).is(200)
        await decides(visit, by(client), 'block')
        await decides(visit, by('198.51.100.7'), 'allow')
        await decides(visit, by('203.0.113.8'), 'allow')
      },
    },
    {
      number: 703,
      page: 'policies.md#ip-policies',
      says: 'A policy that is deleted while a module names it counts as one without rules, and its rules go with it.',
      needs: ['writes'],
      check: async (visit) => {
        const { policy, edge, by } = await guarded(visit, 'allow 203.0.113.0/24')
        await decides(visit, by(client), 'allow')
        ;(await visit.ask.delete(`/ip_policies/${policy.id}`)).is(204)
        await decides(visit, by(client), 'block')
        const shown = (await visit.ask.get(`/edges/tcp/${edge.id}`)).is(200)
        shown.same(shown.body.ip_restriction.ip_policies[0].id, policy.id, 'the reference that stays')
      },
    },
    {
      number: 704,
      page: 'policies.md#order-of-evaluation',
      says: 'A module that is not enabled does not apply: `ip_policy` has no value, and no policy runs.',
      needs: ['writes'],
      check: async (visit) => {
        const { policy, edge, by } = await guarded(visit, 'deny 203.0.113.0/24')
        await decides(visit, by(client), 'block')
        const module = { enabled: false, ip_policy_ids: [policy.id] }
        ;(await visit.ask.put(`/edges/tcp/${edge.id}/ip_restriction`, module)).is(200)
        const answer = await decides(visit, by(client), 'allow')
        answer.same(answer.body.ip_policy, null, 'ip_policy')
        const off = { enabled: false, inbound: [{ actions: [deny] }] }
        ;(await visit.ask.put(`/edges/tcp/${edge.id}/policies`, off)).is(200)
        await decides(visit, by(client), 'allow')
      },
    },
    {
      number: 705,
      page: 'policies.md#shadow',
      says: 'A rule that is not enforced decides nothing; the shadow says what would be decided if it were.',
      needs: ['writes'],
      check: async (visit) => {
        const { policy, by } = await guarded(visit, 'allow 203.0.113.0/24')
        const rule = { ip_policy_id: policy.id, cidr: '203.0.113.7/32', action: 'deny', enforced: false }
        const { id } = await visit.make('/ip_policy_rules', rule)
        await visit.within(2, 'a shadow decision "block" by the rule', async () => {
          const answer = await asked(visit, by(client))
          const { shadow } = answer.same(answer.body.decision, 'allow', 'decision').body.explanation
          return shadow?.decision === 'block' && shadow.decided_by.rule_id === id ? shadow : undefined
        })
      },
    },
    {
      number: 706,
      page: 'policies.md#ip-restrictions',
      says: 'An enforced restriction of endpoints blocks beside the edge; one that is not enforced only warns.',
      check: async (visit) => {
        const edge = { ip_restriction: { ip_policy_ids: ['policy'] } }
        const decisions = [
          (await drafted(visit, { enforced: true }, ['allow 198.51.100.0/24'])).decision,
          (await drafted(visit, { enforced: true }, ['allow 203.0.113.0/24'])).decision,
          (await drafted(visit, { enforced: false }, ['allow 198.51.100.0/24'])).decision,
          (await drafted(visit, { enforced: false }, ['allow 198.51.100.0/24'], edge)).decision,
        ]
        visit.ask.last!.same(decisions, ['block', 'allow', 'allow', 'block'], 'the decisions of four drafts')
      },
    },
    {
      number: 707,
      page: 'policies.md#ip-restrictions',
      says: 'A restriction names at least one policy and one of four types; a type that is there is refused.',
      check: async ({ ask }) => {
        const rehearse = (body: object) => ask.post('/ip_restrictions?validate_only=true', body)
        ;(await rehearse({ type: 'endpoints', ip_policy_ids: [] })).refused(
          400,
          'ERR_INVALID_REQUEST',
          '"ip_policy_ids"',
        )
        ;(await rehearse({ type: 'everything', ip_policy_ids: ['ipp_1'] })).refused(
          400,
          'ERR_INVALID_REQUEST',
          'endpoints',
        )
      },
    },
    {
      number: 708,
      page: 'policies.md#order-of-evaluation',
      says: 'A blocked connection runs no traffic policy; a deny ends the evaluation, and the answer names its policy.',
      needs: ['writes'],
      check: async (visit) => {
        const { edge, by } = await guarded(visit, 'allow 203.0.113.0/24')
        const named = (name: string, expression: string, action: object) => ({
          name,
          expressions: [expression],
          actions: [action],
        })
        const inbound = [
          named('seen', 'conn.client_port > 0', log({ a: 'b' })),
          named('no odd port', 'conn.client_port % 2 == 0', deny),
          named('never', 'conn.client_port > 0', log({ a: 'c' })),
        ]
        ;(await visit.ask.put(`/edges/tcp/${edge.id}/policies`, { inbound })).is(200)
        const denied = await decides(visit, by(client), 'deny')
        denied.same(denied.body.policy, 'no odd port', 'policy')
        const { policies, policies_not_reached } = denied.body.explanation
        denied.same(
          policies.map((each: Json) => [each.policy, each.applied]),
          [
            ['seen', true],
            ['no odd port', true],
          ],
          'policies',
        )
        denied.same(policies_not_reached.length, 1, 'the number of policies that were not reached')
        const blocked = await decides(visit, by('198.51.100.7'), 'block')
        blocked.same(blocked.body.explanation.policies, [], 'policies')
      },
    },
    {
      number: 711,
      page: 'proxies.md#names-that-no-edge-serves',
      says: 'A question about a name that no edge of the account serves is denied, unless it says `unserved=allow`.',
      check: async (visit) => {
        const question = tcp(visit.host('nowhere'))
        const answer = await asked(visit, question)
        answer.same([answer.body.decision, answer.body.served], ['deny', false], 'decision and served')
        answer.same(answer.body.explanation.decided_by.type, 'unserved', 'decided_by.type')
        const allowed = await asked(visit, question, '?unserved=allow')
        allowed.must(allowed.body.decision !== 'deny', 'no deny').same(allowed.body.served, false, 'served')
      },
    },
    {
      number: 712,
      page: 'api.md#why-was-it-blocked',
      says: 'The explanation names the rule that decided, which rules matched, and who added it; `explain: false` leaves it out.',
      needs: ['writes'],
      check: async (visit) => {
        const { policy, edge, by } = await guarded(visit, 'allow 203.0.113.0/24', 'deny 203.0.113.7/32')
        const answer = await decides(visit, by(client), 'block')
        const { ip_policies, decided_by } = answer.body.explanation
        const rules = ip_policies[0].rules as Json[]
        const denying = rules.find(({ action }) => action === 'deny')
        answer
          .same(
            rules.map(({ matches }) => matches),
            [true, true],
            'matches',
          )
          .same(denying.won, true, 'won')
        answer.same(
          [decided_by.type, decided_by.id, decided_by.ip_policy_id],
          ['ip_restriction', edge.id, policy.id],
          'decided_by',
        )
        answer.same([decided_by.rule_id, decided_by.cidr], [denying.rule_id, '203.0.113.7/32'], 'the rule')
        answer.must(/^ak_/.test(decided_by.added?.by), 'who added the rule')
        const bare = await asked(visit, { ...by(client), explain: false })
        bare.must(!('explanation' in bare.body), 'no explanation')
      },
    },
  ],
}
