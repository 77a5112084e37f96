/** No change may lock the caller's own address out of the API. */
import t from 'tap'
import { openTestStore } from '../harness/api.js'
import type { RawClient } from '../harness/raw-client.js'

const home = '127.0.0.1/32'
const elsewhere = '192.0.2.0/24'

interface Locked {
  readonly me: RawClient
  readonly policy: string
  readonly rule: string
  readonly restriction: string
}

t.test('the lock-out guard', async (t) => {
  const store = await openTestStore(t)
  const api = await store.api()

  const policyOf = async (me: RawClient, cidr?: string): Promise<{ policy: string; rule: string }> => {
    const { id: policy } = await me.post('/ip_policies')
    if (cidr === undefined) return { policy, rule: '' }
    const rule = await me.post('/ip_policy_rules', { ip_policy_id: policy, cidr, action: 'allow' })
    return { policy, rule: rule.id }
  }
  const locked = async (enforced = true): Promise<Locked> => {
    const me = await api.account()
    const { policy, rule } = await policyOf(me, home)
    const body = { type: 'api', enforced, ip_policy_ids: [policy] }
    return { me, policy, rule, restriction: (await me.post('/ip_restrictions', body)).id }
  }

  const refusals: [string, (at: Locked) => Promise<[string, string, object?]>][] = [
    ['the rule that lets in is deleted', async ({ rule }) => ['DELETE', `/ip_policy_rules/${rule}`]],
    ['it lets in others', async ({ rule }) => ['PATCH', `/ip_policy_rules/${rule}`, { cidr: elsewhere }]],
    [
      'a rule denies',
      async ({ policy }) => [
        'POST',
        '/ip_policy_rules',
        { ip_policy_id: policy, cidr: '127.0.0.0/8', action: 'deny' },
      ],
    ],
    ['the policy is deleted', async ({ policy }) => ['DELETE', `/ip_policies/${policy}`]],
    [
      'another policy is named',
      async ({ me, restriction }) => [
        'PATCH',
        `/ip_restrictions/${restriction}`,
        { ip_policy_ids: [(await policyOf(me, elsewhere)).policy] },
      ],
    ],
  ]
  for (const [name, request] of refusals) {
    t.test(name, async (t) => {
      const at = await locked()
      const [method, path, body] = await request(at)
      const answer = await at.me.expect(400, method, path, body)
      t.equal(answer.error_code, 'ERR_LOCKOUT')
      t.match(answer.msg, '127.0.0.1')
      await at.me.get('/ip_policies')
      const free = await locked(false)
      const [sameMethod, samePath, sameBody] = await request(free)
      const { status } = await free.me.send(sameMethod, samePath, sameBody ? { body: sameBody } : {})
      t.ok(status < 300, 'without being enforced it is taken')
    })
  }

  t.test('a restriction that would', async (t) => {
    const me = await api.account()
    const { policy } = await policyOf(me)
    const body = { type: 'api', enforced: true, ip_policy_ids: [policy] }
    t.equal((await me.expect(400, 'POST', '/ip_restrictions', body)).error_code, 'ERR_LOCKOUT')
    const { id } = await me.post('/ip_restrictions', { ...body, enforced: false })
    await me.refused(400, 'PATCH', `/ip_restrictions/${id}`, { enforced: true })
    await me.post('/ip_policy_rules', { ip_policy_id: policy, cidr: home, action: 'allow' })
    await me.patch(`/ip_restrictions/${id}`, { enforced: true })
    t.equal((await me.send('GET', '/ip_policies', { from: '192.0.2.1' })).status, 403, 'from elsewhere')
    await me.patch(`/ip_restrictions/${id}`, { enforced: false })
    t.equal((await me.send('GET', '/ip_policies', { from: '192.0.2.1' })).status, 200)
  })

  t.test('changes that keep a way in are allowed', async () => {
    const { me, policy, rule, restriction } = await locked()
    await me.post('/ip_policy_rules', { ip_policy_id: policy, cidr: '127.0.0.0/8', action: 'allow' })
    await me.delete(`/ip_policy_rules/${rule}`)
    await me.delete(`/ip_restrictions/${restriction}`)
    await me.delete(`/ip_policies/${policy}`)
    const other = await policyOf(me, elsewhere)
    for (const type of ['agent', 'endpoints', 'dashboard'])
      await me.post('/ip_restrictions', { type, enforced: true, ip_policy_ids: [other.policy] })
    await me.get('/ip_policies')
  })
})
