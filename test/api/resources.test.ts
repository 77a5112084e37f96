/** Every kind of resource from create to delete, in the form that clients rely on. */
import t from 'tap'
import { base, openTestStore } from '../harness/api.js'
import type { RawClient } from '../harness/raw-client.js'

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
  const target = { kinesis: { stream_arn: arn, auth }, firehose: null, cloudwatch_logs: null }
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
          inbound: [{ expressions: [], actions: [{ type: 'deny', config: null }] }],
          outbound: [],
        },
      },
    },
    { path: '/edges/https', list: 'https_edges', body: {}, shown: { hostports: null, routes: [] } },
    {
      path: routes,
      body: { match_type: 'path_prefix', match: '/a', backend: { backend_id: named.backend } },
      shown: {
        edge_id: named.edge,
        match_type: 'path_prefix',
        match: '/a',
        backend,
        ip_restriction: null,
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
      shown: { cidr: '2001:db8::/32', ip_policy: policies[0], action: 'deny' },
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
      shown: { public_key: sshKey, acl: ['*', 'bind:A.example'] },
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
    { path: '/credentials', list: 'credentials', body: {}, shown: { token: null, acl: [] } },
    {
      path: '/credentials',
      list: 'credentials',
      body: { acl: ['bind:*.A.example', 'bind:[::1]:22', '*'] },
      shown: { token: null, acl: ['bind:*.A.example', 'bind:[::1]:22', '*'] },
    },
    { path: '/api_keys', list: 'keys', body: {}, shown: { token: null } },
  ]
}

async function setUp(me: RawClient): Promise<Named> {
  const target = { kinesis: { stream_arn: arn, auth: { creds } } }
  const made = async (path: string, body: object = {}): Promise<string> => (await me.post(path, body)).id
  return {
    policy: await made('/ip_policies'),
    backend: await made('/backends/tunnel_group'),
    edge: await made('/edges/https'),
    destination: await made('/event_destinations', { target }),
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
      const created = await me.send('POST', path, { body })
      t.equal(created.status, 201)
      const { id, token, ...rest } = created.body
      t.equal(rest.uri, `${base}${path}/${id}`, 'the uri is absolute')
      t.equal(created.headers['location'], rest.uri)
      t.match(rest.created_at, at, 'whole seconds, UTC')
      const got = await me.get(`${path}/${id}`)
      const { sources, ...own } = got
      const plain = { id, uri: rest.uri, created_at: rest.created_at }
      t.strictSame('sources' in shown ? got : own, { ...plain, ...shown }, 'exactly these fields')
      t.equal(typeof token, 'token' in shown ? 'string' : 'undefined', 'a token is shown once')
      t.strictSame({ ...created.body, ...(token === undefined ? {} : { token: null }) }, got, 'as created')
      if (list !== undefined) {
        const page = await me.get(path)
        t.strictSame(page[list][0], got, 'the newest comes first')
        t.strictSame(Object.keys(page), [list, 'uri', 'next_page_uri'])
        t.equal(page.uri, `${base}${path}`)
        t.strictSame((await other.get(path))[list].length, list === 'keys' ? 1 : 0, 'of one account alone')
      }
      const described = await me.patch(`${path}/${id}`, { description: 'Grüße', metadata: '{}' })
      t.strictSame(described, { ...got, description: 'Grüße', metadata: '{}' })
      t.strictSame(await me.patch(`${path}/${id}`, {}), described, 'absent fields stay')
      t.strictSame(await me.patch(`${path}/${id}`, { description: null, metadata: '' }), got, 'cleared')
      for (const method of ['GET', 'PATCH', 'DELETE'])
        await other.refused(404, method, `${path}/${id}`, method === 'PATCH' ? {} : undefined)
      t.equal(await me.delete(`${path}/${id}`), undefined)
      for (const method of ['GET', 'PATCH', 'DELETE'])
        t.match(await me.refused(404, method, `${path}/${id}`, method === 'PATCH' ? {} : undefined), id)
    })
  }

  t.test('null means absent in a create request', async (t) => {
    const nothing = { description: null, metadata: '', hostports: null, backend: null, policies: null }
    const { id, uri, created_at, ...rest } = await me.post('/edges/tcp', nothing)
    t.strictSame(rest, { hostports: null, backend: null, ip_restriction: null, policies: null })
    const restriction = { type: 'agent', ip_policy_ids: [named.policy], enforced: null }
    const made = await me.post('/ip_restrictions', restriction)
    t.equal(made.enforced, false)
    t.equal((await me.patch(`/ip_restrictions/${made.id}`, { enforced: true })).enforced, true)
    t.equal((await me.patch(`/ip_restrictions/${made.id}`, { enforced: null })).enforced, false)
    const module = await me.post('/edges/tcp', { backend: { backend_id: named.backend, enabled: null } })
    t.equal(module.backend.enabled, true)
  })

  t.test('a list replaces the list; null and [] clear it', async (t) => {
    const { id } = await me.post('/edges/tcp', { hostports: ['l1.example:1', 'l2.example:1'] })
    const path = `/edges/tcp/${id}`
    t.strictSame((await me.patch(path, { hostports: ['l3.example:1'] })).hostports, ['l3.example:1'])
    t.equal((await me.patch(path, { hostports: [] })).hostports, null)
    await me.patch(path, { hostports: ['l3.example:1'] })
    t.equal((await me.patch(path, { hostports: null })).hostports, null)
    const subscription = await me.post('/event_subscriptions', { destination_ids: [named.destination] })
    const cleared = await me.patch(`/event_subscriptions/${subscription.id}`, { destination_ids: null })
    t.strictSame(cleared.destinations, [])
  })

  t.test('modules', async (t) => {
    const { id } = await me.post('/edges/tcp')
    const edge = `/edges/tcp/${id}`
    for (const name of ['backend', 'ip_restriction', 'policies']) {
      await me.refused(404, 'GET', `${edge}/${name}`)
      await me.refused(404, 'DELETE', `${edge}/${name}`)
      t.equal((await me.patch(edge, { [name]: null }))[name], null, 'it is unset already')
      await other.refused(404, 'PUT', `${edge}/${name}`, {})
    }
    const bodies: Record<string, object> = {
      backend: { backend_id: named.backend },
      ip_restriction: { ip_policy_ids: [named.policy] },
      policies: { outbound: [{ name: 'n', expressions: ['conn.bytes_in > 5'], actions: [log('mEtadata')] }] },
    }
    for (const [name, body] of Object.entries(bodies)) {
      const put = await me.put(`${edge}/${name}`, body)
      t.equal(put.enabled, true, 'PUT without "enabled"')
      t.strictSame(await me.get(`${edge}/${name}`), put)
      t.strictSame((await me.get(edge))[name], put)
      t.match(await me.refused(400, 'PATCH', edge, { [name]: null }), /its own DELETE/)
      const off = await me.put(`${edge}/${name}`, { ...body, enabled: false })
      t.strictSame(off, { ...put, enabled: false })
      t.strictSame((await me.patch(edge, { [name]: body }))[name], put, 'replaced whole')
      t.strictSame((await me.patch(edge, { description: name }))[name], put, 'absent is unchanged')
      t.equal(await me.delete(`${edge}/${name}`), undefined)
      t.equal((await me.get(edge))[name], null)
    }
    const policies = await me.put(`${edge}/policies`, bodies['policies'] ?? {})
    t.strictSame(policies, {
      enabled: true,
      inbound: [],
      outbound: [{ name: 'n', expressions: ['conn.bytes_in > 5'], actions: [log('mEtadata')] }],
    })
    for (const name of ['backend', 'ip_restriction'])
      await me.refused(400, 'PATCH', edge, { [name]: { enabled: false } })
    t.strictSame(await me.put(`${edge}/policies`, {}), { enabled: true, inbound: [], outbound: [] })
  })

  t.test('routes are shown in their edge and deleted with it', async (t) => {
    const edge = await me.post('/edges/https', { hostports: ['routes.example:443'] })
    const routes = `/edges/https/${edge.id}/routes`
    const first = await me.post(routes, { match_type: 'exact_path', match: '/' })
    const second = await me.post(routes, { match_type: 'path_prefix', match: '/' })
    t.strictSame((await me.get(`/edges/https/${edge.id}`)).routes, [second, first])
    const elsewhere = `/edges/https/${named.edge}/routes/${first.id}`
    await me.refused(404, 'GET', elsewhere)
    t.match(await me.refused(400, 'POST', routes, { match_type: 'path_prefix', match: '/' }), second.id)
    await me.post(routes, { match_type: 'path_prefix', match: '/a' })
    await me.refused(400, 'POST', routes, { match_type: 'path_prefix', match: '/a/' })
    const module = `${routes}/${first.id}/backend`
    await me.put(module, { backend_id: named.backend })
    t.equal((await me.get(module)).backend.id, named.backend)
    await me.delete(`/edges/https/${edge.id}`)
    await me.refused(404, 'GET', `${routes}/${first.id}`)
    await me.refused(404, 'POST', routes, { match_type: 'exact_path', match: '/' })
  })

  t.test('deleting an IP policy deletes its rules and keeps references to it', async (t) => {
    const policy = await me.post('/ip_policies')
    const rule = await me.post('/ip_policy_rules', {
      ip_policy_id: policy.id,
      cidr: '192.0.2.0/24',
      action: 'allow',
    })
    const edge = await me.post('/edges/tcp', { ip_restriction: { ip_policy_ids: [policy.id] } })
    await me.delete(`/ip_policies/${policy.id}`)
    await me.refused(404, 'GET', `/ip_policy_rules/${rule.id}`)
    t.equal((await me.get(`/edges/tcp/${edge.id}`)).ip_restriction.ip_policies[0].id, policy.id)
    t.equal((await me.patch(`/edges/tcp/${edge.id}`, { description: 'x' })).description, 'x')
    const anew = { ip_restriction: { ip_policy_ids: [policy.id] } }
    const { id: another } = await me.post('/edges/tcp')
    const says = await me.refused(404, 'PATCH', `/edges/tcp/${another}`, anew)
    t.match(says, `"ip_restriction.ip_policy_ids[0]" names "${policy.id}"`)
  })

  t.test("referenced resources that can't be deleted", async (t) => {
    const { id: backend } = await me.post('/backends/tunnel_group')
    const edge = await me.post('/edges/tcp', { backend: { backend_id: backend } })
    t.match(await me.refused(400, 'DELETE', `/backends/tunnel_group/${backend}`), edge.id)
    await me.delete(`/edges/tcp/${edge.id}/backend`)
    await me.delete(`/backends/tunnel_group/${backend}`)
    const target = { kinesis: { stream_arn: arn, auth: { creds } } }
    const { id: destination } = await me.post('/event_destinations', { target })
    const subscription = await me.post('/event_subscriptions', { destination_ids: [destination] })
    t.match(await me.refused(400, 'DELETE', `/event_destinations/${destination}`), subscription.id)
    await me.delete(`/event_subscriptions/${subscription.id}`)
    await me.delete(`/event_destinations/${destination}`)
  })

  t.test('a CIDR occurs once in a policy, in any spelling', async (t) => {
    const { id: ip_policy_id } = await me.post('/ip_policies')
    const rule = { ip_policy_id, action: 'allow' }
    const pairs = [
      ['2001:db8::/48', '2001:0DB8:0:0::/48'],
      ['10.0.0.0/8', '::ffff:10.0.0.0/104'],
    ]
    for (const [one, same] of pairs) {
      const first = await me.post('/ip_policy_rules', { ...rule, cidr: one })
      for (const action of ['allow', 'deny'])
        t.match(await me.refused(400, 'POST', '/ip_policy_rules', { ...rule, cidr: same, action }), first.id)
    }
    const third = await me.post('/ip_policy_rules', { ...rule, cidr: '10.0.0.0/16' })
    await me.refused(400, 'PATCH', `/ip_policy_rules/${third.id}`, { cidr: '10.0.0.0/8' })
    t.equal((await me.patch(`/ip_policy_rules/${third.id}`, { cidr: '10.0.0.0/16' })).cidr, '10.0.0.0/16')
    t.equal((await me.patch(`/ip_policy_rules/${third.id}`, { cidr: '10.9.0.0/16' })).cidr, '10.9.0.0/16')
    const elsewhere = await me.post('/ip_policies')
    await me.post('/ip_policy_rules', { ...rule, ip_policy_id: elsewhere.id, cidr: '10.0.0.0/8' })
  })

  t.test('a hostport belongs to one edge of the deployment', async (t) => {
    const tcp = await me.post('/edges/tcp', { hostports: ['one.example:22', '[::1]:9'] })
    const taken = { hostports: ['ONE.example:22'] }
    t.match(await me.refused(400, 'POST', '/edges/tcp', taken), 'one.example:22')
    await other.refused(400, 'POST', '/edges/tcp', taken)
    await other.refused(400, 'POST', '/edges/https', taken)
    await other.refused(400, 'POST', '/edges/https', { hostports: ['[0::1]:9'] })
    await me.patch(`/edges/tcp/${tcp.id}`, { hostports: ['one.example:23'] })
    const { id } = await other.post('/edges/https', taken)
    await me.refused(400, 'PATCH', `/edges/tcp/${tcp.id}`, taken)
    await other.delete(`/edges/https/${id}`)
    await me.patch(`/edges/tcp/${tcp.id}`, taken)
    const racers = await Promise.all(
      Array.from({ length: 8 }, (_, at) =>
        (at % 2 === 0 ? me : other).send('POST', '/edges/tcp', { body: { hostports: ['race.example:1'] } }),
      ),
    )
    t.equal(racers.filter(({ status }) => status === 201).length, 1, 'one of many at once wins')
    const { hostports } = await me.post('/edges/https', { hostports: ['BÜCHER.example:443'] })
    t.strictSame(hostports, ['xn--bcher-kva.example:443'], 'kept in ASCII')
    const same = { hostports: ['bücher.example:443'] }
    t.match(await other.refused(400, 'POST', '/edges/tcp', same), 'xn--bcher-kva.example:443')
  })

  t.test('one restriction per type', async (t) => {
    const caller = await api.account()
    const { id } = await caller.post('/ip_policies')
    const body = { type: 'dashboard', ip_policy_ids: [id] }
    const first = await caller.post('/ip_restrictions', body)
    t.match(await caller.refused(400, 'POST', '/ip_restrictions', body), first.id)
    await caller.delete(`/ip_restrictions/${first.id}`)
    await caller.post('/ip_restrictions', body)
  })

  t.test('resources of another account are invisible', async (t) => {
    const { id: destination } = await other.post('/event_destinations', {
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
      t.match(await other.refused(404, 'POST', path, body), `"${field}" names`, path)
    await other.refused(404, 'POST', `/edges/https/${named.edge}/routes`, {
      match_type: 'exact_path',
      match: '/',
    })
  })
})

const log = (key: string) => ({ type: 'log', config: { [key]: { Message: 'hello' } } })
