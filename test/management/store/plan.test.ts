/** The consequences of a draft: its counts, its claims, and the change that carries it out. */
import t from 'tap'
import { resourceBytesMax } from '../../../src/ground/core/limits.js'
import type { Principal } from '../../../src/management/store/change/change.js'
import {
  changeOf,
  claimsOf,
  countRules,
  countsAfter,
  countsWith,
  type Draft,
  holds,
  isEmpty,
  releaseOf,
  splitRelease,
  unchanged,
} from '../../../src/management/store/change/plan.js'
import { accountId, policyRow, ruleRow, rulesIn, stateWith, tcpEdgeRow } from './states.js'

const principal: Principal = { source: 'API', credentialId: null }
const policy = policyRow('ipp_1')
const rules = [ruleRow('ipr_1', 'ipp_1'), ruleRow('ipr_2', 'ipp_1')]
const state = stateWith(policy, tcpEdgeRow('edgtcp_1', ['a.example.com:1']), rulesIn('ipp_1', '0', 0, rules))
const nothing: Draft<undefined> = unchanged(undefined)
const putOf = (kind: string, row: typeof policy, isNew: boolean) => ({ kind, row, isNew })
const removalOf = (kind: string, row: typeof policy) => ({ kind, row })

t.test('rows per kind after a draft', async (t) => {
  const before = { ip_policy: 1, tcp_edge: 1, ip_policy_rule: 2 }
  const cases: { name: string; draft: Partial<Draft<undefined>>; want: Record<string, number> }[] = [
    { name: 'an empty draft', draft: {}, want: before },
    {
      name: 'a new row counts',
      draft: { puts: [putOf('ip_policy', policyRow('ipp_2'), true)] },
      want: { ...before, ip_policy: 2 },
    },
    {
      name: 'the first row of a kind counts',
      draft: { puts: [putOf('api_key', policyRow('ak_1'), true)] },
      want: { ...before, api_key: 1 },
    },
    { name: 'a changed row does not', draft: { puts: [putOf('ip_policy', policy, false)] }, want: before },
    {
      name: 'a kind without rows is left out',
      draft: { removals: [removalOf('tcp_edge', tcpEdgeRow('edgtcp_1', []))] },
      want: { ip_policy: 1, ip_policy_rule: 2 },
    },
    {
      name: 'a deleted policy takes its rules with it',
      draft: { removals: [removalOf('ip_policy', policy)], emptiedPolicies: ['ipp_1'] },
      want: { tcp_edge: 1 },
    },
  ]
  for (const { name, draft, want } of cases)
    t.strictSame(countsAfter(state, accountId, { ...nothing, ...draft }), want, name)
})

t.test('rows per kind with some more of one kind', async (t) => {
  const others = { ip_policy: 1, tcp_edge: 1 }
  const cases = [
    { name: 'more', kind: 'ip_policy_rule', more: 3, want: { ...others, ip_policy_rule: 5 } },
    { name: 'fewer', kind: 'ip_policy_rule', more: -1, want: { ...others, ip_policy_rule: 1 } },
    { name: 'none left', kind: 'ip_policy_rule', more: -2, want: others },
    { name: 'the first', kind: 'domain', more: 1, want: { ...others, ip_policy_rule: 2, domain: 1 } },
  ]
  for (const { name, kind, more, want } of cases)
    t.strictSame(countsWith(state, accountId, kind, more), want, name)
  t.equal(countRules(state, 'ipp_1'), 2)
  t.equal(countRules(state, 'ipp_9'), 0, 'an unknown policy has no rules')
})

t.test('claims of rows', async (t) => {
  const [claim = ''] = claimsOf('tcp_edge', tcpEdgeRow('edgtcp_1', ['a.example.com:1']))
  t.match(claim, 'a.example.com:1')
  t.strictSame(claimsOf('tcp_edge', tcpEdgeRow('edgtcp_1', [])), [], 'an edge without a hostport')
  t.strictSame(claimsOf('ip_policy', policy), [], 'a kind that claims nothing')
  const cases = [
    { name: 'its holder', claim, id: 'edgtcp_1', want: true },
    { name: 'another claim', claim: `${claim}0`, id: 'edgtcp_1', want: false },
    { name: 'a resource of another kind', claim, id: 'ipp_1', want: false },
    { name: 'an unknown resource', claim, id: 'edgtcp_9', want: false },
  ]
  for (const { name, claim, id, want } of cases) t.equal(holds(state, claim, id), want, name)
})

t.test('a release names the resource and the whole claim', async (t) => {
  for (const claim of ['hostport.a.example.com:1', 'a claim with spaces', ''])
    t.strictSame(splitRelease(releaseOf('edgtcp_1', claim)), ['edgtcp_1', claim])
})

t.test('the change of a draft', async (t) => {
  const draft: Draft<undefined> = {
    puts: [putOf('ip_policy_rule', ruleRow('ipr_3', 'ipp_1', 8), true)],
    removals: [removalOf('ip_policy_rule', ruleRow('ipr_1', 'ipp_1'))],
    audits: [{ eventId: 'ev_1', resourceId: 'ipr_3', json: '{}' }],
    releases: ['ipr_1 some claim'],
    result: undefined,
  }
  const change = changeOf(accountId, 8, 1_000, principal, draft, state)
  t.match(change, { id: /^chg_/, at: 1_000, principal, puts: draft.puts, audits: draft.audits })
  t.strictSame(change.removals, [{ kind: 'ip_policy_rule', id: 'ipr_1', row: draft.removals[0]?.row }])
  t.strictSame(change.chunks, [
    { policyId: 'ipp_1', generation: '0', chunk: 0, put: ['ipr_3'], gone: ['ipr_1'] },
  ])
  t.strictSame(change.counts, { ip_policy: 1, tcp_edge: 1, ip_policy_rule: 2 })
  t.equal(change.stored, 8, 'it leaves rows in ClickHouse')
  t.strictSame(change.releases, draft.releases)
  t.ok(isEmpty(nothing))
  t.equal(changeOf(accountId, 8, 1_000, principal, nothing, state).stored, 7, 'an empty one leaves none')
  const large = { ...policy, description: 'x'.repeat(resourceBytesMax) }
  t.throws(
    () =>
      changeOf(
        accountId,
        8,
        1_000,
        principal,
        { ...nothing, puts: [putOf('ip_policy', large, true)] },
        state,
      ),
    { code: 'ERR_INVALID_REQUEST', message: /bytes as JSON/ },
    'a row that does not fit the bucket',
  )
})
