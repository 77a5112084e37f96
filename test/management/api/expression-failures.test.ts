/** Expressions without a result over the management API: merged, of the own account alone, and named by the overview. */
import t from 'tap'
import { shapeLogTables } from '../../../src/management/store/logs/log-tables.js'
import { openTestStore } from '../../harness/api.js'
import { failureBytes, failureRow } from '../../harness/decision-rows.js'

const hourMs = 60 * 60_000
const bounds = { retentionMs: 50 * 365 * 24 * hourMs, bytesMax: 2 ** 30 }

t.test('failures of two accounts', async (t) => {
  const { parts, api: openApi } = await openTestStore(t)
  const { clickhouse } = parts
  await shapeLogTables(clickhouse, bounds)
  const api = await openApi()
  const [mine, theirs] = [await api.account('mine'), await api.account('theirs')]
  const edge = await mine.tcpEdge.create({ hostports: ['failing.example:22'] })
  const removed = await mine.tcpEdge.create({ hostports: ['removed.example:22'] })
  const https = await mine.httpsEdge.create({ hostports: ['failing.example:443'] })
  const route = await mine.httpsEdgeRoute.under(https.id).create({ match_type: 'path_prefix', match: '/' })
  const subscription = await mine.eventSubscription.create({ sources: [{ type: 'log.v0' }] })
  const foreign = await theirs.tcpEdge.create({ hostports: ['foreign.example:22'] })
  const now = Date.now()
  const row = (values: Parameters<typeof failureRow>[0]) =>
    failureRow({ accountId: mine.accountId, ...values })
  const office = { edgeId: edge.id, policy: 'office', expression: 'a.b == 1' }
  // Two inserts of one minute, which ClickHouse merges when it likes.
  const minute = Math.floor((now - hourMs) / 60_000) * 60_000
  await clickhouse.insertBlocks('expression_failures', [
    failureBytes([
      row({ ...office, failures: 5, firstAt: minute + 1, lastAt: minute + 10, message: 'First.' }),
    ]),
  ])
  await clickhouse.insertBlocks('expression_failures', [
    failureBytes([
      row({ ...office, failures: 2 ** 33, lastAt: minute + 20, message: 'Last.', recordId: 'r-last' }),
      row({ edgeId: https.id, routeId: route.id, policy: 'inbound[0]', lastAt: now - 1_000, recordId: '' }),
      row({ subscriptionId: subscription.id, eventKind: 'log.v0', failures: 3 }),
      row({ ...office, policy: 'yesterday', lastAt: now - 25 * hourMs }),
      row({ edgeId: removed.id, policy: 'removed', failures: 2 }),
    ]),
    failureBytes([
      failureRow({ accountId: theirs.accountId, edgeId: foreign.id, policy: 'their policy', failures: 9 }),
    ]),
  ])
  const placesOf = async (client: typeof mine, options = {}) =>
    (await client.expressionFailures(options)).expression_failures.map(
      ({ place: { policy, event_kind }, count }) => [policy ?? event_kind, count],
    )
  const iso = (ms: number) => new Date(ms).toISOString()

  for (const merged of [false, true]) {
    if (merged) await clickhouse.command('OPTIMIZE TABLE expression_failures FINAL')
    await t.test(
      `each place once, with its last record${merged ? ', once rows are merged' : ''}`,
      async (t) => {
        const { expression_failures, left_out, since } = await mine.expressionFailures()
        t.equal(left_out, 0)
        t.match(since, /:00\.000Z$/)
        t.strictSame(expression_failures[0], {
          place: {
            kind: 'policy',
            edge_id: edge.id,
            route_id: null,
            policy: 'office',
            subscription_id: null,
            event_kind: null,
          },
          count: 2 ** 33 + 5,
          first_at: iso(minute + 1),
          last_at: iso(minute + 20),
          last_expression: 'a.b == 1',
          last_message: 'Last.',
          example_record_id: 'r-last',
        })
        t.match(expression_failures.slice(1), [
          {
            place: { kind: 'filter', edge_id: null, subscription_id: subscription.id, event_kind: 'log.v0' },
            count: 3,
            last_expression: null,
          },
          { place: { policy: 'removed' }, count: 2 },
          { place: { edge_id: https.id, route_id: route.id }, count: 1, example_record_id: null },
        ])
      },
    )
  }

  await t.test('of an edge, of a subscription, of a longer time', async (t) => {
    t.strictSame(await placesOf(mine, { edgeId: https.id }), [['inbound[0]', 1]])
    t.strictSame(await placesOf(mine, { subscriptionId: subscription.id }), [['log.v0', 3]])
    t.strictSame(await placesOf(mine, { edgeId: edge.id, since: '26h' }), [
      ['office', 2 ** 33 + 5],
      ['yesterday', 1],
    ])
    t.match(await mine.expressionFailures({ limit: 1 }), {
      expression_failures: [{ place: { policy: 'office' } }],
      left_out: 3,
    })
  })

  await t.test('another account has only its own', async (t) => {
    t.strictSame(await placesOf(theirs), [['their policy', 9]])
    for (const query of [`edge_id=${edge.id}`, `subscription_id=${subscription.id}`])
      t.match(await theirs.raw.send('GET', `/expression_failures?${query}`), { status: 404 }, query)
    t.notMatch(JSON.stringify(await theirs.overview()), new RegExp(edge.id))
  })

  await t.test('parameters that are not usable', async (t) => {
    for (const query of ['limit=0', 'limit=101', 'since=soon', 'x=1'])
      t.match(await mine.raw.send('GET', `/expression_failures?${query}`), { status: 400 }, query)
    t.match(await mine.raw.send('GET', '/expression_failures?edge_id=edgtcp_1'), { status: 404 })
  })

  await t.test('the overview names what still exists', async (t) => {
    await mine.tcpEdge.delete(removed.id)
    const { attention, state } = await mine.overview()
    t.equal(state, 'attention')
    t.match(
      attention.filter(({ type }) => type.endsWith('_failing')),
      [
        {
          type: 'policies_failing',
          severity: 'attention',
          count: 2,
          ids: [edge.id, https.id],
          uri: /\/expression_failures\?since=24h$/,
          sentence: /^Expressions of 2 traffic policies had no result .* Most were of "office"\.$/,
        },
        { type: 'filters_failing', count: 1, ids: [subscription.id], sentence: /of 1 filter had no result/ },
      ],
    )
  })
})

t.test('without a decision log', async (t) => {
  const { parts, api: openApi } = await openTestStore(t)
  const { FailureReader } = await import('../../../src/management/store/logs/failure-reader.js')
  const api = await openApi({ failures: new FailureReader(parts.clickhouse, 'off') })
  const me = await api.account()
  t.match(await me.raw.send('GET', '/expression_failures'), {
    status: 400,
    body: { error_code: 'ERR_LOG_OFF' },
  })
  t.notOk((await me.overview()).unknown.some(({ part }) => part === 'failing_expressions'))
})
