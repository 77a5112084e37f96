/** No change may lock the caller's own address out of the API. */
import t from 'tap'
import { openTestStore } from '../harness/api.js'
import { all, type Caller, refusalOf, refused, statusOf } from '../harness/caller.js'

const home = '127.0.0.1/32'
const elsewhere = '192.0.2.0/24'

interface Locked {
  readonly me: Caller
  readonly policy: string
  readonly rule: string
  readonly restriction: string
}

t.test('the lock-out guard', async (t) => {
  const store = await openTestStore(t)
  const api = await store.api()

  const policyOf = async (me: Caller, cidr?: string): Promise<{ policy: string; rule: string }> => {
    const { id: policy } = await me.ipPolicy.create({})
    if (cidr === undefined) return { policy, rule: '' }
    const rule = await me.ipPolicyRule.create({ ip_policy_id: policy, cidr, action: 'allow' })
    return { policy, rule: rule.id }
  }
  const locked = async (enforced = true): Promise<Locked> => {
    const me = await api.account()
    const { policy, rule } = await policyOf(me, home)
    const body = { type: 'api' as const, enforced, ip_policy_ids: [policy] }
    return { me, policy, rule, restriction: (await me.ipRestriction.create(body)).id }
  }

  const refusals: [string, (locked: Locked) => Promise<unknown>][] = [
    ['the rule that lets in is deleted', ({ me, rule }) => me.ipPolicyRule.delete(rule)],
    ['it lets in others', ({ me, rule }) => me.ipPolicyRule.update(rule, { cidr: elsewhere })],
    [
      'a rule denies',
      ({ me, policy }) =>
        me.ipPolicyRule.create({ ip_policy_id: policy, cidr: '127.0.0.0/8', action: 'deny' }),
    ],
    ['the policy is deleted', ({ me, policy }) => me.ipPolicy.delete(policy)],
    [
      'another policy is named',
      async ({ me, restriction }) => {
        const { policy } = await policyOf(me, elsewhere)
        return me.ipRestriction.update(restriction, { ip_policy_ids: [policy] })
      },
    ],
  ]
  for (const [name, request] of refusals) {
    t.test(name, async (t) => {
      const enforced = await locked()
      const refusal = await refusalOf(request(enforced))
      t.match(refusal, { status_code: 400, error_code: 'ERR_LOCKOUT', msg: '127.0.0.1' })
      await all(enforced.me.ipPolicy.list())
      t.equal(await statusOf(request(await locked(false))), 'ok', 'without being enforced it is taken')
    })
  }

  t.test('a restriction that would', async (t) => {
    const me = await api.account()
    const { policy } = await policyOf(me)
    const body = { type: 'api', enforced: true, ip_policy_ids: [policy] } as const
    const refusal = await refusalOf(me.ipRestriction.create(body))
    t.match(refusal, { status_code: 400, error_code: 'ERR_LOCKOUT' })
    const { id } = await me.ipRestriction.create({ ...body, enforced: false })
    await refused(400, me.ipRestriction.update(id, { enforced: true }))
    await me.ipPolicyRule.create({ ip_policy_id: policy, cidr: home, action: 'allow' })
    await me.ipRestriction.update(id, { enforced: true })
    t.equal((await me.raw.send('GET', '/ip_policies', { from: '192.0.2.1' })).status, 403, 'from elsewhere')
    await me.ipRestriction.update(id, { enforced: false })
    t.equal((await me.raw.send('GET', '/ip_policies', { from: '192.0.2.1' })).status, 200)
  })

  t.test('changes that keep a way in are allowed', async () => {
    const { me, policy, rule, restriction } = await locked()
    await me.ipPolicyRule.create({ ip_policy_id: policy, cidr: '127.0.0.0/8', action: 'allow' })
    await me.ipPolicyRule.delete(rule)
    await me.ipRestriction.delete(restriction)
    await me.ipPolicy.delete(policy)
    const other = await policyOf(me, elsewhere)
    for (const type of ['agent', 'endpoints', 'dashboard'] as const)
      await me.ipRestriction.create({ type, enforced: true, ip_policy_ids: [other.policy] })
    await all(me.ipPolicy.list())
  })
})
