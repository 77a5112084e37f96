/** Who added what decided, and when: rules, traffic policies, modules and restrictions, whoever changed them later. */
import t from 'tap'
import { openTestStore } from '../../harness/api.js'
import { newest } from '../../harness/caller.js'

t.test('who added what decided', async (t) => {
  const store = await openTestStore(t)
  const api = await store.api()
  const me = await api.account('additions')
  const own = await newest(me.apiKey.list())
  await me.apiKey.update(own.id, { description: 'deployments' })
  const night = await me.apiKey.create({ description: 'a night shift' })
  const later = me.withToken(night.token!)
  const policy = await me.ipPolicy.create({ description: 'office' })
  await me.replaceRules(policy.id, [
    { cidr: '203.0.113.0/24', action: 'allow' },
    { cidr: '203.0.113.66/32', action: 'deny' },
  ])
  const denied = {
    name: 'high ports',
    expressions: ['conn.client_port > 60000'],
    actions: [{ type: 'deny' as const }],
  }
  const unnamed = { expressions: ['conn.client_port == 4711'], actions: [{ type: 'deny' as const }] }
  const edge = await me.tcpEdge.create({
    hostports: ['additions.example:22'],
    ip_restriction: { ip_policy_ids: [policy.id] },
    policies: { inbound: [denied, unnamed] },
  })
  const decide = async (client_ip: string, client_port = 5000) => {
    const conn = { client_ip, client_port, server_name: 'additions.example', server_port: 22 }
    const body = { type: 'tcp_connection', conn }
    const { explanation } = await me.raw.expect(200, 'POST', '/decide', body)
    return explanation
  }
  const byOwn = { by: own.id, by_description: 'deployments', earlier: false }
  const byLater = { by: night.id, by_description: 'a night shift', earlier: false }
  const firstChange = async (id: string) => {
    const { changes } = await me.raw.get(`/edges/tcp/${id}/changes`)
    return changes.at(-1)
  }

  await t.test('a rule, although another key changed it since', async (t) => {
    const before = await decide('203.0.113.66')
    t.match(before.decided_by, { added: byOwn, last_change: { by: own.id } })
    await later.ipPolicyRule.update(before.decided_by.rule_id, { description: 'scanner' })
    const { decided_by, ip_policies } = await decide('203.0.113.66')
    t.strictSame(decided_by.added, before.decided_by.added)
    t.match(decided_by.last_change, { by: night.id })
    const [winner, loser] = ip_policies[0].rules
    t.match(
      [winner, loser].sort((one) => (one.won ? -1 : 1)),
      [{ won: true, added: byOwn }, { won: false }],
    )
    t.notOk(
      [winner, loser].some(({ won, added }) => !won && added !== undefined),
      'of those that won only',
    )
  })

  await t.test('a rule that was deleted and restored was added by the one who restored it', async (t) => {
    const { rule_id, added } = (await decide('203.0.113.66')).decided_by
    await me.ipPolicyRule.delete(rule_id)
    await later.ipPolicyRule.restore(rule_id, added.version)
    const restored = (await decide('203.0.113.66')).decided_by
    t.equal(restored.rule_id, rule_id)
    t.match(restored.added, byLater)
    t.ok(restored.added.version > added.version)
  })

  await t.test('the allow rule that lets a client in', async (t) => {
    const { decided_by, ip_policies } = await decide('203.0.113.7')
    t.match(decided_by, { type: 'none', added: null })
    t.match(ip_policies[0].rules[0], { action: 'allow', won: true, added: byOwn })
  })

  await t.test('a traffic policy, by its name and expressions', async (t) => {
    const first = await firstChange(edge.id)
    const added = { ...byOwn, at: first.changed_at, version: first.version }
    await later.tcpEdge.update(edge.id, { description: 'another' })
    const { decided_by } = await decide('203.0.113.7', 60_001)
    t.match(decided_by, { type: 'traffic_policy', added, last_change: { by: night.id } })
    const moved = { inbound: [unnamed, denied] }
    await later.tcpEdge.policies.put(edge.id, moved)
    t.strictSame(
      (await decide('203.0.113.7', 60_001)).decided_by.added,
      decided_by.added,
      'its place may change',
    )
    t.match((await decide('203.0.113.7', 4711)).decided_by, { name: 'inbound[0]', added }, 'it needs no name')
    const changed = { ...denied, expressions: ['conn.client_port >= 60000'] }
    await later.tcpEdge.policies.put(edge.id, { inbound: [unnamed, changed] })
    t.match(
      (await decide('203.0.113.7', 60_001)).decided_by.added,
      byLater,
      'another expression is another policy',
    )
    await later.tcpEdge.policies.put(edge.id, { inbound: [changed] })
    await me.tcpEdge.policies.put(edge.id, { inbound: [changed, unnamed] })
    const again = (await decide('203.0.113.7', 4711)).decided_by
    t.match(again, { name: 'inbound[1]', added: byOwn })
    t.ok(again.added.version > first.version, 'it was away in between')
  })

  await t.test('a module, and a restriction, without a rule that decided', async (t) => {
    const { version } = await firstChange(edge.id)
    t.match((await decide('192.0.2.1')).decided_by, {
      type: 'ip_restriction',
      rule_id: null,
      added: { ...byOwn, version },
    })
    const restriction = await later.ipRestriction.create({
      type: 'endpoints',
      ip_policy_ids: [policy.id],
      enforced: false,
    })
    await me.ipRestriction.update(restriction.id, { enforced: true })
    t.match((await decide('192.0.2.1')).decided_by, {
      type: 'restriction',
      id: restriction.id,
      added: byLater,
      last_change: { by: own.id },
    })
    await me.ipRestriction.delete(restriction.id)
  })

  await t.test('of an edge that was changed very often, the time before which it was there', async (t) => {
    const { policies } = await me.tcpEdge.get(edge.id)
    t.ok(policies)
    for (let change = 0; change < 101; change += 1)
      await me.tcpEdge.update(edge.id, { description: `change ${change}` })
    const { added } = (await decide('203.0.113.7', 4711)).decided_by
    t.match(added, { by: null, by_description: null, earlier: true })
    const { changes } = await me.raw.get(`/edges/tcp/${edge.id}/changes?limit=100`)
    t.match(added, { at: changes[99].changed_at, version: changes[99].version })
  })
})
