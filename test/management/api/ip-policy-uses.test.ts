/** Who uses an IP policy, and which rules cover an address. */
import t from 'tap'
import { ipPolicyRule } from '../../../src/words/resource/ip-policy.js'
import { resources } from '../../../src/words/resource/registry.js'
import { usingKinds } from '../../../src/words/shape/ip-policy-rules.js'
import { openTestStore } from '../../harness/api.js'
import { all } from '../../harness/caller.js'

t.test('every kind that refers to IP policies is known', (t) => {
  const names = (fields: object): boolean =>
    Object.values(fields).some(
      (field: { reference?: { kind: string }; fields?: object }) =>
        field.reference?.kind === 'ip_policy' || (field.fields !== undefined && names(field.fields)),
    )
  const kinds = resources.filter(({ fields }) => names(fields)).map(({ kind }) => kind)
  t.strictSame(kinds.filter((kind) => kind !== ipPolicyRule.kind).sort(), [...usingKinds].sort())
  t.end()
})

t.test('uses of IP policies', async (t) => {
  const store = await openTestStore(t)
  const api = await store.api()
  const [me, other] = [await api.account(), await api.account()]
  const policy = await me.ipPolicy.create({})
  const unused = await me.ipPolicy.create({})
  const theirs = await other.ipPolicy.create({})
  const ip_policy_ids = [unused.id, policy.id]
  const edge = await me.tcpEdge.create({
    description: 'ssh',
    hostports: ['uses.example:22'],
    ip_restriction: { enabled: false, ip_policy_ids: [policy.id] },
  })
  await me.tcpEdge.create({ hostports: ['uses-none.example:22'] })
  const web = await me.httpsEdge.create({ hostports: ['uses.example:443'] })
  const route = await me.httpsEdgeRoute
    .under(web.id)
    .create({ match_type: 'path_prefix', match: '/admin', ip_restriction: { ip_policy_ids } })
  const restriction = await me.ipRestriction.create({ type: 'endpoints', ip_policy_ids: [policy.id] })

  const { uses, uses_left_out } = await me.ipPolicyUses(policy.id)
  t.equal(uses_left_out, 0)
  const field = 'ip_restriction.ip_policy_ids'
  t.match(uses, [
    { kind: 'ip_restriction', id: restriction.id, field: 'ip_policy_ids', type: 'endpoints', applies: false },
    {
      kind: 'tcp_edge',
      id: edge.id,
      field,
      description: 'ssh',
      hostports: ['uses.example:22'],
      applies: false,
    },
    { kind: 'https_edge_route', id: route.id, field, hostports: ['uses.example:443'], edge_id: web.id },
  ])
  t.match(uses[2], { match: '/admin', applies: true })
  for (const { uri, id } of uses) t.equal((await me.raw.get(new URL(uri).pathname)).id, id, 'its address')
  t.strictSame(
    (await me.ipPolicyUses(unused.id)).uses.map(({ id }) => id),
    [route.id],
  )
  t.strictSame((await other.ipPolicyUses(theirs.id)).uses, [])
  t.equal((await other.raw.send('GET', `/ip_policies/${policy.id}/uses`)).status, 404, 'another account')
  t.equal((await me.raw.send('GET', `/ip_policies/${policy.id}/uses?limit=1`)).status, 400)
})

t.test('numbers of rules and uses', async (t) => {
  const store = await openTestStore(t)
  const api = await store.api()
  const [me, other] = [await api.account(), await api.account()]
  const old = await me.ipPolicy.create({})
  const policy = await me.ipPolicy.create({})
  await other.ipPolicy.create({})
  await me.replaceRules(policy.id, [
    { cidr: '10.0.0.0/8', action: 'allow' },
    { cidr: '10.1.0.0/16', action: 'deny' },
  ])
  const ip_policy_ids = [policy.id]
  const edge = await me.tcpEdge.create({
    hostports: ['counts.example:22'],
    ip_restriction: { ip_policy_ids },
  })
  await me.ipRestriction.create({ type: 'endpoints', ip_policy_ids })
  const counts = [
    { id: policy.id, rules: 2, uses: 2 },
    { id: old.id, rules: 0, uses: 0 },
  ]
  t.strictSame((await me.ipPolicyCounts()).counts, counts, 'newest first, of the own account')
  const first = await me.ipPolicyCounts({ limit: 1 })
  t.strictSame(first.counts, counts.slice(0, 1))
  t.match(first.next_page_uri, `before_id=${policy.id}`)
  t.strictSame((await me.ipPolicyCounts({ limit: 1, before_id: policy.id })).counts, counts.slice(1))
  await me.tcpEdge.delete(edge.id)
  t.match((await me.ipPolicyCounts()).counts[0], { uses: 1 }, 'after one of the uses is gone')
  t.equal((await me.raw.send('GET', '/ip_policies/counts?filter=true')).status, 400)
})

t.test('rules that cover an address', async (t) => {
  const store = await openTestStore(t)
  const api = await store.api()
  const [me, other] = [await api.account(), await api.account()]
  const allow = (cidr: string) => ({ cidr, action: 'allow' as const })
  const first = await me.ipPolicy.create({})
  await me.replaceRules(
    first.id,
    [
      '0.0.0.0/0',
      '203.0.113.0/24',
      '203.0.113.66',
      '203.0.113.67',
      '10.0.0.0/8',
      '::/0',
      '2001:db8::/32',
    ].map(allow),
  )
  const second = await me.ipPolicy.create({})
  await me.replaceRules(second.id, [{ cidr: '203.0.113.64/26', action: 'deny' }])
  await other.replaceRules((await other.ipPolicy.create({})).id, ['203.0.113.66', '0.0.0.0/0'].map(allow))

  const inAll = async (covers: string, limit = 100) =>
    (await all(me.ipPolicyRule.list({ covers, limit }))).map(({ cidr }) => cidr)
  const inFirst = async (covers: string, limit = 100) =>
    (await all(me.rules(first.id, { covers, limit }))).map(({ cidr }) => cidr)
  const cases: { covers: string; all: string[]; first: string[] }[] = [
    {
      covers: '203.0.113.66',
      all: ['203.0.113.66/32', '203.0.113.64/26', '203.0.113.0/24', '0.0.0.0/0'],
      first: ['203.0.113.66/32', '203.0.113.0/24', '0.0.0.0/0'],
    },
    {
      covers: '::ffff:203.0.113.66',
      all: ['203.0.113.66/32', '203.0.113.64/26', '203.0.113.0/24', '0.0.0.0/0'],
      first: ['203.0.113.66/32', '203.0.113.0/24', '0.0.0.0/0'],
    },
    {
      covers: '203.0.113.0/25',
      all: ['203.0.113.0/24', '0.0.0.0/0'],
      first: ['203.0.113.0/24', '0.0.0.0/0'],
    },
    {
      covers: '203.0.113.64/26',
      all: ['203.0.113.64/26', '203.0.113.0/24', '0.0.0.0/0'],
      first: ['203.0.113.0/24', '0.0.0.0/0'],
    },
    { covers: '2001:DB8::1', all: ['2001:db8::/32', '::/0'], first: ['2001:db8::/32', '::/0'] },
    { covers: '0.0.0.0/0', all: ['0.0.0.0/0'], first: ['0.0.0.0/0'] },
  ]
  for (const { covers, ...want } of cases)
    for (const limit of [1, 2, 100]) {
      t.strictSame(await inAll(covers, limit), want.all, `${covers} in all policies, pages of ${limit}`)
      t.strictSame(await inFirst(covers, limit), want.first, `${covers} in one policy, pages of ${limit}`)
    }
  const denied = await all(me.ipPolicyRule.list({ covers: '203.0.113.66', filter: "action == 'deny'" }))
  t.strictSame(
    denied.map(({ cidr }) => cidr),
    ['203.0.113.64/26'],
    'with a filter',
  )

  for (const [query, says] of [
    ['covers=here', /"covers" is wrong: "here" is not a range/],
    ['covers=203.0.113.66/24', /write 203\.0\.113\.0\/24/],
    ['covers=', /"covers" is wrong/],
    ['covers=::1&before_id=ipr_00000000000000000000000000', /not among these rules any more/],
  ] as const)
    for (const path of ['/ip_policy_rules', `/ip_policies/${first.id}/rules`])
      t.match(await me.raw.refused(400, 'GET', `${path}?${query}`), says, `${path}?${query}`)
  t.equal((await me.raw.send('GET', '/ip_policies?covers=::1')).status, 400, 'only rules have ranges')
})
