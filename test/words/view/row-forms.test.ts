/** Rows of the configuration whose members have other types than their kind declares are damaged; older rows are not. */
import t from 'tap'
import type { Row } from '../../../src/words/resource/kind/define.js'
import { isRowOf } from '../../../src/words/view/row-forms.js'

const row = (id: string, members: object): Row => ({
  id,
  account_id: 'ac_1',
  version: 3,
  created_at: 0,
  ...members,
})

const rule = { cidr: '192.0.2.0/24', list_id: null, action: 'deny', ip_policy_id: 'ipp_1', expires_at: null }
const destination = {
  format: 'json',
  target: { http: { url: 'https://example.com' }, kinesis: null },
  paused: null,
}
const edge = { hostports: ['a.example:22'], policies: { enabled: true, inbound: [], outbound: null } }

const cases: readonly [name: string, kind: string, members: object, want: boolean][] = [
  ['a rule', 'ip_policy_rule', rule, true],
  ['one that is older than a field', 'ip_policy_rule', { ...rule, list_id: undefined }, true],
  ['one with a member of a later version', 'ip_policy_rule', { ...rule, later: { any: 1 } }, true],
  ['a number for a text', 'ip_policy_rule', { ...rule, cidr: 17 }, false],
  ['without what it must have', 'ip_policy_rule', { ...rule, action: undefined }, false],
  ['a version that is a text', 'ip_policy_rule', { ...rule, version: '3' }, false],
  ['a destination', 'event_destination', destination, true],
  ['a number for its format', 'event_destination', { ...destination, format: 99 }, false],
  ['a list for its target', 'event_destination', { ...destination, target: [null] }, false],
  ['a number in its target', 'event_destination', { ...destination, target: { http: 5 } }, false],
  ['without a target', 'event_destination', { ...destination, target: undefined }, false],
  ['an edge', 'tcp_edge', edge, true],
  ['an edge without modules', 'tcp_edge', { ...edge, policies: null }, true],
  ['one text for a list of texts', 'tcp_edge', { ...edge, hostports: 'a.example:22' }, false],
  [
    'a text for a flag of a module',
    'tcp_edge',
    { ...edge, policies: { ...edge.policies, enabled: 'yes' } },
    false,
  ],
  ['a number among policies', 'tcp_edge', { ...edge, policies: { ...edge.policies, inbound: [5] } }, false],
  ['a kind of a later version', 'later_kind', { any: 1 }, true],
  ['a kind of a later version without a head', 'later_kind', { id: 5 }, false],
]

for (const [name, kind, members, want] of cases) t.equal(isRowOf(kind, row('x_1', members)), want, name)
t.notOk(isRowOf('tcp_edge', [null]), 'a list')
