/** Which writes are committed together, and with which state each is planned. */
import t from 'tap'
import type { Principal } from '../../../src/management/store/change/change.js'
import { changeOf, type Draft, unchanged } from '../../../src/management/store/change/plan.js'
import { WriteGroup } from '../../../src/management/store/write-group.js'
import { accountId, policyRow, ruleRow, rulesIn, stateWith, tcpEdgeRow } from './states.js'

const principal: Principal = { source: 'API', credentialId: null }
const bytesMax = 10_000
const present = [policyRow('ipp_1'), tcpEdgeRow('edgtcp_1', [])]
const base = stateWith(...present, rulesIn('ipp_1', '0', 0, [ruleRow('ipr_1', 'ipp_1')]))

type Parts = Partial<Draft<undefined>>
const claimOf = (claim: string, id: string) => ({
  claim,
  id,
  taken: () => new Error('taken'),
  overlaps: () => new Error('overlaps'),
})
const policyPut = (id: string, isNew = true): Parts => ({
  puts: [{ kind: 'ip_policy', row: policyRow(id), isNew }],
})
const edgePut = (id: string, claim: string): Parts => ({
  puts: [{ kind: 'tcp_edge', row: tcpEdgeRow(id, [claim]), isNew: true }],
  claims: [claimOf(claim, id)],
})
const edgeRemoval: Parts = { removals: [{ kind: 'tcp_edge', row: tcpEdgeRow('edgtcp_1', []) }] }
const policyRemoval: Parts = { removals: [{ kind: 'ip_policy', row: policyRow('ipp_1') }] }
const rulePut: Parts = { puts: [{ kind: 'ip_policy_rule', row: ruleRow('ipr_2', 'ipp_1'), isNew: true }] }

const newGroup = (): WriteGroup => new WriteGroup(accountId, 8, base, bytesMax)

function joined(group: WriteGroup, parts: Parts): boolean {
  const draft = { ...unchanged(undefined), ...parts }
  const change = changeOf(accountId, group.nextVersion, 1_000, principal, draft, group.state)
  if (group.isFull || !group.takes(draft, change)) return false
  group.add(draft, change)
  return true
}

t.test('which write may follow another', async (t) => {
  const large = { ...policyRow('ipp_2'), description: 'x'.repeat(bytesMax) }
  const cases: { name: string; first: Parts; second: Parts; want: boolean }[] = [
    { name: 'another resource', first: policyPut('ipp_2'), second: policyPut('ipp_3'), want: true },
    { name: 'another kind', first: policyPut('ipp_2'), second: edgePut('edgtcp_2', 'a:1'), want: true },
    {
      name: 'the same resource',
      first: policyPut('ipp_1', false),
      second: policyPut('ipp_1', false),
      want: false,
    },
    { name: 'a deletion of another one', first: policyPut('ipp_2'), second: edgeRemoval, want: true },
    {
      name: 'a deletion of the same one',
      first: policyPut('ipp_1', false),
      second: policyRemoval,
      want: false,
    },
    {
      name: 'another name: no group asks for one while it holds one',
      first: edgePut('edgtcp_2', 'a:1'),
      second: edgePut('edgtcp_3', 'a:2'),
      want: false,
    },
    {
      name: 'the same name',
      first: edgePut('edgtcp_2', 'a:1'),
      second: edgePut('edgtcp_3', 'a:1'),
      want: false,
    },
    {
      name: 'a name that the first one releases',
      first: { ...edgeRemoval, releases: ['edgtcp_1 a:1'] },
      second: edgePut('edgtcp_2', 'a:1'),
      want: false,
    },
    { name: 'rules come last', first: policyPut('ipp_2'), second: rulePut, want: true },
    { name: 'nothing follows rules', first: rulePut, second: policyPut('ipp_2'), want: false },
    {
      name: 'nothing follows a policy with its rules',
      first: policyRemoval,
      second: policyPut('ipp_2'),
      want: false,
    },
    {
      name: 'a change that leaves no room',
      first: { puts: [{ kind: 'ip_policy', row: large, isNew: true }] },
      second: policyPut('ipp_3'),
      want: false,
    },
  ]
  for (const { name, first, second, want } of cases) {
    const group = newGroup()
    t.ok(joined(group, first), `${name}: the first always fits`)
    t.equal(joined(group, second), want, name)
  }
})

t.test('a write is planned with the state that those before it leave', async (t) => {
  const group = newGroup()
  t.equal(group.state, base, 'the first with the present one')
  joined(group, policyPut('ipp_2'))
  joined(group, edgeRemoval)
  const { state } = group
  t.equal(group.nextVersion, 10)
  t.equal(state.versionOf(accountId), 9)
  t.strictSame([...state.rows.get('ip_policy')!.keys()], ['ipp_1', 'ipp_2'])
  t.strictSame([...state.ids(accountId, 'ip_policy').below()], ['ipp_2', 'ipp_1'])
  t.strictSame([...state.ids(accountId, 'tcp_edge').below()], [])
  t.strictSame(state.countsOf(accountId), { ip_policy: 2, ip_policy_rule: 1 })
  t.equal(state.chunkOf('ipr_1'), 0, 'rules are those of the present state')
  t.equal([...state.rules('ipp_1')!.rules].length, 1)
  t.strictSame(
    base.countsOf(accountId),
    { ip_policy: 1, tcp_edge: 1, ip_policy_rule: 1 },
    'which stays as it is',
  )
  t.ok(base.rows.get('tcp_edge')!.has('edgtcp_1'))
})

t.test('a group ends after 64 changes', async (t) => {
  const group = new WriteGroup(accountId, 8, base, 1_000_000)
  const fitted = Array.from({ length: 70 }, (_, n) => joined(group, policyPut(`ipp_1${n}`)))
  t.equal(fitted.filter(Boolean).length, 64)
})
