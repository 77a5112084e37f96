/** Names that have no value in a deployment, because no GeoIP database of it has them. */
import t from 'tap'
import { listenHttp } from '../../../src/ground/core/http-listen.js'
import { shapeLogTables } from '../../../src/management/store/logs/log-tables.js'
import { openClient } from '../../../src/words/client/client.js'
import { openTestStore } from '../../harness/api.js'
import type { Caller } from '../../harness/caller.js'
import { geoOf } from '../../harness/geo.js'

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
  const web = await caller.httpsEdge.create({})
  const route = await caller.httpsEdgeRoute.under(web.id).create({ match_type: 'exact_path', match: '/' })

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
    const decisions = body.decisions as { name: string; missing?: string }[]
    const without = decisions.flatMap((each) => (each.missing === undefined ? [] : each.name))
    t.strictSame(without, ['asn', 'conn.asn'])
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
    { name: 'an HTTPS edge', method: 'POST', path: '/edges/https', body: { policies } },
    {
      name: 'a route',
      method: 'PUT',
      path: `/edges/https/${web.id}/routes/${route.id}/policies`,
      body: policies,
    },
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

  await t.test('searches of decisions, sums and the live view say so, too', async (t) => {
    await shapeLogTables(store.parts.clickhouse, { retentionMs: 3_600_000, bytesMax: 2 ** 30 })
    const other = await (await store.api({ geo: geoOf(() => ({}), new Set(['asn'])) })).account(
      'no countries',
    )
    const filter = (text: string): string => `filter=${encodeURIComponent(text)}`
    const warningAt = async (caller: Caller, path: string) =>
      (await caller.raw.send('GET', path)).headers['weir-warning']
    for (const [asking, path, missing] of [
      [other, '/decisions?country=DE', /^"country" uses conn\.geo\.country_code\. It never has a value/],
      [other, `/decisions?${filter("country == 'DE'")}`, /^"filter" uses conn\.geo\.country_code\./],
      [other, `/stats?by=country`, /^"by" uses conn\.geo\.country_code\./],
      [
        other,
        `/stats?${filter("ev.conn.Geo.CountryCode == 'DE'")}`,
        /^"filter" uses conn\.geo\.country_code\./,
      ],
      [caller, `/decisions?${filter('asn == 1 && decision == "deny"')}`, /^"filter" uses conn\.asn\./],
      [caller, `/stats?by=edge&${filter('conn.asn == 1')}`, /^"filter" uses conn\.asn\./],
      [caller, '/decisions?country=DE', undefined],
      [caller, `/stats?by=country&${filter("country == 'DE'")}`, undefined],
    ] as const) {
      const warning = await warningAt(asking, path)
      if (missing !== undefined) t.match(warning, missing, path)
      // Other tests of this store leave rows of another time, and a warning says where these begin.
      else t.notMatch(String(warning), / uses conn\./, path)
    }
  })

  await t.test('live', async (t) => {
    const listening = await listenHttp('127.0.0.1', 0, () => {})
    store.release.own(listening)
    await store.api({ geo, listening })
    const warnings: string[] = []
    const client = openClient({
      url: listening.url,
      token: caller.token,
      warned: (warning) => warnings.push(warning),
    })
    for (const options of [
      { filter: 'conn.asn == 1' },
      { where: 'asn == 1' },
      { filter: "country == 'DE'" },
    ]) {
      const stop = new AbortController()
      const lines = client.watchDecisions({ ...options, signal: stop.signal, rate: () => stop.abort() })
      for await (const _ of lines) t.fail('nothing was decided')
    }
    t.strictSame(
      warnings.map((warning) => warning.split('.').slice(0, 2).join('.')),
      ['"filter" uses conn.asn', '"where" uses conn.asn'],
    )
  })
})
