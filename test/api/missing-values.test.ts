/** Names that have no value in a deployment, because no GeoIP database of it has them. */
import t from 'tap'
import { openTestStore } from '../harness/api.js'
import { geoOf } from '../harness/geo.js'

t.test('names without a value in this deployment', async (t) => {
  const store = await openTestStore(t)
  const geo = geoOf(() => ({}), new Set(['country_code']))
  const api = await store.api({ geo })
  const caller = await api.account('missing')
  const { raw } = caller
  const warningOf = async (method: string, path: string, body: object): Promise<string | undefined> => {
    const answer = await raw.send(method, path, { body })
    t.ok(answer.status < 300, `${method} ${path}: ${answer.status}`)
    return answer.headers['weir-warning']
  }
  const deny = { actions: [{ type: 'deny' }] }
  const edge = await caller.tcpEdge.create({})
  const path = `/edges/tcp/${edge.id}`

  await t.test('the reference of fields marks them', async (t) => {
    const { body } = await raw.send('GET', '/fields')
    const { names } = body.expressions as { names: { name: string; missing?: string }[] }
    const missing = names.flatMap((each) => (each.missing === undefined ? [] : each.name))
    t.ok(missing.includes('conn.asn') && missing.includes('conn.geo.city'))
    t.notOk(missing.includes('conn.geo.country_code') || missing.includes('conn.client_ip'))
    const events = body.events as { kind: string; fields: { name: string; missing?: string }[] }[]
    const closed = events.find(({ kind }) => kind === 'tcp_connection_closed.v0')!.fields
    t.match(closed.find(({ name }) => name === 'conn.asn')?.missing, /no GeoIP database/)
    t.equal(closed.find(({ name }) => name === 'conn.geo.country_code')?.missing, undefined)
  })

  const policies = {
    inbound: [{ expressions: ["conn.geo.country_code == 'DE'", 'conn.asn == 64500'], ...deny }],
  }
  const subscription = await caller.eventSubscription.create({
    sources: [{ type: 'ip_policy_created.v0' }],
    destination_ids: [],
  })
  const source = { type: 'tcp_connection_closed.v0', filter: 'ev.conn.asn == 1', fields: ['conn.geo.city'] }
  const cases = [
    {
      name: 'a module that is checked',
      method: 'PUT',
      path: `${path}/policies?validate_only=true`,
      body: policies,
    },
    { name: 'a module', method: 'PUT', path: `${path}/policies`, body: policies },
    { name: 'an edge', method: 'POST', path: '/edges/tcp', body: { policies } },
    { name: 'a change of an edge that has them', method: 'PATCH', path, body: { description: 'x' } },
    {
      name: 'a source',
      method: 'POST',
      path: `/event_subscriptions/${subscription.id}/sources`,
      body: source,
    },
  ]
  for (const { name, method, path, body } of cases)
    t.match(await warningOf(method, path, body), /uses conn\.asn\. It never has a value here/, name)
  t.match(
    await warningOf('PATCH', `/event_subscriptions/${subscription.id}`, { description: 'y' }),
    /"sources\[\d\]\.filter" uses conn\.asn.*"sources\[\d\]\.fields" uses conn\.geo\.city/,
  )
  const known = { inbound: [{ expressions: ["conn.geo.country_code == 'DE'"], ...deny }] }
  t.equal(await warningOf('PUT', `${path}/policies`, known), undefined, 'names with a value')
  t.equal(await warningOf('PATCH', path, { description: 'z' }), undefined)
})
