/** Every kind of resource from create to delete, in the form that clients rely on. */
import t from 'tap'
import { base, openTestStore } from '../../harness/api.js'
import { all, type Caller, notFound, refused, statusOf } from '../../harness/caller.js'
import { targetShown } from '../../harness/targets.js'

const at = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/
const secret = 'wJalrXUtnFEMI-K7MDENG-bPxRfiCYEXAMPLEKEY'
const creds = { aws_access_key_id: 'AKIAIOSFODNN7EXAMPLE', aws_secret_access_key: secret }
const arn = 'arn:aws:kinesis:eu-west-1:123456789012:stream/events'
const sshKey = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcH'

interface Named {
  readonly policy: string
  readonly backend: string
  readonly edge: string
  readonly destination: string
}

/** The body that creates each kind, and its answer without `id`, `uri` and `created_at`. */
const kinds = (named: Named) => {
  const ref = (path: string, id: string) => ({ id, uri: `${base}${path}/${id}` })
  const policies = [ref('/ip_policies', named.policy)]
  const backend = { enabled: true, backend: ref('/backends/tunnel_group', named.backend) }
  const restriction = { enabled: true, ip_policies: policies }
  const routes = `/edges/https/${named.edge}/routes`
  const auth = { role: null, creds: { ...creds, aws_secret_access_key: null } }
  const target = targetShown({ kinesis: { stream_arn: arn, auth } })
  const unset = { hostports: null, backend: null, ip_restriction: null, policies: null }
  return [
    { path: '/ip_policies', list: 'ip_policies', body: {}, shown: {} },
    { path: '/edges/tcp', list: 'tcp_edges', body: {}, shown: unset },
    {
      path: '/edges/tcp',
      list: 'tcp_edges',
      body: {
        hostports: ['A.Example:22', '[0:0::1]:22'],
        backend: { backend_id: named.backend },
        ip_restriction: { enabled: false, ip_policy_ids: [named.policy] },
        policies: { inbound: [{ name: '', actions: [{ type: 'deny', config: null }] }] },
      },
      shown: {
        hostports: ['a.example:22', '[::1]:22'],
        backend,
        ip_restriction: { ...restriction, enabled: false },
        policies: {
          enabled: true,
          inbound: [{ expressions: [], actions: [{ type: 'deny', config: null }], enforced: true }],
          outbound: [],
        },
      },
    },
    {
      path: '/edges/https',
      list: 'https_edges',
      body: {},
      shown: { hostports: null, policies: null, routes: [] },
    },
    {
      path: routes,
      body: { match_type: 'path_prefix', match: '/a', backend: { backend_id: named.backend } },
      shown: {
        edge_id: named.edge,
        match_type: 'path_prefix',
        match: '/a',
        backend,
        ip_restriction: null,
        policies: null,
      },
    },
    {
      path: '/backends/tunnel_group',
      list: 'backends',
      body: { labels: { app: 'ssh', __proto: 'x' } },
      shown: { labels: { app: 'ssh', __proto: 'x' }, tunnels: [] },
    },
    {
      path: '/ip_policy_rules',
      list: 'ip_policy_rules',
      body: { ip_policy_id: named.policy, cidr: '2001:DB8:0::/32', action: 'deny' },
      shown: {
        cidr: '2001:db8::/32',
        ip_policy: policies[0],
        action: 'deny',
        expires_at: null,
        list: null,
        enforced: true,
      },
    },
    {
      path: '/ip_restrictions',
      list: 'ip_restrictions',
      body: { type: 'endpoints', ip_policy_ids: [named.policy] },
      shown: { enforced: false, type: 'endpoints', ip_policies: policies },
    },
    {
      path: '/ssh_credentials',
      list: 'ssh_credentials',
      body: { public_key: `${sshKey}\n`, acl: ['*', 'bind:A.example'] },
      shown: { public_key: sshKey, acl: ['*', 'bind:a.example'] },
    },
    {
      path: '/event_destinations',
      list: 'event_destinations',
      body: { target: { kinesis: { stream_arn: arn, auth: { creds } }, firehose: null } },
      shown: { format: 'json', target },
    },
    {
      path: '/event_subscriptions',
      list: 'event_subscriptions',
      body: {},
      shown: { sources: [], destinations: [] },
    },
    {
      path: '/event_subscriptions',
      list: 'event_subscriptions',
      body: { sources: [{ type: 'log.v0' }], destination_ids: [named.destination] },
      shown: { destinations: [ref('/event_destinations', named.destination)] },
    },
    {
      path: '/credentials',
      list: 'credentials',
      body: {},
      shown: { ...unusedToken, acl: [] },
    },
    {
      path: '/credentials',
      list: 'credentials',
      body: { acl: ['bind:*.Bücher.example', 'bind:bücher.example:443', 'bind:::1', '*'] },
      shown: {
        ...unusedToken,
        acl: ['bind:*.xn--bcher-kva.example', 'bind:xn--bcher-kva.example:443', 'bind:[::1]', '*'],
      },
    },
    {
      path: '/api_keys',
      list: 'keys',
      body: {},
      shown: { ...unusedToken, expires_at: null },
    },
  ]
}

const unusedToken = { token: null, last_used_at: null, last_used_from: null }

async function setUp(me: Caller): Promise<Named> {
  const target = { kinesis: { stream_arn: arn, auth: { creds } } }
  return {
    policy: (await me.ipPolicy.create({})).id,
    backend: (await me.tunnelGroupBackend.create({})).id,
    edge: (await me.httpsEdge.create({})).id,
    destination: (await me.eventDestination.create({ target })).id,
  }
}

t.test('resources', async (t) => {
  const store = await openTestStore(t)
  const api = await store.api()
  const me = await api.account()
  const named = await setUp(me)
  const other = await api.account('other')

  for (const { path, list, body, shown } of kinds(named)) {
    t.test(`${path} ${JSON.stringify(body).slice(0, 50)}`, async (t) => {
      const [mine, theirs] = [me.at(path), other.at(path)]
      const created = await me.raw.send('POST', path, { body })
      t.equal(created.status, 201)
      const { id, token, ...rest } = created.body
      t.equal(rest.uri, `${base}${path}/${id}`, 'the uri is absolute')
      t.equal(created.headers['location'], rest.uri)
      t.match(rest.created_at, at, 'whole seconds, UTC')
      const got = await mine.get(id)
      const { sources, ...own } = got
      const plain = { id, uri: rest.uri, created_at: rest.created_at }
      t.strictSame('sources' in shown ? got : own, { ...plain, ...shown }, 'exactly these fields')
      t.equal(typeof token, 'token' in shown ? 'string' : 'undefined', 'a token is shown once')
      t.strictSame({ ...created.body, ...(token === undefined ? {} : { token: null }) }, got, 'as created')
      if (list !== undefined) {
        const page = await me.raw.get(path)
        t.strictSame(page[list][0], got, 'the newest comes first')
        t.strictSame(Object.keys(page), [list, 'uri', 'next_page_uri'])
        t.equal(page.uri, `${base}${path}`)
        t.equal((await all(theirs.list())).length, list === 'keys' ? 1 : 0, 'of one account alone')
      }
      const described = await mine.update(id, { description: 'Grüße', metadata: '{}' })
      t.strictSame(described, { ...got, description: 'Grüße', metadata: '{}' })
      t.strictSame(await mine.update(id, {}), described, 'absent fields stay')
      t.strictSame(await mine.update(id, { description: null, metadata: '' }), got, 'cleared')
      await notFound(theirs, id)
      t.equal(await mine.delete(id), undefined)
      for (const says of await notFound(mine, id)) t.match(says, id)
    })
  }

  t.test('null means absent in a create request', async (t) => {
    const nothing = { description: null, metadata: '', hostports: null, backend: null, policies: null }
    const { id, uri, created_at, ...rest } = await me.tcpEdge.create(nothing)
    t.strictSame(rest, { hostports: null, backend: null, ip_restriction: null, policies: null })
    const body = { ip_policy_ids: [named.policy], enforced: null }
    const made = await me.ipRestriction.create({ type: 'agent', ...body })
    t.equal(made.enforced, false)
    t.equal((await me.ipRestriction.update(made.id, { enforced: true })).enforced, true)
    t.equal((await me.ipRestriction.update(made.id, { enforced: null })).enforced, false)
    const module = await me.tcpEdge.create({ backend: { backend_id: named.backend, enabled: null } })
    t.equal(module.backend?.enabled, true)
  })

  t.test('a list replaces the list; null and [] clear it', async (t) => {
    const { id } = await me.tcpEdge.create({ hostports: ['l1.example:1', 'l2.example:1'] })
    t.strictSame((await me.tcpEdge.update(id, { hostports: ['l3.example:1'] })).hostports, ['l3.example:1'])
    t.equal((await me.tcpEdge.update(id, { hostports: [] })).hostports, null)
    await me.tcpEdge.update(id, { hostports: ['l3.example:1'] })
    t.equal((await me.tcpEdge.update(id, { hostports: null })).hostports, null)
    const subscription = await me.eventSubscription.create({ destination_ids: [named.destination] })
    const cleared = await me.eventSubscription.update(subscription.id, { destination_ids: null })
    t.strictSame(cleared.destinations, [])
  })

  t.test('modules', async (t) => {
    const { id } = await me.tcpEdge.create({})
    const edges = me.at('/edges/tcp')
    for (const name of ['backend', 'ip_restriction', 'policies'] as const) {
      await refused(404, me.tcpEdge[name].get(id))
      await refused(404, me.tcpEdge[name].delete(id))
      t.equal((await edges.update(id, { [name]: null }))[name], null, 'it is unset already')
      await refused(404, other.at('/edges/tcp').module(name).put(id, {}))
    }
    const bodies: Record<string, object> = {
      backend: { backend_id: named.backend },
      ip_restriction: { ip_policy_ids: [named.policy] },
      policies: { outbound: [{ name: 'n', expressions: ['conn.bytes_in > 5'], actions: [log('mEtadata')] }] },
    }
    for (const [name, body] of Object.entries(bodies)) {
      const module = edges.module<object, { readonly enabled: boolean }>(name)
      const put = await module.put(id, body)
      t.equal(put.enabled, true, 'PUT without "enabled"')
      t.strictSame(await module.get(id), put)
      t.strictSame((await edges.get(id))[name], put)
      t.match(await refused(400, edges.update(id, { [name]: null })), /its own DELETE/)
      const off = await module.put(id, { ...body, enabled: false })
      t.strictSame(off, { ...put, enabled: false })
      t.strictSame((await edges.update(id, { [name]: body }))[name], put, 'replaced whole')
      t.strictSame((await edges.update(id, { description: name }))[name], put, 'absent is unchanged')
      t.equal(await module.delete(id), undefined)
      t.equal((await edges.get(id))[name], null)
    }
    const policies = await me.tcpEdge.policies.put(id, bodies['policies'] ?? {})
    t.strictSame(policies, {
      enabled: true,
      inbound: [],
      outbound: [
        { name: 'n', expressions: ['conn.bytes_in > 5'], actions: [log('mEtadata')], enforced: true },
      ],
    })
    for (const name of ['backend', 'ip_restriction'])
      await refused(400, edges.update(id, { [name]: { enabled: false } }))
    t.strictSame(await me.tcpEdge.policies.put(id, {}), { enabled: true, inbound: [], outbound: [] })
  })

  t.test('traffic policies of an HTTPS edge and of its routes', async (t) => {
    const { id } = await me.httpsEdge.create({})
    const routes = me.httpsEdgeRoute.under(id)
    const route = await routes.create({ match_type: 'exact_path', match: '/' })
    const inbound = [
      {
        name: 'a key',
        expressions: ["http.request.headers['X-Key'] == null"],
        actions: [{ type: 'deny' as const, config: null }],
        enforced: true,
      },
    ]
    const outbound = [
      { expressions: ['http.response.status_code >= 500'], actions: [log('metadata')], enforced: true },
    ]
    const whole = { enabled: true, inbound, outbound }
    for (const { policies, id: owner } of [
      { policies: me.httpsEdge.policies, id },
      { policies: routes.policies, id: route.id },
    ]) {
      await refused(404, policies.get(owner))
      t.strictSame(await policies.put(owner, { inbound, outbound }), whole)
      t.strictSame(await policies.get(owner), whole)
      const bytes = { outbound: [{ expressions: ['conn.bytes_out > 5'], actions: [log('metadata')] }] }
      t.match(
        await refused(400, policies.put(owner, bytes)),
        /conn\.bytes_out is known of TCP connections only/,
      )
      const early = {
        inbound: [{ expressions: ['http.response.status_code > 499'], actions: [log('metadata')] }],
      }
      t.match(await refused(400, policies.put(owner, early)), /when the request is complete/)
    }
    const edge = await me.httpsEdge.get(id)
    t.strictSame([edge.policies, edge.routes[0]?.policies], [whole, whole])
    const tcp = { inbound: [{ expressions: ["http.request.method == 'get'"], actions: [log('metadata')] }] }
    t.match(await refused(400, me.tcpEdge.create({ policies: tcp })), /known of HTTP requests only/)
    await routes.policies.delete(route.id)
    t.equal((await routes.get(route.id)).policies, null)
    const filtered = await all(me.httpsEdge.list({ filter: 'policies.enabled' }))
    t.same(
      filtered.map((each) => each.id),
      [id],
    )
    await me.httpsEdge.update(id, { policies: {} })
    t.strictSame((await me.httpsEdge.get(id)).policies, { enabled: true, inbound: [], outbound: [] })
    await me.httpsEdge.delete(id)
  })

  t.test('routes are shown in their edge and deleted with it', async (t) => {
    const edge = await me.httpsEdge.create({ hostports: ['routes.example:443'] })
    const routes = me.httpsEdgeRoute.under(edge.id)
    const first = await routes.create({ match_type: 'exact_path', match: '/' })
    const second = await routes.create({ match_type: 'path_prefix', match: '/' })
    t.strictSame((await me.httpsEdge.get(edge.id)).routes, [second, first])
    await refused(404, me.httpsEdgeRoute.under(named.edge).get(first.id))
    t.match(await refused(400, routes.create({ match_type: 'path_prefix', match: '/' })), second.id)
    await routes.create({ match_type: 'path_prefix', match: '/a' })
    await refused(400, routes.create({ match_type: 'path_prefix', match: '/a/' }))
    await routes.backend.put(first.id, { backend_id: named.backend })
    t.equal((await routes.backend.get(first.id)).backend.id, named.backend)
    await me.httpsEdge.delete(edge.id)
    await refused(404, routes.get(first.id))
    await refused(404, routes.create({ match_type: 'exact_path', match: '/' }))
  })

  t.test('deleting an IP policy deletes its rules and keeps references to it', async (t) => {
    const policy = await me.ipPolicy.create({})
    const rule = await me.ipPolicyRule.create({
      ip_policy_id: policy.id,
      cidr: '192.0.2.0/24',
      action: 'allow',
    })
    const edge = await me.tcpEdge.create({ ip_restriction: { ip_policy_ids: [policy.id] } })
    await me.ipPolicy.delete(policy.id)
    await refused(404, me.ipPolicyRule.get(rule.id))
    t.equal((await me.tcpEdge.get(edge.id)).ip_restriction?.ip_policies[0]?.id, policy.id)
    t.equal((await me.tcpEdge.update(edge.id, { description: 'x' })).description, 'x')
    const anew = { ip_restriction: { ip_policy_ids: [policy.id] } }
    const { id: another } = await me.tcpEdge.create({})
    const says = await refused(404, me.tcpEdge.update(another, anew))
    t.match(says, `"ip_restriction.ip_policy_ids[0]" names "${policy.id}"`)
  })

  t.test("referenced resources that can't be deleted", async (t) => {
    const { id: backend } = await me.tunnelGroupBackend.create({})
    const edge = await me.tcpEdge.create({ backend: { backend_id: backend } })
    t.match(await refused(400, me.tunnelGroupBackend.delete(backend)), edge.id)
    await me.tcpEdge.backend.delete(edge.id)
    await me.tunnelGroupBackend.delete(backend)
    const target = { kinesis: { stream_arn: arn, auth: { creds } } }
    const { id: destination } = await me.eventDestination.create({ target })
    const subscription = await me.eventSubscription.create({ destination_ids: [destination] })
    t.match(await refused(400, me.eventDestination.delete(destination)), subscription.id)
    await me.eventSubscription.delete(subscription.id)
    await me.eventDestination.delete(destination)
  })

  t.test('a CIDR occurs once in a policy, in any spelling', async (t) => {
    const { id: ip_policy_id } = await me.ipPolicy.create({})
    const rule = { ip_policy_id, action: 'allow' } as const
    const pairs: [string, string][] = [
      ['2001:db8::/48', '2001:0DB8:0:0::/48'],
      ['10.0.0.0/8', '::ffff:10.0.0.0/104'],
    ]
    for (const [one, same] of pairs) {
      const first = await me.ipPolicyRule.create({ ...rule, cidr: one })
      for (const action of ['allow', 'deny'] as const)
        t.match(await refused(400, me.ipPolicyRule.create({ ...rule, cidr: same, action })), first.id)
    }
    const third = await me.ipPolicyRule.create({ ...rule, cidr: '10.0.0.0/16' })
    await refused(400, me.ipPolicyRule.update(third.id, { cidr: '10.0.0.0/8' }))
    t.equal((await me.ipPolicyRule.update(third.id, { cidr: '10.0.0.0/16' })).cidr, '10.0.0.0/16')
    t.equal((await me.ipPolicyRule.update(third.id, { cidr: '10.9.0.0/16' })).cidr, '10.9.0.0/16')
    const elsewhere = await me.ipPolicy.create({})
    await me.ipPolicyRule.create({ ...rule, ip_policy_id: elsewhere.id, cidr: '10.0.0.0/8' })
  })

  t.test('a hostport belongs to one edge of the deployment', async (t) => {
    const tcp = await me.tcpEdge.create({ hostports: ['one.example:22', '[::1]:9'] })
    const taken = { hostports: ['ONE.example:22'] }
    t.match(await refused(400, me.tcpEdge.create(taken)), 'one.example:22')
    await refused(400, other.tcpEdge.create(taken))
    await refused(400, other.httpsEdge.create(taken))
    await refused(400, other.httpsEdge.create({ hostports: ['[0::1]:9'] }))
    await me.tcpEdge.update(tcp.id, { hostports: ['one.example:23'] })
    const { id } = await other.httpsEdge.create(taken)
    await refused(400, me.tcpEdge.update(tcp.id, taken))
    await other.httpsEdge.delete(id)
    await me.tcpEdge.update(tcp.id, taken)
    const racers = await Promise.all(
      Array.from({ length: 8 }, (_, at) =>
        statusOf((at % 2 === 0 ? me : other).tcpEdge.create({ hostports: ['race.example:1'] })),
      ),
    )
    t.equal(racers.filter((status) => status === 'ok').length, 1, 'one of many at once wins')
    const { hostports } = await me.httpsEdge.create({ hostports: ['BÜCHER.example:443'] })
    t.strictSame(hostports, ['xn--bcher-kva.example:443'], 'kept in ASCII')
    const same = { hostports: ['bücher.example:443'] }
    t.match(await refused(400, other.tcpEdge.create(same)), 'xn--bcher-kva.example:443')
  })

  t.test('one restriction per type', async (t) => {
    const caller = await api.account()
    const { id } = await caller.ipPolicy.create({})
    const body = { type: 'dashboard' as const, ip_policy_ids: [id] }
    const first = await caller.ipRestriction.create(body)
    t.match(await refused(400, caller.ipRestriction.create(body)), first.id)
    await caller.ipRestriction.delete(first.id)
    await caller.ipRestriction.create(body)
  })

  t.test('resources of another account are invisible', async (t) => {
    const { id: destination } = await other.eventDestination.create({
      target: { kinesis: { stream_arn: arn, auth: { creds } } },
    })
    const cases: [string, object, string][] = [
      ['/edges/tcp', { backend: { backend_id: named.backend } }, 'backend.backend_id'],
      [
        '/edges/tcp',
        { ip_restriction: { ip_policy_ids: [named.policy] } },
        'ip_restriction.ip_policy_ids[0]',
      ],
      [
        '/ip_policy_rules',
        { ip_policy_id: named.policy, cidr: '10.0.0.0/8', action: 'allow' },
        'ip_policy_id',
      ],
      ['/ip_restrictions', { type: 'agent', ip_policy_ids: [named.policy] }, 'ip_policy_ids[0]'],
      ['/event_subscriptions', { destination_ids: [destination, named.destination] }, 'destination_ids[1]'],
    ]
    for (const [path, body, field] of cases)
      t.match(await refused(404, other.at(path).create(body)), `"${field}" names`, path)
    await refused(
      404,
      other.httpsEdgeRoute.under(named.edge).create({
        match_type: 'exact_path',
        match: '/',
      }),
    )
  })
})

const log = (key: string) => ({ type: 'log' as const, config: { [key]: { Message: 'hello' } } })
