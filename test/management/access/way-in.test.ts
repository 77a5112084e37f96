/** Which compiled policies are kept for the checks of where callers come from. */
import t from 'tap'
import { AccountPolicies } from '../../../src/management/access/account-policies.js'
import { sharedPartsOf } from '../../../src/management/access/compiled-parts.js'
import { checkWayIn } from '../../../src/management/access/lockout.js'
import { accountId, Configuration } from '../insight/findings.js'

/** Its compilation takes longer than a slice. */
const large = Array.from({ length: 50_000 }, (_, index) => ({
  id: `ipr_${index}`,
  cidr: `10.${index >> 8}.${index & 255}.0/24`,
  action: 'allow' as const,
}))

t.test('what a policy compiles to is dropped once no restriction names it', async (t) => {
  const configuration = new Configuration()
  configuration.policy('ipp_large', large)
  configuration.policy('ipp_small', [{ id: 'ipr_small', cidr: '0.0.0.0/0', action: 'allow' }])
  const occurrences = { apiRestrictionWarning: () => {} }
  const check = () => checkWayIn(configuration.state, accountId, 'api', '10.0.0.1', occurrences)
  const name = (...ip_policy_ids: string[]) =>
    configuration.put('ip_restriction', 'ipx_1', { type: 'api', enforced: true, ip_policy_ids })
  for (const others of [['ipp_small'], []]) {
    name('ipp_large')
    t.ok(check() instanceof Promise, 'it is compiled')
    await check()
    t.equal(check(), undefined, 'and kept')
    name(...others)
    if (others.length === 0) t.throws(check, { code: 'ERR_FORBIDDEN' }, 'a restriction without policies')
    else await check()
  }
  name('ipp_large')
  t.ok(check() instanceof Promise, 'and compiled again once one names it again')
  await check()
})

t.test('many restrictions of other accounts are looked at in slices', async (t) => {
  const configuration = new Configuration()
  const check = () =>
    checkWayIn(configuration.state, accountId, 'api', '10.0.0.1', { apiRestrictionWarning: () => {} })
  const name = (id: string) =>
    configuration.put('ip_restriction', 'ipx_1', { type: 'api', enforced: true, ip_policy_ids: [id] })
  for (const id of ['ipp_before', 'ipp_after'])
    configuration.policy(id, [{ id: `ipr_of_${id}`, cidr: '0.0.0.0/0', action: 'allow' }])
  name('ipp_before')
  const named = Array.from({ length: 100 }, (_, index) => `ipp_${index}`)
  const others = { account_id: 'ac_other', type: 'endpoints', enforced: true, ip_policy_ids: named }
  for (let index = 0; index < 20_000; index += 1)
    configuration.put('ip_restriction', `ipx_other_${index}`, others)
  const before = check()
  t.ok(before instanceof Promise, 'others have their turn meanwhile')
  name('ipp_after')
  const after = check()
  await Promise.all([before, after])
  t.equal(check(), undefined, 'a policy that was named meanwhile is kept')
})

t.test('a policy is compiled once, whoever needs it first', async (t) => {
  const configuration = new Configuration()
  const { state } = configuration
  configuration.policy('ipp_large', large)
  configuration.policy('ipp_other', large)
  const name = (id: string) =>
    configuration.put('ip_restriction', 'ipx_1', { type: 'api', enforced: true, ip_policy_ids: [id] })
  const check = () => checkWayIn(state, accountId, 'api', '10.0.0.1', { apiRestrictionWarning: () => {} })
  name('ipp_other')
  const compiling = check()
  t.ok(compiling instanceof Promise, 'for the restriction')
  await compiling
  // The restrictions hold their parts first.
  const held = (id: string) => sharedPartsOf(state).ipPolicy(id, state.rules(id)!.version, 0)
  const ofRestriction = held('ipp_other')
  const [one, another] = await Promise.all([
    new AccountPolicies().of(state, accountId),
    new AccountPolicies().of(state, accountId),
  ])
  for (const set of [one, another])
    t.ok(ofRestriction !== undefined && ofRestriction === set.ipPolicy('ipp_other'))
  name('ipp_large')
  await check()
  t.ok(held('ipp_large') === one.ipPolicy('ipp_large'), 'for the account, before a restriction names it')
})
