/** Who would allow or refuse an address, and by which rules. */
import t from 'tap'
import { showCheck } from '../../../src/outside/cli/rules-check.js'
import { openTestStore } from '../../harness/api.js'
import { refused } from '../../harness/caller.js'

t.test('an address is checked against all policies', async (t) => {
  const store = await openTestStore(t)
  const api = await store.api()
  const [me, other] = [await api.account(), await api.account()]
  const office = await me.ipPolicy.create({ description: 'the office' })
  const bans = await me.ipPolicy.create({ description: 'bans' })
  const none = await me.ipPolicy.create({})
  const rule = { action: 'allow' as const, description: 'fourth floor' }
  const lets = await me.ipPolicyRule.create({ ...rule, ip_policy_id: office.id, cidr: '203.0.113.0/24' })
  const ban = await me.ipPolicyRule.create({
    ip_policy_id: bans.id,
    cidr: '203.0.113.9/32',
    action: 'deny' as const,
    description: 'scans',
    expires_at: '2035-01-01T00:00:00Z',
  })
  const others = await me.ipPolicyRule.create({ ...rule, ip_policy_id: none.id, cidr: '::/0' })
  const theirs = await other.ipPolicy.create({})
  await other.ipPolicyRule.create({ ...rule, ip_policy_id: theirs.id, cidr: '203.0.113.9/32' })
  await other.tcpEdge.create({
    hostports: ['address-check-theirs.example:22'],
    ip_restriction: { ip_policy_ids: [theirs.id] },
  })

  const open = await me.tcpEdge.create({
    hostports: ['address-check.example:22'],
    ip_restriction: { ip_policy_ids: [office.id] },
  })
  const web = await me.httpsEdge.create({ hostports: ['address-check.example:443'] })
  const route = await me.httpsEdgeRoute.under(web.id).create({
    match_type: 'path_prefix' as const,
    match: '/admin',
    ip_restriction: { enabled: false, ip_policy_ids: [office.id, bans.id] },
  })
  const restriction = await me.ipRestriction.create({ type: 'endpoints', ip_policy_ids: [none.id] })
  const bouncer = await me.bouncer.create({ ip_policy_ids: [office.id, bans.id] })
  const lax = await me.bouncer.create({ ip_policy_ids: [office.id] })
  const { id: listId } = await me.ipList.create({ name: 'scanners' })
  await me.listEntries.replace(listId, [{ cidr: '203.0.113.0/28' }])
  const byList = await me.bouncer.create({ ip_policy_ids: [office.id], ip_list_ids: [listId] })
  const byListAlone = await me.bouncer.create({ ip_list_ids: [listId] })
  await me.tcpEdge.create({ hostports: ['address-check-free.example:22'] })

  const check = await me.checkAddress('203.0.113.9')
  t.match(check, { ip: '203.0.113.9', rules_left_out: 0, uses_left_out: 0 })
  t.match(
    check.rules.toSorted((one, two) => two.action.localeCompare(one.action)),
    [
      {
        ip_policy_id: bans.id,
        ip_policy_description: 'bans',
        rule_id: ban.id,
        action: 'deny',
        description: 'scans',
        expires_at: '2035-01-01T00:00:00Z',
        added: { by: /^ak_/ },
      },
      {
        rule_id: lets.id,
        enforced: true,
        description: 'fourth floor',
        expires_at: null,
        added: { by: /^ak_/ },
      },
    ],
  )
  t.equal(check.uses.length, 7, 'nothing of another account, and nothing that names no policy')
  const useOf = (id: string) => check.uses.find((use) => use.id === id)
  t.match(useOf(open.id), { decision: 'allow', rule_id: lets.id, applies: true })
  t.match(useOf(route.id), { decision: 'block', rule_id: ban.id, applies: false, match: '/admin' })
  t.match(useOf(restriction.id), { decision: 'block', rule_id: null, type: 'endpoints' })
  t.match(useOf(bouncer.id), { decision: 'block', rule_id: ban.id, applies: true })
  t.match(useOf(lax.id), { decision: 'allow', rule_id: null }, 'no rule lets in at a bouncer')
  for (const { id } of [byList, byListAlone])
    t.match(
      useOf(id),
      { decision: 'block', rule_id: null, list_id: listId, list_name: /./ },
      'an entry of its own list',
    )
  t.equal(useOf(bouncer.id)?.list_id, null)
  t.equal(check.uses.at(-1)?.decision, 'allow', 'those that block come first')

  await me.ipPolicyRule.update(ban.id, { enforced: false })
  const shadowed = await me.checkAddress('203.0.113.9')
  t.match(
    shadowed.rules.find(({ rule_id }) => rule_id === ban.id),
    { enforced: false },
  )
  t.match(
    shadowed.uses.find(({ id }) => id === route.id),
    { decision: 'allow', rule_id: lets.id },
  )
  await me.ipPolicyRule.update(ban.id, { enforced: true })

  const six = await me.checkAddress('2001:DB8:0::1')
  t.match(six, { ip: '2001:db8::1', rules: [{ rule_id: others.id }] })
  t.equal((await me.checkAddress('::ffff:203.0.113.9')).ip, '203.0.113.9')
  t.match(await refused(400, me.checkAddress('203.0.113.0/24')), /"ip" is "203.0.113.0\/24"/)
  t.match((await me.raw.send('GET', '/ip_policies/check')).text, /is required: the address of a client/)

  const lines: string[] = []
  await showCheck(me, '203.0.113.9', {}, (line) => lines.push(line))
  const [text = ''] = lines
  t.match(text, `deny   203.0.113.9/32  ${ban.id} "scans" of ${bans.id} "bans", until 2035-01-01T00:00:00Z`)
  t.match(text, /added 2\S+ by ak_/)
  t.match(text, `allow  tcp_edge ${open.id} (address-check.example:22): ${lets.id}`)
  t.match(
    text,
    `block  https_edge_route ${route.id} (address-check.example:443 /admin): ${ban.id}; it does not apply now`,
  )
  t.match(text, `block  ip_restriction ${restriction.id} (endpoints): no rule contains it`)
  await showCheck(other, '192.0.2.1', { json: true }, (line) => lines.push(line))
  t.match(JSON.parse(lines[1]!), { rules: [], uses: [{ decision: 'block', rule_id: null }] })
})
