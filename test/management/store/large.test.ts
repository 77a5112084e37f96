/** Resources and changes at the bounds of what can be stored, and edges with very many routes. */

import t from 'tap'
import { eachOf } from '../../../src/ground/core/concurrency.js'
import { resourceBytesMax } from '../../../src/ground/core/limits.js'
import { createLogger } from '../../../src/ground/core/telemetry/log.js'
import { createRegistry } from '../../../src/ground/core/telemetry/metrics.js'
import { createOccurrences } from '../../../src/ground/core/telemetry/occurrences.js'
import { emptyChange } from '../../../src/management/store/change/change.js'
import { decodeHead } from '../../../src/management/store/change/head-text.js'
import { Heads } from '../../../src/management/store/change/heads.js'
import { openClickhouse } from '../../../src/management/store/clickhouse/clickhouse.js'
import { all, refused, statusOf } from '../../harness/caller.js'
import { openFixture } from './filled-store.js'

// One store for all tests, because starts take longest.
const fixture = await openFixture(t)
let api = await fixture.startApi()

/** Together they exceed what one message holds. `--full` makes so many that their ids alone fill a statement, too. */
const [routes, metadataChars] = process.argv.includes('--full') ? [1_000, 1_000] : [300, 3_500]

t.test('an HTTPS edge with very many routes', { timeout: 600_000 }, async (t) => {
  const edge = await api.client.httpsEdge.create({ hostports: ['a.example.com:443'] })
  const other = await api.client.httpsEdge.create({ hostports: ['b.example.com:443'] })
  const route = (match: string) => ({
    match_type: 'path_prefix' as const,
    match,
    metadata: 'm'.repeat(metadataChars),
  })
  const own = await api.client.httpsEdgeRoute.under(other.id).create(route('/1'))
  const matches = Array.from({ length: routes }, (_, at) => `/${at}`)
  await eachOf(matches, 32, (match) => api.client.httpsEdgeRoute.under(edge.id).create(route(match)))
  const taken = api.client.httpsEdgeRoute.under(edge.id).create(route('/7'))
  t.equal(await statusOf(taken), 400, 'a path belongs to one route of the edge')

  await api.process.kill()
  api = await fixture.startApi()
  const changed = await api.client.httpsEdge.update(edge.id, { description: 'changed' })
  t.strictSame(await api.client.httpsEdge.get(edge.id), changed)
  const shown = changed.routes.map(({ match }) => match)
  t.strictSame(shown.sort(), matches.sort(), 'it shows them all')
  const https_edges = await all(api.client.httpsEdge.list())
  t.strictSame(
    https_edges.map((each) => each.routes.length),
    [1, routes],
    'each its own',
  )

  await api.client.httpsEdge.delete(edge.id)
  const last = changed.routes[0]!.id
  t.equal(await statusOf(api.client.httpsEdgeRoute.under(edge.id).get(last)), 404)
  const clickhouse = await openClickhouse({ url: fixture.front.url, directory: '' })
  t.teardown(() => clickhouse.close())
  const left = await clickhouse.rows('SELECT id FROM https_edge_routes')
  t.strictSame(left, [{ id: own.id }], 'they went with it, and only they')
  const again = await api.client.httpsEdge.create({ hostports: ['a.example.com:443'] })
  t.strictSame(again.routes, [], 'what it held is free')
})

t.test('a resource of the maximum size, and a larger one', async (t) => {
  const { client } = api
  const log = (bytes: number) => ({
    type: 'log' as const,
    config: { Metadata: { x: 'm'.repeat(bytes - 8) } },
  })
  const full = { actions: [log(4096), log(4096), log(4096), log(4096)] }
  const edge = (hostport: string, chars: number) => ({
    hostports: [hostport],
    policies: { inbound: [...Array.from({ length: 15 }, () => full), { actions: [log(chars)] }] },
  })
  const part = await refused(400, client.tcpEdge.create(edge('a.example.com:1', 4097)))
  t.match(part, /has 4097 bytes as JSON: at most 4096 are allowed/, 'a part of it is too large')
  const beyond = {
    hostports: ['a.example.com:1'],
    policies: { inbound: Array.from({ length: 17 }, () => full) },
  }
  const whole = await refused(400, client.tcpEdge.create(beyond))
  const [, bytes = ''] = /has (\d+) bytes as JSON: at most (\d+) are allowed/.exec(whole) ?? []
  t.match(whole, `at most ${resourceBytesMax} are allowed`, 'the limit is named')
  t.ok(Number(bytes) > resourceBytesMax, 'and so is what it has')
  t.strictSame(await all(client.tcpEdge.list()), [], 'nothing is stored')

  const stored = await client.tcpEdge.create(edge('a.example.com:1', 4096))
  t.strictSame(await client.tcpEdge.get(stored.id), stored, 'what is within it is')
  t.equal(await statusOf(client.tcpEdge.update(stored.id, { policies: beyond.policies })), 400)
  t.strictSame(await client.tcpEdge.get(stored.id), stored, 'a change beyond it leaves it as it was')
})

t.test('a change that does not fit the head record', async (t) => {
  const nats = await fixture.nats()
  const bucket = await nats.openBucket('test_heads', 1024 * 1024)
  const heads = new Heads({
    bucket,
    bytesMax: () => 2_000,
    occurrences: createOccurrences({ logger: createLogger('test', 'silent'), registry: createRegistry() }),
    carryOut: async () => {},
    maySweep: () => true,
    known: async () => ({ highest: 0, seen: 0 }),
  })
  const row = { account_id: 'ac_1', version: 1, created_at: 0, description: 'd'.repeat(200) }
  const removing = (count: number) => ({
    ...emptyChange,
    id: 'chg_1',
    at: 0,
    counts: {},
    stored: 1,
    removals: Array.from({ length: count }, (_, at) => {
      const id = `ipp_${at}`
      return { kind: 'ip_policy', id, row: { ...row, id } }
    }),
  })
  const known = await heads.finished('ac_1')
  await heads.commit('ac_1', known, [removing(10)])
  const kept = decodeHead((await bucket.get('ac_1'))!.value!)
  t.strictSame(
    kept.change?.removals.map((removal) => removal.row),
    Array(10).fill(null),
    'removed rows are left out, to be read from ClickHouse',
  )
  const finished = await heads.finished('ac_1')
  await t.rejects(heads.commit('ac_1', finished, [removing(100)]), {
    code: 'ERR_INVALID_REQUEST',
    message: /has \d+ bytes: at most 2000 are allowed/,
  })
})
