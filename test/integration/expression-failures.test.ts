/** Expressions that fail on records: a running service lists them within seconds, and explains the example. */
import t from 'tap'
import { connectionSubject } from '../../src/delivery/wire/names.js'
import { until } from '../harness/weir.js'
import { openAccount } from './service.js'

const host = 'failing-expressions.example.com'

t.test('an expression without a result, and a filter', async (t) => {
  const { weir } = await openAccount(t)
  const { api } = weir
  const edge = await api.tcpEdge.create({
    hostports: [`${host}:22`],
    policies: {
      inbound: [
        { name: 'twice', expressions: ['double(conn.server_name) > 1'], actions: [{ type: 'deny' }] },
      ],
    },
  })
  const subscription = await api.eventSubscription.create({
    sources: [{ type: 'tcp_connection_closed.v0', filter: 'double(conn.server_name) > 1' }],
  })
  const record = (record_id: string) => ({
    record_id,
    type: 'tcp_connection' as const,
    conn: { client_ip: '192.0.2.1', client_port: 4000, server_name: host, server_port: 22 },
  })
  const ids = ['fails-1', 'fails-2', 'fails-3']
  t.equal((await api.publishRecords(ids.map(record))).refused_count, 0)
  const failures = async () => (await api.expressionFailures({ since: '1h' })).expression_failures
  await until('both are listed', async () => (await failures()).length === 2)
  const [filter, policy] = (await failures()).toSorted((one, other) =>
    one.place.kind.localeCompare(other.place.kind),
  )
  t.match(policy, {
    place: { kind: 'policy', edge_id: edge.id, route_id: null, policy: 'twice' },
    count: 3,
    last_expression: 'double(conn.server_name) > 1',
    last_message: /double/,
    example_record_id: 'fails-3',
  })
  t.match(filter, {
    place: { kind: 'filter', subscription_id: subscription.id, event_kind: 'tcp_connection_closed.v0' },
    count: 3,
    last_message: /double/,
  })
  const example = await api.record(String(policy?.example_record_id))
  t.match(JSON.stringify(example), /has no result/, 'its explanation says the same')

  const { attention } = await api.overview()
  t.match(
    attention.filter(({ type }) => type.endsWith('s_failing')).map(({ type, ids }) => [type, ids]),
    [
      ['policies_failing', [edge.id]],
      ['filters_failing', [subscription.id]],
    ],
  )

  await t.test('a question about a connection counts, too', async (t) => {
    const asked = Buffer.from(JSON.stringify(record('question-1')))
    const nats = await weir.nats()
    const answer = await nats.request(connectionSubject, asked, 30_000)
    t.match(JSON.parse(Buffer.from(answer).toString()), { decision: 'allow' })
    const countOf = async () => (await api.expressionFailures({ edgeId: edge.id })).expression_failures[0]
    await until('it is counted', async () => (await countOf())?.count === 4)
    t.match(await countOf(), { example_record_id: 'question-1' })
  })

  await t.test('policies of one edge with equal names are told apart', async (t) => {
    const name = `twins-${host}`
    const deny = [{ type: 'deny' as const }]
    const twins = await api.tcpEdge.create({
      hostports: [`${name}:22`],
      policies: {
        inbound: [
          { name: 'twins', expressions: ['double(conn.server_name) > 1'], actions: deny },
          { name: 'alone', expressions: ['double(conn.server_name) > 2'], actions: deny },
          { name: 'twins', expressions: ['double(conn.server_name) > 3'], actions: deny },
        ],
        outbound: [
          {
            name: 'twins',
            expressions: ['double(conn.server_name) > 4'],
            actions: [{ type: 'log', config: { Metadata: {} } }],
          },
        ],
      },
    })
    const { conn, ...rest } = record('twins-1')
    const sent = { ...rest, conn: { ...conn, server_name: name } }
    const nats = await weir.nats()
    const asked = Buffer.from(JSON.stringify({ ...sent, record_id: 'twins-2' }))
    await until('the edge is known', async () => {
      const answer = await nats.request(connectionSubject, asked, 30_000)
      return JSON.parse(Buffer.from(answer).toString()).warnings.length === 3
    })
    t.equal((await api.publishRecords([sent])).refused_count, 0)
    const placesOf = async () => (await api.expressionFailures({ edgeId: twins.id })).expression_failures
    await until('the record is counted', async () => (await placesOf()).length === 4)
    const found = (await placesOf()).map(({ place, last_expression }) => [place.policy, last_expression])
    t.strictSame(found.toSorted(), [
      ['alone', 'double(conn.server_name) > 2'],
      ['twins (inbound[0])', 'double(conn.server_name) > 1'],
      ['twins (inbound[2])', 'double(conn.server_name) > 3'],
      ['twins (outbound[0])', 'double(conn.server_name) > 4'],
    ])
  })
})
