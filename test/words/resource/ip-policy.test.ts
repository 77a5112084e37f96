/** Rules of IP policies: one spelling per range, and each range once in a policy. */
import t from 'tap'
import { compileCheck } from '../../../src/ground/core/schema-check.js'
import { ipPolicyRule } from '../../../src/words/resource/ip-policy.js'
import { lookupsIn, refusalOf } from './lookups.js'

t.test('ranges, in one spelling for all that mean the same', async (t) => {
  const { schema, complete } = ipPolicyRule.fields.cidr
  const check = compileCheck(schema)
  const cases = [
    ['203.0.113.0/24', '203.0.113.0/24'],
    ['203.0.113.7', '203.0.113.7/32'],
    ['203.0.113.7/32', '203.0.113.7/32'],
    ['0.0.0.0/0', '0.0.0.0/0'],
    ['2001:DB8:0::/48', '2001:db8::/48'],
    ['2001:db8::1', '2001:db8::1/128'],
    ['::/0', '::/0'],
  ]
  for (const [given = '', want] of cases) {
    t.equal(check(given, 'cidr'), undefined, given)
    t.equal(complete(given), want, given)
  }
  const refused = [
    '',
    'localhost',
    '203.0.113.1/24',
    '203.0.113.0/33',
    '010.0.0.1',
    '1.2.3',
    '2001:db8::1/48',
    '::/129',
    '1.2.3.4/',
  ]
  for (const given of refused) t.type(check(given, 'cidr'), 'string', given)
})

t.test('a range is in a policy once, whatever the action', async (t) => {
  const rules = [{ id: 'ipr_1', cidr: '10.0.0.0/8', action: 'deny' }]
  const refusal = (rule: object, previous?: object) =>
    refusalOf(() =>
      ipPolicyRule.check?.(
        { id: 'ipr_2', ip_policy_id: 'ipp_1', ...rule } as never,
        previous as never,
        lookupsIn({ ip_policy_rule: rules }),
      ),
    )
  t.equal(refusal({ cidr: '10.0.0.0/9' }), undefined)
  t.match(refusal({ cidr: '10.0.0.0/8' }), /the rule ipr_1 \(deny\) of the same IP policy/)
  t.match(refusal({ cidr: '10.0.0.0/8' }, { cidr: '11.0.0.0/8' }), /the rule ipr_1/)
  t.equal(refusal({ cidr: '10.0.0.0/8' }, { cidr: '10.0.0.0/8' }), undefined, 'an update that keeps it')
  t.equal(refusal({ cidr: '10.0.0.0/8', id: 'ipr_1' }), undefined, 'itself')
  const expired = { cidr: '10.0.0.0/8', expires_at: '2020-01-01T00:00:00Z' }
  t.match(
    refusal({ cidr: '10.0.0.0/8', expires_at: null }, expired),
    /the rule ipr_1/,
    'one that had expired, and is given more time',
  )
})
