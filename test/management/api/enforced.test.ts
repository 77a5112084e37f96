/** `enforced` of rules and traffic policies: its default, how it is changed, and decisions with what is not enforced. */
import t from 'tap'
import { openTestStore } from '../../harness/api.js'
import { all, refused } from '../../harness/caller.js'

t.test('what is not enforced', { timeout: 300_000 }, async (t) => {
  const store = await openTestStore(t)
  const api = await store.api()
  const me = await api.account()

  t.test('a rule', async (t) => {
    const policy = await me.ipPolicy.create({})
    const of = { ip_policy_id: policy.id, action: 'deny' as const }
    const rule = await me.ipPolicyRule.create({ ...of, cidr: '192.0.2.0/24' })
    t.equal(rule.enforced, true, 'the default')
    const tried = await me.ipPolicyRule.create({ ...of, cidr: '198.51.100.0/24', enforced: false })
    t.equal(tried.enforced, false)
    const audits = await api.auditsOf(me.accountId, async () => {
      await me.ipPolicyRule.update(rule.id, { enforced: true })
      t.equal((await me.ipPolicyRule.update(rule.id, { enforced: false })).enforced, false)
      t.equal((await me.ipPolicyRule.update(rule.id, { description: 'x' })).enforced, false, 'it stays')
      t.equal((await me.ipPolicyRule.update(rule.id, { enforced: null })).enforced, true, 'cleared')
    })
    t.strictSame(
      audits.map(({ object }) => object.enforced),
      [false, false, true],
      'an event per change',
    )
    const wrong = { ...of, cidr: '10.0.0.0/8', enforced: 'no' as unknown as boolean }
    t.match(await refused(400, me.ipPolicyRule.create(wrong)), /"enforced" is "no"/)
    const found = await all(me.ipPolicyRule.list({ filter: 'enforced == false' }))
    t.strictSame(
      found.map(({ id }) => id),
      [tried.id],
      'lists are filtered by it',
    )
  })

  t.test('rules that are replaced and restored', async (t) => {
    const { id } = await me.ipPolicy.create({})
    const rules = [
      { cidr: '10.0.0.0/8', action: 'allow' as const },
      { cidr: '10.1.0.0/16', action: 'deny' as const, enforced: false },
    ]
    const enforcedOf = async () =>
      Object.fromEntries((await all(me.rules(id))).map(({ cidr, enforced }) => [cidr, enforced]))
    await me.replaceRules(id, rules)
    t.strictSame(await enforcedOf(), { '10.0.0.0/8': true, '10.1.0.0/16': false })
    t.match(await me.replaceRules(id, rules), { added: 0, updated: 0, removed: 0, kept: 2 })
    const listed = await all(me.rules(id))
    t.match(await me.replaceRules(id, listed), { kept: 2 }, 'a list that is sent back changes nothing')
    const { changes } = await me.raw.get(`/ip_policies/${id}/changes`)
    const enforced = rules.map(({ cidr, action }) => ({ cidr, action }))
    t.match(await me.replaceRules(id, enforced), { updated: 1, kept: 1 }, 'without the member it is enforced')
    t.strictSame(await enforcedOf(), { '10.0.0.0/8': true, '10.1.0.0/16': true })
    t.match(await me.restoreRules(id, changes[0].version), { updated: 1, kept: 1 })
    t.strictSame(await enforcedOf(), { '10.0.0.0/8': true, '10.1.0.0/16': false })
  })

  t.test('traffic policies, and the decision with its explanation', async (t) => {
    const edge = await me.tcpEdge.create({ hostports: ['enforced.example:22'] })
    const policy = { name: 'nobody', expressions: [], actions: [{ type: 'deny' as const, config: null }] }
    const inbound = [{ ...policy, enforced: false }]
    const audits = await api.auditsOf(me.accountId, async () => {
      const put = await me.tcpEdge.policies.put(edge.id, { inbound })
      t.strictSame(put.inbound, inbound)
      await me.tcpEdge.policies.put(edge.id, put)
      t.strictSame((await me.tcpEdge.policies.get(edge.id)).inbound, inbound)
    })
    t.equal(audits.length, 1, 'what GET shows may be sent back')
    t.strictSame(audits[0]?.object.policies.inbound, inbound)
    const asked = {
      type: 'tcp_connection' as const,
      edge_id: edge.id,
      conn: { client_ip: '203.0.113.1' },
    }
    const { decision, warnings, explanation } = await me.decide({ ...asked, explain: true })
    t.equal(decision, 'allow')
    t.strictSame(warnings, [])
    t.match(explanation, {
      decided_by: { type: 'none' },
      policies: [{ policy: 'nobody', enforced: false, applied: false, reason: /so it would deny/ }],
      shadow: { decision: 'deny', decided_by: { type: 'traffic_policy', id: edge.id, name: 'nobody' } },
    })
    await me.tcpEdge.policies.put(edge.id, { inbound: [policy] })
    const denied = await me.decide({ ...asked, explain: true })
    t.match(denied, { decision: 'deny', explanation: { shadow: null } })
    const enforced = [policy, { ...policy, enforced: null }]
    const shown = await me.tcpEdge.policies.put(edge.id, { inbound: enforced })
    t.strictSame(
      shown.inbound.map((each) => each.enforced),
      [true, true],
    )
  })
})
