/** Writes that lock an address out, by the rules, lists and restrictions that would hold after them. */
import t from 'tap'
import { Slices } from '../../../src/ground/core/slices.js'
import { packText } from '../../../src/ground/core/text/packed-text.js'
import { lockoutBy } from '../../../src/judging/evaluate/lockout.js'
import type { PlannedWrite } from '../../../src/judging/evaluate/planned-configuration.js'
import type { ConfigurationSource } from '../../../src/judging/evaluate/policy-source.js'
import { rulesOf } from './configuration.js'

const home = '198.51.100.7'
const nowMs = Date.parse('2026-11-20T10:00:00Z')
const tomorrow = '2026-11-21T10:00:00Z'

interface Given {
  readonly restrictions: readonly object[]
  readonly rules: Readonly<Record<string, readonly object[]>>
  /** Lines of the only part of the list `ipl_1`. */
  readonly listed?: string
}

const restriction = (more: object = {}) => ({
  id: 'ipx_1',
  type: 'api',
  enforced: true,
  ip_policy_ids: ['ipp_1'],
  ...more,
})
const list = (more: object = {}) => ({ id: 'ipl_1', name: 'office', chunks: ['iplc_1'], ...more })
const listRule = (action: 'allow' | 'deny', more: object = {}) => ({
  id: `ipr_list_${action}`,
  ip_policy_id: 'ipp_1',
  cidr: null,
  list_id: 'ipl_1',
  action,
  ...more,
})

const sourceOf = ({ restrictions, rules, listed = '' }: Given): ConfigurationSource => ({
  revision: 1,
  rowsOf: (kind: string) =>
    (kind === 'ip_restriction' ? restrictions : kind === 'ip_list' ? [list()] : []) as never,
  rules: (id) => rules[id] && { version: 1, rules: rules[id] as never },
  listText: (id) => (id === 'iplc_1' ? () => listed : undefined),
})

const locked = (
  given: Given,
  write: Partial<PlannedWrite>,
  types: readonly ('api' | 'dashboard')[] = ['api'],
) =>
  lockoutBy(
    { puts: [], removals: [], ...write },
    { present: sourceOf(given), types, address: home, nowMs, slices: new Slices() },
  )

const byRule: Given = { restrictions: [restriction()], rules: { ipp_1: rulesOf(['198.51.100.0/24']) } }
const byList: Given = {
  restrictions: [restriction()],
  rules: { ipp_1: [listRule('allow')] },
  listed: `198.51.100.0/24\n203.0.113.0/24\t\tguests`,
}
const replaced = (...texts: string[]) => ({ rules: { policyId: 'ipp_1', rules: rulesOf(texts) } })
const put = (kind: string, row: object) => ({ puts: [{ kind, row: row as never }] })
const removed = (kind: string, row: object) => ({ removals: [{ kind, row: row as never }] })

const cases: [name: string, given: Given, write: Partial<PlannedWrite>, want: string | undefined][] = [
  ['nothing', byRule, {}, undefined],
  ['the rule goes', byRule, replaced(), 'at once'],
  [
    'the rule is deleted',
    byRule,
    removed('ip_policy_rule', { id: 'ipr_0', ip_policy_id: 'ipp_1' }),
    'at once',
  ],
  ['a deny rule comes', byRule, replaced('198.51.100.0/24', '!198.51.100.7/32'), 'at once'],
  ['one that is not enforced', byRule, replaced('198.51.100.0/24', '~!198.51.100.7/32'), undefined],
  ['another rule comes', byRule, replaced('198.51.100.0/24', '203.0.113.0/24'), undefined],
  ['rules of a policy that is not named', byRule, { rules: { policyId: 'ipp_2', rules: [] } }, undefined],
  ['the policy is deleted', byRule, removed('ip_policy', { id: 'ipp_1' }), 'at once'],
  [
    'another policy is named',
    byRule,
    put('ip_restriction', restriction({ ip_policy_ids: ['ipp_2'] })),
    'at once',
  ],
  ['the restriction ends', byRule, put('ip_restriction', restriction({ enforced: false })), undefined],
  ['the restriction is deleted', byRule, removed('ip_restriction', restriction()), undefined],
  [
    'a restriction begins',
    { ...byRule, restrictions: [restriction({ enforced: false })], rules: {} },
    put('ip_restriction', restriction()),
    'at once',
  ],
  [
    'rules of a restriction that is not enforced',
    { ...byRule, restrictions: [restriction({ enforced: false })] },
    replaced(),
    undefined,
  ],
  [
    'a restriction of another way',
    { ...byRule, restrictions: [restriction({ type: 'dashboard' })] },
    replaced(),
    undefined,
  ],
  [
    'a rule is given an end',
    byRule,
    put('ip_policy_rule', {
      ...rulesOf(['198.51.100.0/24'])[0],
      ip_policy_id: 'ipp_1',
      expires_at: tomorrow,
    }),
    'expiry',
  ],
  [
    'who is let in for a while already goes on',
    { ...byRule, rules: { ipp_1: [{ ...rulesOf(['198.51.100.0/24'])[0], expires_at: tomorrow }] } },
    put('ip_policy_rule', { id: 'ipr_9', ip_policy_id: 'ipp_1', cidr: '203.0.113.0/24', action: 'allow' }),
    undefined,
  ],
  ['the rule with the list goes', byList, removed('ip_policy_rule', listRule('allow')), 'at once'],
  ['the list is made of an unknown part', byList, put('ip_list', list({ chunks: ['iplc_2'] })), 'at once'],
  ['the list is renamed', byList, put('ip_list', list({ name: 'home' })), undefined],
  [
    'a list denies',
    { ...byRule, listed: '198.51.100.0/28' },
    put('ip_policy_rule', listRule('deny')),
    'at once',
  ],
  [
    'an entry that ends lets in',
    { ...byList, listed: `198.51.100.0/24\t${Date.parse(tomorrow)}`, restrictions: [] },
    put('ip_restriction', restriction()),
    'expiry',
  ],
]

t.test('writes by which an address would be locked out', async (t) => {
  for (const [name, given, write, want] of cases) t.equal((await locked(given, write))?.when, want, name)
})

t.test('new entries of a list that a rule of the restriction names', async (t) => {
  const chunk = async (text: string) => ({ id: 'iplc_2', data: await packText(text) })
  const entries = async (text: string) => ({
    puts: [
      { kind: 'ip_list_chunk', row: (await chunk(text)) as never },
      { kind: 'ip_list', row: list({ chunks: ['iplc_2'] }) as never },
    ],
  })
  const when = async (text: string) => (await locked(byList, await entries(text)))?.when
  t.equal(await when('203.0.113.0/24'), 'at once')
  t.equal(await when('203.0.113.0/24\n198.51.100.7/32\t\tat home'), undefined)
  t.equal(await when(`198.51.100.7/32\t${Date.parse(tomorrow)}`), 'expiry')
  t.equal(await when(`198.51.100.7/32\t${nowMs}`), 'at once', 'an entry that has expired')
})

t.test('the first restriction that is enforced counts', async (t) => {
  const dashboard = restriction({ id: 'ipx_2', type: 'dashboard', ip_policy_ids: ['ipp_2'] })
  const given = { ...byRule, restrictions: [restriction(), dashboard] }
  const found = await locked(given, put('ip_restriction', dashboard), ['dashboard', 'api'])
  t.match(found, { when: 'at once', restriction: { id: 'ipx_2' } })
  t.equal(await locked(given, put('ip_restriction', dashboard), ['api']), undefined)
})
