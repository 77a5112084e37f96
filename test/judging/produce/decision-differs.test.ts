/** Events about what a challenger decides otherwise: of which records, what is in them, and how they are counted. */
import t from 'tap'
import { PackWriter, readPack } from '../../../src/delivery/wire/pack.js'
import { processMessage } from '../../../src/judging/pipeline/process-record.js'
import { buildTrafficView } from '../../../src/judging/produce/compiled-configuration.js'
import { deny, noGeo, noYield, TestConfiguration } from '../evaluate/configuration.js'

const startMs = Date.now() - 60_000
const type = 'decision_differs.v0'

const policiesOf = (expression: string) => ({
  enabled: true,
  inbound: [{ name: 'drafted', expressions: [expression], actions: [deny] }],
  outbound: [],
})

const configured = (...sources: { fields?: string[]; filter?: string }[]) =>
  new TestConfiguration('ac_1', 'ac_2')
    .tcpEdge('edgtcp_1', { hostports: ['ssh.example:22'] })
    .tcpEdge('edgtcp_2', { hostports: ['other.example:22'], account_id: 'ac_2' })
    .challenger('chl_1', {
      created_at: startMs,
      draft: { edges: [{ id: 'edgtcp_1', policies: policiesOf("conn.client_ip == '203.0.113.9'") }] },
      based_on: [],
    })
    .subscription('esb_1', { sources: sources.map((source) => ({ type, ...source })) })
    .subscription('esb_2', { account_id: 'ac_2', sources: [{ type }] })

/** The events of these clients' connections, stored so long after the challenger began. */
async function run(configuration: TestConfiguration, clients: readonly string[], afterMs = 1000) {
  const view = await buildTrafficView(configuration, undefined, noYield)
  const pack = new PackWriter()
  const records = ['ssh.example', 'other.example'].flatMap((server_name) =>
    clients.map((client_ip) => ({
      record_id: `${client_ip} ${server_name}`,
      type: 'tcp_connection',
      conn: { client_ip, server_name, server_port: 22 },
    })),
  )
  const bytes = Buffer.from(records.map((record) => JSON.stringify(record)).join('\n'))
  const buffers = { packOf: () => pack }
  const { counts } = processMessage({ bytes, storedAtMs: startMs + afterMs }, { view, geo: noGeo, buffers })
  const { events } = readPack(Buffer.from(pack.take()))
  return { counts, events: events.map(({ data }) => JSON.parse(data.toString())) }
}

const clients = ['203.0.113.9', '198.51.100.7']

t.test('a record that is decided otherwise makes an event with both decisions', async (t) => {
  const { events, counts } = await run(configured({}), clients)
  t.equal(events.length, 1, 'none of the same decision, and none of another account')
  t.match(events[0], { event_type: type, account_id: 'ac_1', event_id: /^ev_/ })
  t.strictSame(events[0].object, {
    challenger: {
      id: 'chl_1',
      decision: 'deny',
      decided_by: { id: 'edgtcp_1', name: 'drafted', rule_id: null, type: 'traffic_policy' },
    },
    conn: { client_ip: '203.0.113.9', server_name: 'ssh.example', server_port: 22 },
    decided_by: { id: null, name: null, rule_id: null, type: 'none' },
    decision: 'allow',
    edge: { id: 'edgtcp_1' },
    record_id: '203.0.113.9 ssh.example',
    route: { id: null },
  })
  t.strictSame(counts.sources, [['esb_1', type, 'ed_1', 1, 0]])
  t.strictSame(
    counts.asked.map(({ times, sources }) => [times, sources.map(({ subscriptionId }) => subscriptionId)]),
    [[1, ['esb_1']]],
  )
  const again = await run(configured({}), clients)
  t.equal(again.events[0].event_id, events[0].event_id, 'a record that is delivered again has the same id')
})

t.test('sources select fields and filter', async (t) => {
  const denied = { fields: ['challenger.decided_by.name'], filter: "challenger.decision == 'deny'" }
  const blocked = { filter: "ev.challenger.decision == 'block' && conn.server_port == 22" }
  const { events } = await run(configured(denied, blocked), clients)
  t.strictSame(
    events.map(({ object }) => object),
    [{ challenger: { decided_by: { name: 'drafted' } } }],
  )
})

t.test('records from before it began make none', async (t) => {
  t.strictSame((await run(configured({}), clients, -1)).events, [])
})
