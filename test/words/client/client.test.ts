/** The client against the real API, without a port in between. What must not compile is refused by the API, too. */
import t from 'tap'
import type { Client } from '../../../src/words/client/client.js'
import type { Resource } from '../../../src/words/client/kinds.js'
import { isServed } from '../../../src/words/resource/kind/define.js'
import { declarations, resourceOf } from '../../../src/words/resource/registry.js'
import { openTestStore } from '../../harness/api.js'
import { idleDestinations, idleStatus, passedCheck } from '../../harness/idle-status.js'

const arn = 'arn:aws:kinesis:us-east-1:123456789012:stream/x'
const creds = { aws_access_key_id: 'AKIAIOSFODNN7EXAMPLE', aws_secret_access_key: 'never-shown' }

t.test('the typed client', async (t) => {
  const store = await openTestStore(t)
  const eventIds: string[] = []
  const api = await store.api({
    destinations: {
      ...idleDestinations,
      sendTestEvent: async ({ id }) => ({ eventId: eventIds[eventIds.push(`ev_${id}`) - 1]! }),
    },
  })
  const newClient = (name: string): Promise<Client> => api.account(name)

  t.test('every kind that the API serves is a member', async (t) => {
    const client: object = await newClient('kinds')
    for (const [name, { kind }] of Object.entries(declarations))
      t.equal(Object.hasOwn(client, name), isServed(resourceOf(kind)), kind)
  })

  t.test('names and functions of expressions', async (t) => {
    const { expressions } = await (await newClient('fields')).fields()
    t.ok(expressions.names.some(({ name }) => name === 'conn.client_ip'))
    t.ok(expressions.functions.some(({ name }) => name === 'inCidrRange'))
  })

  t.test('create, get, list, update, delete', async (t) => {
    const weir = await newClient('crud')
    const made = await weir.tcpEdge.create({ hostports: ['crud.example:22'], description: 'mine' })
    t.match(made, { id: /^edgtcp_/, hostports: ['crud.example:22'], policies: null })
    t.strictSame(await weir.tcpEdge.get(made.id), made)
    const updated = await weir.tcpEdge.update(made.id, { description: null, metadata: 'x' })
    t.equal(updated.description, undefined)
    t.equal(updated.metadata, 'x')
    const { id } = await weir.tcpEdge.create({})
    const edges: Resource<'tcpEdge'>[] = []
    for await (const edge of weir.tcpEdge.list()) edges.push(edge)
    t.strictSame(
      edges.map((edge) => edge.id),
      [id, made.id],
    )
    await weir.tcpEdge.delete(id)
    await t.rejects(weir.tcpEdge.get(id), { name: 'ApiError', error_code: 'ERR_NOT_FOUND', status_code: 404 })
  })

  t.test('lists read all pages and can be filtered', async (t) => {
    const weir = await newClient('pages')
    const { id: ip_policy_id } = await weir.ipPolicy.create({})
    for (let at = 0; at < 7; at++)
      await weir.ipPolicyRule.create({
        ip_policy_id,
        cidr: `10.0.${at}.0/24`,
        action: at < 4 ? 'allow' : 'deny',
        description: at === 6 ? 'last & least' : null,
      })
    const cidrs = async (options?: Parameters<typeof weir.ipPolicyRule.list>[0]): Promise<string[]> => {
      const found: string[] = []
      for await (const { cidr } of weir.ipPolicyRule.list(options)) found.push(cidr!.split('.')[2]!)
      return found
    }
    t.strictSame(await cidrs(), ['6', '5', '4', '3', '2', '1', '0'])
    t.strictSame(await cidrs({ limit: 2 }), ['6', '5', '4', '3', '2', '1', '0'])
    t.strictSame(await cidrs({ limit: 3, filter: "action == 'allow'" }), ['3', '2', '1', '0'])
    t.strictSame(await cidrs({ description: 'last & least' }), ['6'])
    const sizes: number[] = []
    for await (const page of weir.ipPolicyRule.pages({ limit: 3 })) sizes.push(page.length)
    t.strictSame(sizes, [3, 3, 1])
    const [newest] = await weir.ipPolicyRule
      .pages({ limit: 1 })
      .next()
      .then(({ value }) => value ?? [])
    t.equal((await cidrs({ beforeId: newest!.id })).length, 6)
  })

  t.test('routes below their edge', async (t) => {
    const weir = await newClient('routes')
    const edge = await weir.httpsEdge.create({ hostports: ['routes.example:443'] })
    const routes = weir.httpsEdgeRoute.under(edge.id)
    const route = await routes.create({ match_type: 'exact_path', match: '/a' })
    t.equal(route.edge_id, edge.id)
    await routes.update(route.id, { match: '/b' })
    const [shown] = (await weir.httpsEdge.get(edge.id)).routes
    t.equal(shown?.match, '/b')
    await routes.delete(route.id)
    t.strictSame((await weir.httpsEdge.get(edge.id)).routes, [])
  })

  t.test('modules', async (t) => {
    const weir = await newClient('modules')
    const { id } = await weir.tcpEdge.create({})
    const policy = await weir.ipPolicy.create({})
    const put = await weir.tcpEdge.ip_restriction.put(id, { ip_policy_ids: [policy.id] })
    t.strictSame(put, { enabled: true, ip_policies: [{ id: policy.id, uri: policy.uri }] })
    const policies = await weir.tcpEdge.policies.put(id, { inbound: [{ actions: [{ type: 'deny' }] }] })
    t.strictSame(policies, {
      enabled: true,
      inbound: [{ expressions: [], actions: [{ type: 'deny', config: null }], enforced: true }],
      outbound: [],
    })
    t.strictSame(await weir.tcpEdge.policies.get(id), policies)
    await weir.tcpEdge.policies.delete(id)
    t.equal((await weir.tcpEdge.get(id)).policies, null)
  })

  t.test('all rules of an IP policy', async (t) => {
    const weir = await newClient('rules')
    const { id } = await weir.ipPolicy.create({})
    const rules = [{ cidr: '192.0.2.0/24', action: 'allow' }] as const
    const counts = { added: 1, updated: 0, removed: 0, kept: 0, expired: 0 }
    t.strictSame(await weir.replaceRules(id, rules, { validateOnly: true }), counts)
    t.strictSame(await weir.replaceRules(id, rules), counts)
    t.strictSame(await weir.replaceRules(id, []), { ...counts, added: 0, removed: 1 })
  })

  t.test('destinations, subscriptions and their sources', async (t) => {
    const weir = await newClient('events')
    const destination = await weir.eventDestination.create({
      target: { kinesis: { stream_arn: arn, auth: { creds } } },
    })
    t.equal(destination.target.kinesis?.auth.creds?.aws_secret_access_key, null)
    t.strictSame(await weir.sendTestEvent(destination.id), { event_id: eventIds[0] })
    t.strictSame(await weir.checkDestination(destination.id), passedCheck)
    t.strictSame(await weir.deliveryStatus(destination.id), idleStatus)
    const subscription = await weir.eventSubscription.create({ destination_ids: [destination.id] })
    const sources = weir.sources(subscription.id)
    const type = 'tcp_connection_closed.v0'
    t.equal((await sources.create({ type })).filter, undefined)
    t.equal(
      (await sources.update(type, { filter: 'conn.server_port == 22' })).filter,
      'conn.server_port == 22',
    )
    for await (const source of sources.list()) t.equal(source.type, type)
    await sources.delete(type)
    t.strictSame((await weir.eventSubscription.get(subscription.id)).sources, [])
  })

  t.test(
    'tokens are shown once; an idempotency key creates one resource; validateOnly creates none',
    async (t) => {
      const weir = await newClient('once')
      const keys = await Promise.all([1, 2].map(() => weir.apiKey.create({}, { idempotencyKey: 'one' })))
      t.equal(keys[0]?.id, keys[1]?.id)
      t.equal(keys.filter(({ token }) => token !== null).length, 1)
      const { id } = await weir.ipPolicy.create({}, { validateOnly: true })
      await t.rejects(weir.ipPolicy.get(id), { name: 'ApiError', status_code: 404 })
      const policy = await weir.ipPolicy.create({ description: 'as it is' })
      await weir.ipPolicy.update(policy.id, { description: 'other' }, { validateOnly: true })
      await weir.ipPolicy.delete(policy.id, { validateOnly: true })
      t.equal((await weir.ipPolicy.get(policy.id)).description, 'as it is')
    },
  )

  t.test("requests that don't compile are also refused by the API", async (t) => {
    const weir = await newClient('types')
    const { id } = await weir.tcpEdge.create({})
    const other = await weir.tcpEdge.create({ policies: {} })
    const refused = { name: 'ApiError', status_code: 400 }
    // @ts-expect-error: a field that there is not
    await t.rejects(weir.tcpEdge.create({ hostport: ['a:1'] }), refused)
    // @ts-expect-error: a list is needed
    await t.rejects(weir.tcpEdge.create({ hostports: 'a:1' }), refused)
    // @ts-expect-error: what is required
    await t.rejects(weir.ipRestriction.create({ type: 'api' }), refused)
    // @ts-expect-error: a value that there is not
    await t.rejects(weir.ipRestriction.create({ type: 'everything', ip_policy_ids: ['ipp_x'] }), refused)
    // @ts-expect-error: what Weir sets
    await t.rejects(weir.apiKey.create({ token: 'mine' }), refused)
    // @ts-expect-error: what can't be changed after creation
    await t.rejects(weir.ipPolicyRule.update('ipr_x', { action: 'deny' }), { name: 'ApiError' })
    // @ts-expect-error: a module is removed on its own
    await t.rejects(weir.tcpEdge.update(other.id, { policies: null }), refused)
    // @ts-expect-error: a field of a module that there is not
    await t.rejects(weir.tcpEdge.policies.put(id, { incoming: [] }), refused)
    // @ts-expect-error: an action that there is not
    await t.rejects(weir.tcpEdge.policies.put(id, { inbound: [{ actions: [{ type: 'allow' }] }] }), refused)
    // @ts-expect-error: reports can't be listed
    await t.rejects(weir.abuseReport.list().next(), { name: 'ApiError' })
    // @ts-expect-error: accounts are made from the command line
    t.equal(weir.account, undefined)
    const { policies } = await weir.tcpEdge.get(id)
    // @ts-expect-error: a module may be unset
    t.throws(() => policies.enabled, TypeError)
  })
})
