/** Records that come over HTTP take the same way as those from NATS: to decisions, and to events. */
import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-proto'
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs'
import t from 'tap'
import { openClient } from '../../src/words/client/client.js'
import { all } from '../harness/caller.js'
import { untilInUse } from '../harness/in-use.js'
import { until } from '../harness/weir.js'
import { stream, target } from './deployment.js'
import { openAccount } from './service.js'

t.test('records and logs that are published over the API become decisions and events', async (t) => {
  const { weir, emulator } = await openAccount(t)
  const { api } = weir
  const name = 'published-over-http'
  const destination = await api.eventDestination.create(target(await stream(emulator, name), emulator))
  const policy = await api.ipPolicy.create({})
  await api.ipPolicyRule.create({ ip_policy_id: policy.id, cidr: '203.0.113.0/24', action: 'allow' })
  const edge = await api.tcpEdge.create({
    hostports: ['ssh.published.example:22'],
    ip_restriction: { ip_policy_ids: [policy.id] },
  })
  t.teardown(async () => {
    for await (const { id } of api.httpsEdge.list()) await api.httpsEdge.delete(id)
  })
  const web = await api.httpsEdge.create({ hostports: ['www.published.example:443'] })
  await api.eventSubscription.create({
    sources: [
      { type: 'tcp_connection_closed.v0', fields: ['conn.client_ip', 'ip_policy.decision'] },
      { type: 'http_request_complete.v0', fields: ['http.request.url.path', 'http.response.status_code'] },
    ],
    destination_ids: [destination.id],
  })
  await untilInUse(weir)
  const { token } = await api.apiKey.create({ rights: ['publish'] })
  const publisher = openClient({ url: weir.url, token: token ?? '' })
  const connection = (record_id: string, client_ip: string) =>
    ({
      record_id,
      type: 'tcp_connection',
      conn: { client_ip, server_name: 'ssh.published.example', server_port: 22 },
    }) as const
  const given = [
    connection('h1', '203.0.113.9'),
    connection('h2', '198.51.100.1'),
    connection('h3', 'nowhere'),
  ]
  t.match(await publisher.publishRecords(given), { stored: 2, refused_count: 1, refused: [{ line: 3 }] })

  const exporter = new OTLPLogExporter({
    url: `${weir.url}/v1/logs`,
    headers: { authorization: `Bearer ${token}`, 'service-version': '2' },
  })
  const provider = new LoggerProvider({ processors: [new BatchLogRecordProcessor({ exporter })] })
  t.teardown(() => provider.shutdown())
  provider.getLogger('proxy').emit({
    attributes: {
      'client.address': '203.0.113.7',
      'server.address': 'www.published.example',
      'http.request.method': 'GET',
      'url.path': '/shop',
      'http.response.status_code': 404,
      'log.record.uid': 'o1',
    },
  })
  await provider.forceFlush()

  const decided = () => all(api.decisions({ source: 'record' }))
  await until('three decisions are logged', async () => (await decided()).length === 3)
  const byId = Object.fromEntries((await decided()).map((decision) => [decision.record_id, decision]))
  t.match(byId, {
    h1: { decision: 'allow', edge_id: edge.id },
    h2: { decision: 'block', edge_id: edge.id },
    o1: { decision: 'allow', edge_id: web.id, path: '/shop', status_code: 404 },
  })
  const place = { service: 'kinesis', name } as const
  await until('three events arrive', async () => (await emulator.client.counts(place)).events >= 3)
  const objects: unknown[] = []
  for await (const { data } of emulator.client.received(place)) objects.push(JSON.parse(data).object)
  t.match(
    new Set(objects.map((object) => JSON.stringify(object))),
    new Set([
      '{"conn":{"client_ip":"203.0.113.9"},"ip_policy":{"decision":"allow"}}',
      '{"conn":{"client_ip":"198.51.100.1"},"ip_policy":{"decision":"block"}}',
      '{"http":{"request":{"url":{"path":"/shop"}},"response":{"status_code":404}}}',
    ]),
  )
})

t.test('records that are published right after a change are judged with it', async (t) => {
  const { weir } = await openAccount(t)
  const { api } = weir
  const decided = () => all(api.decisions({ source: 'record' }))
  const conn = { client_ip: '203.0.113.9', server_name: 'new.published.example', server_port: 22 }
  const nobody = { name: 'nobody', expressions: ['true'], actions: [{ type: 'deny' }] } as const
  const edge = await api.tcpEdge.create({
    hostports: ['new.published.example:22'],
    policies: { inbound: [nobody] },
  })
  const records = [
    { record_id: 'by-name', type: 'tcp_connection', conn },
    { record_id: 'by-id', type: 'tcp_connection', conn, edge_id: edge.id },
  ] as const
  t.match(await api.publishRecords(records), { stored: 2, refused_count: 0 })
  await until('both are decided', async () => (await decided()).length === 2)
  t.strictSame(
    new Set((await decided()).map(({ edge_id, decision }) => [edge_id, decision])),
    new Set([
      [edge.id, 'deny'],
      [edge.id, 'deny'],
    ]),
  )
})
