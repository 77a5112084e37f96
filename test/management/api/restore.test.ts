/** Resources are put back as they were: changed ones and deleted ones, with their secrets, or with a clear refusal. */
import t from 'tap'
import { openTestStore } from '../../harness/api.js'
import { all, type Caller, refused } from '../../harness/caller.js'

/** The versions of a resource, newest first. */
const versionsOf = async (me: Caller, path: string): Promise<number[]> =>
  (await me.raw.get(`${path}/changes`)).changes.map(({ version }: { version: number }) => version)

t.test('restoring', async (t) => {
  const store = await openTestStore(t)
  const api = await store.api()

  t.test('an edge with its modules, announced like any change', async (t) => {
    const me = await api.account()
    const { id: policy } = await me.ipPolicy.create({})
    const { id: backend } = await me.tunnelGroupBackend.create({ labels: { zone: 'eu', app: 'web' } })
    const inbound = [{ expressions: ['conn.server_port == 22'], actions: [{ type: 'deny' as const }] }]
    const first = await me.tcpEdge.create({
      hostports: ['restore.example:22'],
      description: 'first',
      ip_restriction: { ip_policy_ids: [policy] },
      policies: { inbound },
      backend: { backend_id: backend },
    })
    const { id } = first
    await me.tcpEdge.policies.delete(id)
    await me.tcpEdge.update(id, { hostports: ['restored.example:22'], description: 'second' })
    const path = `/edges/tcp/${id}`
    const versions = await versionsOf(me, path)
    const version = versions.at(-1)!
    const audits = await api.auditsOf(me.accountId, async () => {
      t.strictSame(await me.tcpEdge.restore(id, version, { validateOnly: true }), first)
      t.strictSame((await me.tcpEdge.get(id)).description, 'second', 'it was only tried')
      t.strictSame(await me.tcpEdge.restore(id, version), first)
      t.strictSame(await me.tcpEdge.restore(id, version), first, 'nothing is left to restore')
    })
    t.strictSame(
      audits.map(({ event_type, object }) => [event_type, object]),
      [['tcp_edge_updated.v0', first]],
    )
    t.strictSame(await me.tcpEdge.get(id), first)
    t.equal((await versionsOf(me, path)).length, versions.length + 1)
    const between = await me.tcpEdge.restore(id, versions[0]!)
    t.match(between, { description: 'second', hostports: ['restored.example:22'], policies: null })
    await me.tcpEdge.create({ hostports: ['restore.example:22'] })
    t.match(
      await refused(400, me.tcpEdge.restore(id, version)),
      /restore\.example:22/,
      'the hostport is taken',
    )
    const labels = await versionsOf(me, `/backends/tunnel_group/${backend}`)
    await me.tunnelGroupBackend.restore(backend, labels[0]!)
    t.equal((await versionsOf(me, `/backends/tunnel_group/${backend}`)).length, 1, 'it was as it is')
  })

  t.test('deleted ones come back under their id, the parent first', async (t) => {
    const me = await api.account()
    const policies = {
      inbound: [{ expressions: ["http.request.method != 'get'"], actions: [{ type: 'deny' as const }] }],
    }
    const edge = await me.httpsEdge.create({ hostports: ['back.example:443'], policies })
    const routes = me.httpsEdgeRoute.under(edge.id)
    const route = await routes.create({ match_type: 'exact_path', match: '/', policies })
    await me.httpsEdge.delete(edge.id)
    const path = `/edges/https/${edge.id}`
    const [deleted, made] = await versionsOf(me, path)
    const [, routeMade] = await versionsOf(me, `${path}/routes/${route.id}`)
    t.match(await refused(400, me.httpsEdge.restore(edge.id, deleted!)), /was deleted by version/)
    t.match(await refused(400, me.httpsEdge.restore(edge.id, made! - 1)), /did not exist at version/)
    t.match(await refused(404, routes.restore(route.id, routeMade!)), /"edge_id" names .* does not exist/)
    const audits = await api.auditsOf(me.accountId, async () => {
      t.strictSame(await me.httpsEdge.restore(edge.id, made!), edge)
      t.strictSame(await routes.restore(route.id, routeMade!), route)
    })
    t.strictSame(
      audits.map(({ event_type }) => event_type),
      ['https_edge_created.v0', 'https_edge_route_created.v0'],
    )
    t.strictSame(await me.httpsEdge.get(edge.id), { ...edge, routes: [route] })
    t.strictSame(
      (await me.raw.get(`${path}/changes`)).changes.map(({ verb }: { verb: string }) => verb),
      ['create', 'delete', 'create'],
    )
    const held = await me.raw.send('POST', '/edges/tcp', { body: { hostports: ['back.example:443'] } })
    t.equal(held.status, 400, 'its hostport is held again')
  })

  t.test('an HTTPS edge comes back with the routes that it had', async (t) => {
    const me = await api.account()
    const edge = await me.httpsEdge.create({ hostports: ['routed-back.example:443'] })
    const routes = me.httpsEdgeRoute.under(edge.id)
    const first = await routes.create({ match_type: 'path_prefix', match: '/a' })
    const second = await routes.create({ match_type: 'path_prefix', match: '/b' })
    const [, version] = await versionsOf(me, `/edges/https/${edge.id}/routes/${second.id}`).then(
      (own) => [undefined, own[0]!] as const,
    )
    await routes.delete(first.id)
    const later = (await versionsOf(me, `/edges/https/${edge.id}/routes/${first.id}`))[0]!
    await me.httpsEdge.delete(edge.id)
    const whole = { ...edge, routes: [second] }
    const audits = await api.auditsOf(me.accountId, async () => {
      t.strictSame(await me.httpsEdge.restore(edge.id, later, { validateOnly: true }), whole, 'as a try says')
      t.strictSame(
        await me.httpsEdge.restore(edge.id, later),
        whole,
        'without the one that was deleted before',
      )
    })
    t.strictSame(
      audits.map(({ event_type }) => event_type),
      ['https_edge_created.v0', 'https_edge_route_created.v0'],
    )
    await me.httpsEdge.delete(edge.id)
    const { routes: both } = await me.httpsEdge.restore(edge.id, version)
    t.strictSame(both.map(({ match }) => match).sort(), ['/a', '/b'])
    t.strictSame((await me.httpsEdge.get(edge.id)).routes.length, 2)
    await routes.delete(second.id)
    t.strictSame(
      (await me.httpsEdge.restore(edge.id, version)).routes.length,
      1,
      'of an edge that is there, the routes stay as they are',
    )
  })

  t.test('a deleted rule, and its policy', async (t) => {
    const me = await api.account()
    const policy = await me.ipPolicy.create({ description: 'the office' })
    const rule = await me.ipPolicyRule.create({
      ip_policy_id: policy.id,
      cidr: '10.0.0.0/8',
      action: 'allow',
    })
    await me.ipPolicy.delete(policy.id)
    const [, ruleMade] = await versionsOf(me, `/ip_policy_rules/${rule.id}`)
    const policyMade = (await versionsOf(me, `/ip_policies/${policy.id}`)).at(-1)!
    await me.ipPolicy.restore(policy.id, policyMade)
    t.strictSame(await all(me.ipPolicyRule.list()), [], 'rules are restored on their own')
    t.strictSame(await me.ipPolicyRule.restore(rule.id, ruleMade!), rule)
    t.strictSame(await all(me.ipPolicyRule.list()), [rule])
    const again = { ip_policy_id: policy.id, cidr: '10.0.0.0/8', action: 'allow' as const }
    await me.ipPolicyRule.delete(rule.id)
    await me.ipPolicyRule.create(again)
    t.match(
      await refused(400, me.ipPolicyRule.restore(rule.id, ruleMade!)),
      /only once/,
      'its range is taken',
    )
  })

  t.test('all rules of a policy, with their ids, as one change', async (t) => {
    const me = await api.account()
    const { id } = await me.ipPolicy.create({})
    const path = `/ip_policies/${id}`
    const shownRules = async () => {
      const rules = await all(me.ipPolicyRule.list())
      return rules.toSorted((a, b) => a.id.localeCompare(b.id))
    }
    const allow = (cidr: string, description: string | null = null) => ({
      cidr,
      action: 'allow' as const,
      description,
    })
    await me.replaceRules(id, [allow('10.0.0.0/8'), allow('11.0.0.0/8', 'old'), allow('12.0.0.0/8')])
    const before = await shownRules()
    const version = (await versionsOf(me, path))[0]!
    const moved = before.find(({ cidr }) => cidr === '12.0.0.0/8')!
    await me.ipPolicyRule.update(moved.id, { cidr: '13.0.0.0/8' })
    await me.replaceRules(id, [
      allow('12.0.0.0/8'),
      allow('13.0.0.0/8'),
      allow('11.0.0.0/8', 'new'),
      allow('14.0.0.0/8'),
    ])
    const counts = { added: 1, updated: 2, removed: 2, kept: 0, expired: 0 }
    t.strictSame(await me.restoreRules(id, version, { validateOnly: true }), counts)
    t.equal((await shownRules()).length, 4, 'it was only tried')
    const changes = (await versionsOf(me, path)).length
    const audits = await api.auditsOf(me.accountId, async () => {
      t.strictSame(await me.restoreRules(id, version), counts)
      t.strictSame(await me.restoreRules(id, version), {
        added: 0,
        updated: 0,
        removed: 0,
        kept: 3,
        expired: 0,
      })
    })
    t.strictSame(audits.map(({ event_type }) => event_type).toSorted(), [
      'ip_policy_rule_created.v0',
      'ip_policy_rule_deleted.v0',
      'ip_policy_rule_deleted.v0',
      'ip_policy_rule_updated.v0',
      'ip_policy_rule_updated.v0',
    ])
    t.strictSame(await shownRules(), before)
    t.equal((await versionsOf(me, path)).length, changes + 1)
    const [change] = (await me.raw.get(`${path}/changes?limit=1`)).changes
    t.strictSame(change.rules, { added: 1, updated: 2, removed: 2 })

    await me.ipPolicy.delete(id)
    const deleted = (await versionsOf(me, path))[0]!
    t.match(await me.raw.refused(404, 'POST', `${path}/rules/restore?version=${version}`), /no IP policy/)
    await me.ipPolicy.restore(id, version)
    t.match(await refused(400, me.restoreRules(id, deleted)), /was deleted by version/)
    t.strictSame(await me.restoreRules(id, version), {
      added: 3,
      updated: 0,
      removed: 0,
      kept: 0,
      expired: 0,
    })
    t.strictSame(await shownRules(), before)
    t.match(await me.raw.refused(400, 'POST', `${path}/rules/restore`), /"version" is needed/)
  })

  t.test('a destination gets the secret of then back; a revoked token stays revoked', async (t) => {
    const me = await api.account()
    const target = (secret: string) => ({
      kinesis: {
        stream_arn: 'arn:aws:kinesis:us-east-1:123456789012:stream/x',
        auth: { creds: { aws_access_key_id: 'AKIAIOSFODNN7EXAMPLE', aws_secret_access_key: secret } },
      },
    })
    const sealed = (id: string) => store.parts.store.sealedValue('event_destination', id, 'sealed_secret')
    const { id } = await me.eventDestination.create({ target: target('one') })
    const path = `/event_destinations/${id}`
    const before = await sealed(id)
    await me.eventDestination.update(id, { target: target('two') })
    t.not(await sealed(id), before)
    const [, made] = await versionsOf(me, path)
    await me.eventDestination.restore(id, made!)
    t.equal(await sealed(id), before)
    await me.eventDestination.delete(id)
    await me.eventDestination.restore(id, made!)
    t.equal(await sealed(id), before)

    const key = await me.apiKey.create({ description: 'old' })
    await me.apiKey.update(key.id, { description: 'new' })
    const keyMade = (await versionsOf(me, `/api_keys/${key.id}`)).at(-1)!
    t.match(await me.apiKey.restore(key.id, keyMade), { description: 'old', token: null })
    await me.apiKey.delete(key.id)
    t.match(await refused(400, me.apiKey.restore(key.id, keyMade)), /revoked its token for good/)
    t.equal((await me.withToken(key.token).raw.send('GET', '/api_keys')).status, 401)
  })

  t.test('once for each idempotency key and version; what is asked wrongly', async (t) => {
    const me = await api.account()
    const { id } = await me.ipPolicy.create({ description: 'one' })
    await me.ipPolicy.update(id, { description: 'two' })
    const path = `/ip_policies/${id}`
    const [second, first] = await versionsOf(me, path)
    const options = { idempotencyKey: 'back' }
    t.equal((await me.ipPolicy.restore(id, first!, options)).description, 'one')
    await me.ipPolicy.update(id, { description: 'three' })
    t.equal((await me.ipPolicy.restore(id, first!, options)).description, 'one', 'the first answer again')
    t.equal((await me.ipPolicy.get(id)).description, 'three')
    t.match(await refused(400, me.ipPolicy.restore(id, second!, options)), /Idempotency-Key|idempotency key/i)
    const reached = (await me.raw.get('/changes?limit=1')).changes[0].version
    const cases: [query: string, msg: RegExp][] = [
      ['', /"version" is needed/],
      ['?version=x', /"version" is "x"/],
      ['?version=0', /"version" is "0"/],
      [`?version=${reached + 1}`, new RegExp(`the account has reached version ${reached} only`)],
      ['?version=9007199254740991', /"version" is 9007199254740991, but the account has reached/],
      ['?version=1&colour=red', /"colour" is unknown/],
    ]
    for (const [query, msg] of cases)
      t.match(await me.raw.refused(400, 'POST', `${path}/restore${query}`), msg)
    t.match(
      await me.raw.refused(400, 'POST', `${path}/restore?version=${first}`, { fields: [] }),
      /has no field "fields"/,
    )
    await me.raw.refused(404, 'POST', '/ip_policies/ipp_00000000000000000000000000/restore?version=1')
  })
})
