/**
 * Challengers: what a draft may be, and how it becomes the configuration. What is evaluated with it is in test/integration.
 */
import t from 'tap'
import { openTestStore } from '../../harness/api.js'
import { all, type Caller, refusalOf, refused } from '../../harness/caller.js'
import { until } from '../../harness/weir.js'

const deny = (expression: string) => ({
  inbound: [{ name: 'nobody', expressions: [expression], actions: [{ type: 'deny' as const }] }],
})
const office = '203.0.113.0/24'
const hourMs = 60 * 60_000
const inMs = (ms: number) => new Date(Date.now() + ms).toISOString()
const unknown = (prefix: string) => `${prefix}00000000000000000000000000`

let names = 0

/** An account with something of every kind that a draft may change. */
async function furnished(me: Caller) {
  names += 1
  const policy = await me.ipPolicy.create({ description: 'office' })
  const rule = await me.ipPolicyRule.create({ ip_policy_id: policy.id, cidr: office, action: 'allow' })
  const tcp = await me.tcpEdge.create({
    hostports: [`tcp${names}.challenged.example:22`],
    ip_restriction: { ip_policy_ids: [policy.id] },
  })
  const https = await me.httpsEdge.create({ hostports: [`www${names}.challenged.example:443`] })
  const route = await me.httpsEdgeRoute
    .under(https.id)
    .create({ match_type: 'path_prefix', match: '/docs', policies: deny("http.request.method == 'put'") })
  const list = await me.ipList.create({ name: `challenged-${names}` })
  return { me, policy, rule, tcp, https, route, list }
}

type Furnished = Awaited<ReturnType<typeof furnished>>

const wholeDraft = ({ tcp, https, route, policy, rule }: Furnished) => ({
  edges: [
    { id: tcp.id, policies: deny("conn.client_ip == '203.0.113.9'") },
    { id: https.id, policies: deny("http.request.url.path == '/admin'") },
  ],
  routes: [{ id: route.id, ip_restriction: { ip_policy_ids: [policy.id] } }],
  ip_policies: [
    {
      id: policy.id,
      add: [
        { cidr: '198.51.100.7', action: 'allow' as const, description: 'home' },
        { cidr: office, action: 'deny' as const },
      ],
      change: [{ id: rule.id, cidr: '203.0.112.0/23' }],
    },
  ],
  ip_restrictions: [{ enforced: true, ip_policy_ids: [policy.id] }],
})

t.test('challengers', async (t) => {
  const store = await openTestStore(t)
  const api = await store.api()

  t.test('a draft of everything is kept as it will be, and promoted as one write', async (t) => {
    const it = await furnished(await api.account())
    const { me, policy, rule, tcp, https, route } = it
    const made = await me.challenger.create({ description: 'all', draft: wholeDraft(it) })
    t.match(made, {
      id: /^chl_/,
      state: 'running',
      promoted_at: null,
      discarded_at: null,
      draft: { edges: [{ id: tcp.id, policies: { enabled: true, outbound: [] } }, { id: https.id }] },
    })
    t.equal(Date.parse(made.ends_at) - Date.parse(made.created_at), 24 * hourMs, 'a day by default')
    const rules = made.draft.ip_policies?.[0]?.add ?? []
    t.match(
      rules.map(({ id, cidr }) => ({ id, cidr })),
      [
        { id: /^ipr_/, cidr: '198.51.100.7/32' },
        { id: /^ipr_/, cidr: office },
      ],
    )
    t.match(
      made.based_on.map(({ version: _, ...basis }) => basis),
      [
        { kind: 'tcp_edge', id: tcp.id },
        { kind: 'https_edge', id: https.id },
        { kind: 'https_edge_route', id: route.id, edge_id: https.id },
        { kind: 'ip_policy', id: policy.id, rules: 1 },
      ],
    )
    t.strictSame(await me.challenger.get(made.id), made)
    t.equal((await me.tcpEdge.get(tcp.id)).policies, null, 'it decides nothing')

    const before = await all(me.changes())
    const promoted = await me.challengers.promote(made.id)
    t.match(promoted, { id: made.id, state: 'promoted', promoted_at: /Z$/ })
    t.match(await me.tcpEdge.get(tcp.id), {
      policies: { inbound: [{ name: 'nobody' }] },
      ip_restriction: { ip_policies: [{ id: policy.id }] },
      hostports: tcp.hostports,
    })
    t.match(await me.httpsEdge.get(https.id), { policies: { inbound: [{ name: 'nobody' }] } })
    t.match(await me.httpsEdgeRoute.under(https.id).get(route.id), {
      policies: { inbound: [{ expressions: ["http.request.method == 'put'"] }] },
      ip_restriction: { ip_policies: [{ id: policy.id }] },
    })
    const stored = await all(me.rules(policy.id))
    t.strictSame(
      stored.map(({ id, cidr, action }) => [id, cidr, action]).toSorted(),
      [
        [rule.id, '203.0.112.0/23', 'allow'],
        [rules[0]!.id, '198.51.100.7/32', 'allow'],
        [rules[1]!.id, office, 'deny'],
      ].toSorted(),
      'new rules have the ids of the draft',
    )
    const [restriction] = await all(me.ipRestriction.list())
    t.match(restriction, { id: made.draft.ip_restrictions?.[0]?.id, type: 'endpoints', enforced: true })
    const changes = (await all(me.changes())).slice(0, -before.length)
    t.equal(new Set(changes.map(({ version }) => version)).size, 1, 'one version')
    t.strictSame(changes.map(({ kind, verb }) => `${kind} ${verb}`).toSorted(), [
      'challenger update',
      'https_edge update',
      'https_edge_route update',
      'ip_policy update',
      'ip_restriction create',
      'tcp_edge update',
    ])
    t.ok(
      changes.every(({ by_promotion_of }) => by_promotion_of === made.id),
      'each names its cause',
    )
    const events = (await api.audits(me.accountId)).slice(-8).map(({ event_type }) => event_type)
    t.strictSame(events.toSorted(), [
      'challenger_updated.v0',
      'https_edge_route_updated.v0',
      'https_edge_updated.v0',
      'ip_policy_rule_created.v0',
      'ip_policy_rule_created.v0',
      'ip_policy_rule_updated.v0',
      'ip_restriction_created.v0',
      'tcp_edge_updated.v0',
    ])
    await me.challenger.update(made.id, { description: 'in force since the office moved' })
    t.match((await all(me.changes()))[0], { id: made.id, by_promotion_of: null }, 'and no other change does')
    t.match((await all(me.tcpEdge.changes(tcp.id)))[0], { by_promotion_of: made.id }, 'seen alone, too')
    t.match(await refused(400, me.challengers.promote(made.id)), /was promoted at/)
    t.match(await refused(400, me.challengers.discard(made.id)), /was promoted at/)
  })

  const stale: [string, (all: Furnished) => Promise<unknown>, (all: Furnished) => string][] = [
    ['an edge is changed', ({ me, tcp }) => me.tcpEdge.update(tcp.id, { description: 'x' }), (a) => a.tcp.id],
    [
      'a route is deleted',
      ({ me, https, route }) => me.httpsEdgeRoute.under(https.id).delete(route.id),
      (a) => a.route.id,
    ],
    [
      'a rule is added',
      ({ me, policy }) =>
        me.ipPolicyRule.create({ ip_policy_id: policy.id, cidr: '192.0.2.0/24', action: 'deny' }),
      (a) => a.policy.id,
    ],
    ['a rule is deleted', ({ me, rule }) => me.ipPolicyRule.delete(rule.id), (a) => a.policy.id],
    [
      'all rules are replaced',
      ({ me, policy }) => me.replaceRules(policy.id, [{ cidr: office, action: 'deny' }]),
      (a) => a.policy.id,
    ],
    [
      'a restriction of the type is made',
      ({ me, policy }) => me.ipRestriction.create({ type: 'endpoints', ip_policy_ids: [policy.id] }),
      () => 'ipx_',
    ],
  ]
  for (const [name, change, culprit] of stale) {
    t.test(`a promotion is refused when ${name} since the draft`, async (t) => {
      const it = await furnished(await api.account())
      const { me } = it
      const { id } = await me.challenger.create({ draft: wholeDraft(it) })
      await change(it)
      const before = (await all(me.changes())).length
      const refusal = await refusalOf(me.challengers.promote(id))
      t.match(refusal, { status_code: 409, error_code: 'ERR_DRAFT_OUTDATED', msg: culprit(it) })
      t.equal((await all(me.changes())).length, before, 'nothing changed')
      t.equal((await me.challenger.get(id)).state, 'running')
    })
  }

  t.test('rules name lists, and have an end', async (t) => {
    const { me, policy, rule, list } = await furnished(await api.account())
    const ends = inMs(hourMs)
    const body = {
      draft: {
        ip_policies: [
          {
            id: policy.id,
            add: [
              { list: { id: list.id, uri: list.uri }, action: 'deny', expires_at: ends, enforced: false },
            ],
            change: [{ id: rule.id, expires_at: ends }],
          },
        ],
      },
    }
    const { body: made } = await me.raw.send('POST', '/challengers', { body })
    t.match(made, { state: 'running' })
    t.match(await refusalOf(me.ipList.delete(list.id)), {
      msg: `The IP list ${list.id} can't be deleted: "draft.ip_policies[0].add[0].list_id" of the challenger ${made.id} names it.`,
    })
    const [drafted] = made.draft.ip_policies
    const expires_at = `${ends.slice(0, 19)}Z`
    t.match(drafted.add, [{ cidr: null, list_id: list.id, expires_at, enforced: false }])
    t.strictSame(drafted.change, [{ id: rule.id, expires_at }])
    t.match(await me.challengers.promote(made.id), { state: 'promoted' })
    t.match(
      (await all(me.rules(policy.id))).toSorted((one, other) => (one.id < other.id ? -1 : 1)),
      [
        { id: rule.id, expires_at },
        { id: drafted.add[0].id, list: { id: list.id }, cidr: null, expires_at, enforced: false },
      ],
    )
  })

  t.test(
    'a list that only an expression of a draft asks about stays until the draft is discarded',
    async (t) => {
      const { me, route, list } = await furnished(await api.account())
      const inbound = [
        { expressions: [`inList(conn.client_ip, '${list.name}')`], actions: [{ type: 'deny' as const }] },
      ]
      const { id } = await me.challenger.create({
        draft: { routes: [{ id: route.id, policies: { inbound } }] },
      })
      const place = `"draft.routes[0].policies.inbound[0].expressions[0]" of the challenger ${id} names it`
      t.match(await refusalOf(me.ipList.delete(list.id)), { msg: `deleted: ${place}` })
      t.match(await refusalOf(me.ipList.update(list.id, { name: `${list.name}-2` })), {
        msg: `renamed: ${place}`,
      })
      await me.challengers.discard(id)
      await me.ipList.delete(list.id)
    },
  )

  t.test('a rule that expires is no change since the draft, unless the draft names it', async (t) => {
    const drafted = async (draftOf: (ids: { rule: string; ban: string }) => object) => {
      const { me, policy, rule } = await furnished(await api.account())
      const ban = await me.ipPolicyRule.create({
        ip_policy_id: policy.id,
        cidr: '192.0.2.0/24',
        action: 'deny',
        // Two requests later it must still count.
        expires_at: inMs(5_000),
      })
      const entry = { id: policy.id, ...draftOf({ rule: rule.id, ban: ban.id }) }
      const made = await me.challenger.create({ draft: { ip_policies: [entry] } })
      t.match(made.based_on, [{ rules: 2, expiring: [{ at: ban.expires_at, rules: 1 }] }])
      return { me, id: made.id, policy, ban }
    }
    const named = await drafted(({ ban }) => ({ remove: [ban] }))
    const other = await drafted(({ rule }) => ({ change: [{ id: rule, cidr: '203.0.112.0/23' }] }))
    const changed = await drafted(({ rule }) => ({ change: [{ id: rule, cidr: '203.0.112.0/23' }] }))
    await changed.me.ipPolicyRule.delete(changed.ban.id)
    t.match(await refusalOf(changed.me.challengers.promote(changed.id)), {
      error_code: 'ERR_DRAFT_OUTDATED',
      msg: `${changed.policy.id} has changed`,
    })
    for (const { ban } of [named, other])
      await until('it has expired', () => Date.now() > Date.parse(String(ban.expires_at)))
    t.match(await other.me.challengers.promote(other.id), { state: 'promoted' })
    t.match(await refusalOf(named.me.challengers.promote(named.id)), {
      error_code: 'ERR_DRAFT_OUTDATED',
      msg: `${named.policy.id} has lost the rule ${named.ban.id}, which has expired`,
    })
  })

  t.test('what the draft does not change may change', async (t) => {
    const it = await furnished(await api.account())
    const { me, tcp, policy } = it
    const { id } = await me.challenger.create({
      draft: { edges: [{ id: tcp.id, policies: deny("conn.client_ip == '192.0.2.1'") }] },
    })
    await me.ipPolicyRule.create({ ip_policy_id: policy.id, cidr: '192.0.2.0/24', action: 'deny' })
    t.match(await me.challengers.promote(id), { state: 'promoted' })
  })

  t.test('a promotion runs the policy tests, and skips them as any write does', async (t) => {
    const it = await furnished(await api.account())
    const { me, tcp } = it
    const { id } = await me.challenger.create({ draft: wholeDraft(it) })
    const [server_name] = tcp.hostports![0]!.split(':')
    const conn = { client_ip: '203.0.113.9', server_name, server_port: 22 }
    const test = await me.policyTest.create({
      given: { type: 'tcp_connection', conn },
      expect: { decision: 'allow' },
    })
    t.match(await refusalOf(me.challengers.promote(id)), {
      error_code: 'ERR_POLICY_TEST',
      msg: new RegExp(`${test.id}.*would fail`),
    })
    t.equal((await me.tcpEdge.get(tcp.id)).policies, null, 'nothing changed')
    const rehearsed = await me.raw.send('POST', `/challengers/${id}/promote?validate_only=true`)
    t.match(rehearsed.body, { error_code: 'ERR_POLICY_TEST' }, 'so does a check')
    const forced = await me.raw.send('POST', `/challengers/${id}/promote?skip_tests=true`)
    t.match(forced, { status: 200, body: { state: 'promoted' } })
    const [change] = await all(me.changes())
    t.equal(change?.tests_skipped, true)
  })

  t.test('nobody locks himself out by a promotion', async (t) => {
    const { me, policy, rule } = await furnished(await api.account())
    await me.ipPolicyRule.create({ ip_policy_id: policy.id, cidr: '127.0.0.0/8', action: 'allow' })
    await me.ipRestriction.create({ type: 'api', enforced: true, ip_policy_ids: [policy.id] })
    const draft = { ip_policies: [{ id: policy.id, add: [{ cidr: '127.0.0.1', action: 'deny' as const }] }] }
    t.match(await refusalOf(me.challenger.create({ draft })), { error_code: 'ERR_LOCKOUT' })
    const { id } = await me.challenger.create({
      draft: { ip_policies: [{ id: policy.id, remove: [rule.id] }] },
    })
    t.match(await me.challengers.promote(id), { state: 'promoted' })
    t.equal((await all(me.rules(policy.id))).length, 1)
  })

  t.test('one runs at a time; one that was discarded, promoted or has ended makes room', async (t) => {
    const it = await furnished(await api.account())
    const { me, tcp } = it
    const draft = (ip: string) => ({ edges: [{ id: tcp.id, policies: deny(`conn.client_ip == '${ip}'`) }] })
    const first = await me.challenger.create({ draft: draft('192.0.2.1') })
    t.match(
      await refused(400, me.challenger.create({ draft: draft('192.0.2.2') })),
      new RegExp(`${first.id} is running: an account has one at a time`),
    )
    const before = (await all(me.changes())).find(({ id }) => id === first.id)!.version
    t.match(await me.challengers.discard(first.id), { state: 'discarded', discarded_at: /Z$/ })
    t.match(await refused(400, me.challengers.promote(first.id)), /was discarded at/)
    const second = await me.challenger.create({ draft: draft('192.0.2.2') })
    t.match(await refused(400, me.challenger.restore(first.id, before)), /is running/, 'not by a restoration')
    await me.challenger.delete(second.id)
    t.match(await me.challenger.restore(first.id, before), { state: 'running' })
    await me.challenger.delete(first.id)
    const short = await me.challenger.create({ draft: draft('192.0.2.3'), ends_at: inMs(2_000) })
    t.equal(short.state, 'running')
    await until('it ends by itself', async () => (await me.challenger.get(short.id)).state === 'ended')
    t.match(await me.challenger.create({ draft: draft('192.0.2.4') }), { state: 'running' })
    t.match(await me.challengers.promote(short.id), { state: 'promoted' }, 'also after its end')
    t.match(await all(me.challenger.list({ filter: "state == 'running'" })), [{ state: 'running' }])
  })

  t.test('only description and metadata change', async (t) => {
    const it = await furnished(await api.account())
    const { me } = it
    const made = await me.challenger.create({ draft: wholeDraft(it) })
    t.match(await me.challenger.update(made.id, { description: 'later' }), { description: 'later' })
    const patch = (body: object) => me.raw.send('PATCH', `/challengers/${made.id}`, { body })
    t.match(await patch({ draft: { edges: [] } }), { status: 400, body: { msg: /"draft" .*after creation/ } })
    t.match(await patch({ ends_at: inMs(hourMs) }), { status: 400, body: { msg: /"ends_at"/ } })
    t.match(await patch({ promoted_at: inMs(0) }), { status: 400, body: { msg: /"promoted_at"/ } })
    t.match(await patch(await me.challenger.get(made.id)), { status: 200 }, 'it can be sent back')
  })

  t.test('modules may be sent as GET shows them', async (t) => {
    const { me, tcp, https, policy, route } = await furnished(await api.account())
    const { ip_restriction } = await me.tcpEdge.get(tcp.id)
    const body = {
      draft: {
        edges: [{ id: tcp.id, ip_restriction: { ...ip_restriction, enabled: false } }],
        routes: [{ id: route.id, policies: deny('true'), ip_restriction }],
      },
    }
    const { status, body: made } = await me.raw.send('POST', '/challengers', { body })
    t.match(
      { status, made },
      {
        status: 201,
        made: { draft: { edges: [{ ip_restriction: { enabled: false, ip_policy_ids: [policy.id] } }] } },
      },
    )
    t.match(await me.challengers.promote(made.id), { state: 'promoted' })
    t.match(await me.httpsEdgeRoute.under(https.id).get(route.id), {
      ip_restriction: { ip_policies: [{ id: policy.id }] },
    })
  })

  t.test('faults are named at their places, all at once', async (t) => {
    const it = await furnished(await api.account())
    const { me, tcp, https, route, policy, rule, list } = it
    const other = await furnished(await api.account())
    const edges = (...entries: object[]) => ({ edges: entries })
    const rules = (entry: object) => ({ ip_policies: [{ id: policy.id, ...entry }] })
    const policies = deny("conn.client_ip == '192.0.2.1'")
    const dashboard = await me.ipRestriction.create({ type: 'dashboard', ip_policy_ids: [policy.id] })
    const wrong: [number, unknown, RegExp][] = [
      [400, undefined, /"draft" is required/],
      [400, {}, /"draft" changes nothing/],
      [400, { edgs: [] }, /"draft" has no field "edgs": did you mean "edges"/],
      [400, edges({ policies }), /"draft.edges\[0\]" lacks "id"/],
      [400, edges({ id: tcp.id }), /"draft.edges\[0\]" drafts nothing/],
      [400, edges({ id: tcp.id, backend: {} }), /"draft.edges\[0\]" has no field "backend"/],
      [400, edges({ id: tcp.id, policies: { inbound: 5 } }), /"draft.edges\[0\].policies.inbound" is 5/],
      [
        400,
        edges({ id: tcp.id, policies: { inbound: [{ actions: [] }] } }),
        /inbound\[0\].actions" .*at least 1/,
      ],
      [
        400,
        edges({ id: tcp.id, policies: deny('conn.client_ib == 1') }),
        /"draft.edges\[0\].policies.inbound\[0\].expressions\[0\]" .*conn.client_ip/,
      ],
      [
        400,
        edges({ id: tcp.id, policies: deny("http.request.method == 'get'") }),
        /"draft.edges\[0\].policies.inbound\[0\].expressions\[0\]"/,
      ],
      [
        400,
        edges({ id: https.id, ip_restriction: { ip_policy_ids: [policy.id] } }),
        /"draft.edges\[0\].ip_restriction" is given, but an HTTPS edge has no such module/,
      ],
      [404, edges({ id: unknown('edgtcp_'), policies }), /"draft.edges\[0\].id" names .* does not exist/],
      [404, edges({ id: other.tcp.id, policies }), /"draft.edges\[0\].id" names .* does not exist/],
      [404, { routes: [{ id: other.route.id, policies }] }, /"draft.routes\[0\].id" names .* does not exist/],
      [
        404,
        edges({ id: tcp.id, ip_restriction: { ip_policy_ids: [other.policy.id] } }),
        /"draft.edges\[0\].ip_restriction.ip_policy_ids\[0\]" names .* does not exist/,
      ],
      [
        400,
        edges({ id: tcp.id, policies }, { id: tcp.id, policies }),
        /"draft.edges\[1\].id" names .* second time/,
      ],
      [
        404,
        { ip_policies: [{ id: other.policy.id, remove: [rule.id] }] },
        /"draft.ip_policies\[0\].id" names/,
      ],
      [404, rules({ remove: [other.rule.id] }), /"draft.ip_policies\[0\].remove\[0\]" names .* no rule of/],
      [404, rules({ change: [{ id: other.rule.id, cidr: office }] }), /change\[0\].id" names .* no rule of/],
      [400, rules({ add: [{ cidr: '10.0.0.1/8', action: 'deny' }] }), /add\[0\].cidr" .*10\.0\.0\.0\/8/],
      [400, rules({ add: [{ cidr: office, action: 'deny' }] }), /add\[0\].cidr" is .* another rule/],
      [
        400,
        rules({ add: [{ action: 'deny' }] }),
        /"draft.ip_policies\[0\].add\[0\].cidr" is required .*list_id/,
      ],
      [
        404,
        rules({ add: [{ action: 'deny', list_id: other.list.id }] }),
        /"draft.ip_policies\[0\].add\[0\].list_id" names .* does not exist/,
      ],
      [
        400,
        rules({ change: [{ id: rule.id, list_id: list.id }] }),
        /change\[0\].cidr" and "draft.ip_policies\[0\].change\[0\].list_id" exclude each other/,
      ],
      [
        400,
        rules({ add: [{ cidr: '10.0.0.0/8', action: 'deny', expires_at: inMs(-hourMs) }] }),
        /add\[0\].expires_at" is .* must be later than now/,
      ],
      [
        400,
        rules({ change: [{ id: rule.id, expires_at: inMs(4000 * 24 * hourMs) }] }),
        /change\[0\].expires_at" is .* at most 3650 days/,
      ],
      [400, rules({ add: [{ cidr: office }] }), /"draft.ip_policies\[0\].add\[0\]" lacks "action"/],
      [400, rules({ change: [{ id: rule.id, action: 'deny' }] }), /has no field "action"/],
      [400, rules({ change: [{ id: rule.id, cidr: office }], remove: [rule.id] }), /second time/],
      [
        400,
        { ip_restrictions: [{ enforced: true }] },
        /"draft.ip_restrictions\[0\].ip_policy_ids" is required/,
      ],
      [
        404,
        { ip_restrictions: [{ ip_policy_ids: [other.policy.id] }] },
        /"draft.ip_restrictions\[0\].ip_policy_ids\[0\]" names/,
      ],
      [
        404,
        { ip_restrictions: [{ id: unknown('ipx_'), enforced: true }] },
        /"draft.ip_restrictions\[0\].id" names .* does not exist/,
      ],
      [
        400,
        { ip_restrictions: [{ id: dashboard.id, enforced: true }] },
        /only those of the type "endpoints"/,
      ],
      [
        400,
        rules({
          add: Array.from({ length: 1001 }, (_, n) => ({
            cidr: `10.0.${n >> 8}.${n & 255}`,
            action: 'deny',
          })),
        }),
        /1001 rules: at most 1000 are allowed/,
      ],
      [
        400,
        { edges: Array.from({ length: 51 }, () => ({ id: tcp.id, policies })) },
        /51 entries: at most 50/,
      ],
      [
        400,
        rules({
          add: [{ cidr: office, action: 'deny', metadata: 'x'.repeat(4000) }],
          remove: Array(2000).fill(`ipr_${'x'.repeat(60)}`),
        }),
        /131072 bytes of JSON/,
      ],
    ]
    for (const [status, draft, message] of wrong) {
      const answer = await me.raw.send('POST', '/challengers', { body: { draft } })
      t.match({ status: answer.status, msg: answer.body.msg }, { status, msg: message }, String(message))
    }
    const several = await refusalOf(
      me.challenger.create({
        draft: {
          edges: [{ id: tcp.id, policies: deny('conn.client_ib == 1') }],
          routes: [{ id: route.id, policies: deny('http.reqest == 1') }],
          ip_policies: [{ id: policy.id, remove: [other.rule.id] }],
        },
      }),
    )
    t.strictSame(
      Object.keys(several?.details ?? {}).filter((name) => name.startsWith('draft')).length >= 3,
      true,
    )
    for (const [ends_at, message] of [
      [inMs(-hourMs), /a time in the future is needed/],
      [inMs(8 * 24 * hourMs), /at most 7 days/],
      ['tomorrow', /"ends_at"/],
    ] as const)
      t.match(
        await refused(
          400,
          me.challenger.create({ draft: edges({ id: tcp.id, policies }) as never, ends_at }),
        ),
        message,
      )
    t.strictSame(await all(me.challenger.list()), [], 'nothing was stored')
    const checked = await me.raw.send('POST', '/challengers?validate_only=true', {
      body: { draft: edges({ id: tcp.id, policies }) },
    })
    t.match(checked, { status: 201, body: { state: 'running' } })
    t.strictSame(await all(me.challenger.list()), [], 'nor by a check')
  })

  t.test('the largest draft can be promoted', async (t) => {
    const { me, policy } = await furnished(await api.account())
    const add = Array.from({ length: 1000 }, (_, n) => ({
      cidr: `10.0.${n >> 8}.${n & 255}`,
      action: 'deny' as const,
      description: 'x'.repeat(40),
    }))
    const { id } = await me.challenger.create({ draft: { ip_policies: [{ id: policy.id, add }] } })
    t.match(await me.challengers.promote(id), { state: 'promoted' })
    t.equal((await all(me.rules(policy.id))).length, 1001)
  })
})
