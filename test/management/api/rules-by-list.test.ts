/** Rules of IP policies that name a list in place of a range. */
import t from 'tap'
import { openTestStore } from '../../harness/api.js'
import { all, type Caller, newest, refusalOf, refused } from '../../harness/caller.js'

let names = 0

/** An edge that lets everyone in but those of a list. */
async function guarded(me: Caller) {
  names += 1
  const server_name = `listed${names}.lists.example`
  const list = await me.ipList.create({ name: 'bad', category: 'proxy.tor' })
  await me.listEntries.replace(list.id, [
    { cidr: '203.0.113.0/24', comment: 'an exit' },
    { cidr: '203.0.113.7', comment: 'within' },
    { cidr: '2001:db8::/32', comment: 'six' },
  ])
  const policy = await me.ipPolicy.create({})
  await me.ipPolicyRule.create({ ip_policy_id: policy.id, cidr: '0.0.0.0/0', action: 'allow' })
  const rule = await me.ipPolicyRule.create({ ip_policy_id: policy.id, list_id: list.id, action: 'deny' })
  const edge = await me.tcpEdge.create({
    hostports: [`${server_name}:22`],
    ip_restriction: { ip_policy_ids: [policy.id] },
  })
  const ask = (client_ip: string, revision?: number) =>
    me.decide(
      { type: 'tcp_connection', conn: { client_ip, server_name, server_port: 22 } },
      revision === undefined ? {} : { revision },
    )
  return { me, list, policy, rule, edge, ask }
}

t.test('rules by list', { timeout: 180_000 }, async (t) => {
  const store = await openTestStore(t)
  const api = await store.api()

  t.test('a rule with a list is shown with it, and has no range', async (t) => {
    const { me, list, rule, policy } = await guarded(await api.account())
    t.match(rule, { cidr: null, list: { id: list.id } })
    t.match(await all(me.rules(policy.id)), [
      { id: rule.id, cidr: null },
      { cidr: '0.0.0.0/0', list: null },
    ])
  })

  t.test('a decision names the rule, the range of the entry and its comment', async (t) => {
    const { rule, list, ask } = await guarded(await api.account())
    const { decision, explanation } = await ask('203.0.113.7')
    t.equal(decision, 'block')
    t.match(explanation?.decided_by, { rule_id: rule.id, cidr: '203.0.113.0/24' })
    const ruleOf = (found: typeof explanation, id: string) =>
      found?.ip_policies[0]?.rules.find(({ rule_id }) => rule_id === id)
    t.match(ruleOf(explanation, rule.id), {
      won: true,
      cidr: '203.0.113.0/24',
      list_id: list.id,
      comment: 'an exit',
    })
    const other = await ask('198.51.100.7')
    t.equal(other.decision, 'allow')
    t.match(ruleOf(other.explanation, rule.id), { cidr: null, comment: null, matches: false })
    t.match((await ask('2001:db8::9')).explanation?.decided_by, { cidr: '2001:db8::/32' })
  })

  t.test('an allow rule with a list lets in its addresses alone', async (t) => {
    const { me, list, policy, ask } = await guarded(await api.account())
    await me.replaceRules(policy.id, [{ list_id: list.id, action: 'allow' }])
    t.equal((await ask('203.0.113.9')).decision, 'allow')
    t.equal((await ask('198.51.100.7')).decision, 'block')
  })

  t.test('new entries count at once, and the past is explained with those of then', async (t) => {
    const { me, list, rule, ask } = await guarded(await api.account())
    const before = (await ask('203.0.113.9')).revision
    await me.listEntries.replace(list.id, [{ cidr: '198.51.100.0/24' }])
    t.equal((await ask('203.0.113.9')).decision, 'allow')
    t.equal((await ask('198.51.100.7')).decision, 'block')
    const past = await ask('203.0.113.9', before)
    t.match(past.explanation?.decided_by, { rule_id: rule.id, cidr: '203.0.113.0/24' })
  })

  t.test('an entry that has expired decides nothing', async (t) => {
    const { me, list, ask } = await guarded(await api.account())
    await me.listEntries.replace(list.id, [
      { cidr: '203.0.113.0/24', expires_at: new Date(Date.now() - 1_000).toISOString() },
      { cidr: '198.51.100.0/24', expires_at: new Date(Date.now() + 3_600_000).toISOString() },
    ])
    t.equal((await ask('203.0.113.9')).decision, 'allow')
    t.equal((await ask('198.51.100.7')).decision, 'block')
  })

  t.test('entries after which a policy test fails are refused, also with validate_only', async (t) => {
    const { me, list, edge } = await guarded(await api.account())
    const { hostports } = await me.tcpEdge.get(edge.id)
    const [server_name] = hostports![0]!.split(':')
    const conn = { client_ip: '198.51.100.7', server_name: server_name!, server_port: 22 }
    await me.policyTest.create({
      description: 'home is let in',
      given: { type: 'tcp_connection', conn },
      expect: { decision: 'allow' },
    })
    const entries = [{ cidr: '198.51.100.0/24' }]
    for (const options of [{}, { validateOnly: true }]) {
      const refusal = await refusalOf(me.listEntries.replace(list.id, entries, options))
      t.match(refusal, { error_code: 'ERR_POLICY_TEST', msg: /home is let in/ })
    }
    t.equal((await all(me.listEntries.list(list.id))).length, 3)
    await me.listEntries.replace(list.id, entries, { skipTests: true })
    t.equal((await all(me.listEntries.list(list.id))).length, 1)
    t.equal((await newest(me.changes())).tests_skipped, true)
  })

  t.test('a list that a rule names is not deleted', async (t) => {
    const { me, list, rule } = await guarded(await api.account())
    t.match(await refused(400, me.ipList.delete(list.id)), new RegExp(`rule ${rule.id} .* names it`))
    await me.ipPolicyRule.delete(rule.id)
    await me.ipList.delete(list.id)
  })

  t.test('wrong rules are refused', async (t) => {
    const { me, list, policy } = await guarded(await api.account())
    const stranger = await (await api.account()).ipList.create({ name: 'strange' })
    const ip_policy_id = policy.id
    const create = (body: object) =>
      me.raw.send('POST', '/ip_policy_rules', { body: { ip_policy_id, action: 'deny', ...body } })
    t.match((await create({})).body.msg, /"cidr" is required .* or "list_id"/)
    t.match(
      (await create({ cidr: '10.0.0.0/8', list_id: list.id })).body.msg,
      /"cidr" and "list_id" exclude each other/,
    )
    t.match((await create({ list_id: list.id })).body.msg, /a list may appear in a policy only once/)
    t.match((await create({ list_id: stranger.id })).body.msg, /"list_id" names .*does not exist/)
    const rules = [{ list_id: list.id, action: 'deny' as const }]
    t.match(
      await refused(400, me.replaceRules(policy.id, [...rules, ...rules])),
      /"rules\[1\].list_id" is .* the same as/,
    )
    t.match(
      await refused(404, me.replaceRules(policy.id, [{ list_id: stranger.id, action: 'deny' }])),
      /"rules\[0\].list_id" names .*does not exist/,
    )
  })
})
