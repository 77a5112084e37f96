/** The whole path: resources over HTTP, records over NATS, events at AWS. */
import t from 'tap'
import type { TracedRecord } from '../../src/words/shape/traced-record.js'
import { all } from '../harness/caller.js'
import { untilInUse } from '../harness/in-use.js'
import { total } from '../harness/metrics.js'
import { metricsOf } from '../harness/pages.js'
import { run } from '../harness/processes.js'
import { until } from '../harness/weir.js'
import { openAccount } from './service.js'

t.test('records from NATS arrive as events at each destination', async (t) => {
  const { weir, emulator } = await openAccount(t)
  const { api } = weir
  await emulator.client.clearFaults()
  const counted = async (name: string) => total(await metricsOf(weir.url), `weir_${name}_total`)
  const asked = async () => total(await metricsOf(weir.url), 'weir_decisions_asked_total', 'decision="block"')
  const before = {
    records: await counted('records_in'),
    bad: await counted('records_bad'),
    asked: await asked(),
  }
  const creds = {
    aws_access_key_id: emulator.key.accessKeyId,
    aws_secret_access_key: emulator.key.secretAccessKey,
  }
  const arn = await emulator.client.addResource({
    service: 'kinesis',
    name: 'events',
    recordsPerSecond: null,
    bytesPerSecond: null,
  })
  const destination = await api.eventDestination.create({
    description: 'kinesis',
    target: { kinesis: { stream_arn: arn, auth: { creds } } },
  })
  t.equal(destination.target.kinesis?.auth.creds?.aws_secret_access_key, null, 'the secret is not shown')
  const tested = await api.sendTestEvent(destination.id)
  t.match(tested.event_id, /^ev_/)
  const policy = await api.ipPolicy.create({ description: 'office' })
  await api.ipPolicyRule.create({ ip_policy_id: policy.id, cidr: '203.0.113.0/24', action: 'allow' })
  const edge = await api.tcpEdge.create({
    hostports: ['ssh.example.com:22'],
    ip_restriction: { ip_policy_ids: [policy.id] },
    policies: {
      inbound: [
        {
          name: 'known port',
          expressions: ['conn.server_port == 22'],
          actions: [{ type: 'log', config: { Metadata: { Message: 'hello' } } }],
        },
      ],
    },
  })
  const web = await api.httpsEdge.create({ hostports: ['www.example.com:443'] })
  await api.httpsEdgeRoute.under(web.id).create({
    match_type: 'path_prefix',
    match: '/admin',
    policies: {
      inbound: [
        {
          name: 'a key',
          expressions: ["http.request.headers['x-key'] == null"],
          actions: [{ type: 'deny' }],
        },
      ],
    },
  })
  await api.eventSubscription.create({
    sources: [
      { type: 'http_request_complete.v0', fields: ['record_id', 'decision'] },
      { type: 'tcp_connection_closed.v0', fields: ['conn.client_ip', 'ip_policy.decision'] },
      { type: 'log.v0' },
      { type: 'ip_policy_created.v0' },
    ],
    destination_ids: [destination.id],
  })
  await untilInUse(weir)
  const audited = await api.ipPolicy.create({ description: 'audited' })
  const nats = await weir.nats()
  const record = (id: string, client_ip: string): string =>
    JSON.stringify({
      record_id: id,
      type: 'tcp_connection',
      conn: { client_ip, server_name: 'ssh.example.com', server_port: 22, bytes_in: 7 },
    })
  const request = (record_id: string, headers: object): string =>
    JSON.stringify({
      record_id,
      type: 'http_request',
      conn: { client_ip: '203.0.113.9', server_name: 'www.example.com', server_port: 443 },
      http: { request: { url: { path: '/admin/' }, headers } },
    })
  const requests = [request('h1', {}), request('h2', { 'X-Key': ['1'] })]
  await nats.publish(
    'weir.records.eu.node-1',
    [record('r1', '203.0.113.9'), record('r2', '198.51.100.1'), 'not json', ...requests].join('\n'),
  )
  const answers = await Promise.all(requests.map((each) => nats.request('weir.decide', each, 30_000)))
  t.match(
    answers.map((bytes) => JSON.parse(Buffer.from(bytes).toString())),
    [{ decision: 'deny', policy: 'a key' }, { decision: 'allow' }],
    'requests are judged by their headers',
  )
  const question = JSON.stringify({ ...JSON.parse(record('r3', '198.51.100.1')), explain: true })
  const decision = JSON.parse(Buffer.from(await nats.request('weir.decide', question, 30_000)).toString())
  t.match(decision, { decision: 'block', ip_policy: { decision: 'block', policy_ids: [policy.id] } })
  t.match(decision.warnings, [/WEIR_DECIDE_EXPLAIN is off/])
  t.equal(decision.explanation, undefined, 'an ingress node reads no rules')
  const { token } = await api.apiKey.create({ rights: ['decide'] })
  const [, decisions = ''] = await weir.process.line(/^decisions: (\S+)$/)
  let overHttp: Response | undefined
  await until('the decide role knows the key', async () => {
    const headers = { 'weir-key': String(token) }
    overHttp = await fetch(decisions, { method: 'POST', headers, body: record('r3', '198.51.100.1') })
    return overHttp.status !== 401
  })
  t.match(overHttp, { status: 403 }, 'a proxy is told the same')
  const inLog = () => all(api.decisions({ source: 'asked', client: '198.51.100.1' }))
  await until('both questions are in the log', async () => (await inLog()).length === 2)
  t.match(
    await inLog(),
    [
      { record_id: 'r3', decision: 'block', sequence: null, weight: 1 },
      { record_id: 'r3', edge_id: edge.id, decided_by: { type: 'ip_restriction', id: edge.id } },
    ],
    'what a proxy enforces leaves a trace',
  )
  const questions = await api.record('r3')
  t.strictSame(questions.publications, [])
  t.match(questions.asked, [{ explained: { decision: 'block' }, missing: null }, { explained: {} }])
  const unexplained = { ...decision, warnings: [], revision: 0 }
  t.strictSame({ ...((await overHttp!.json()) as object), revision: 0 }, unexplained)
  await until(
    'seven events at the stream',
    async () => (await emulator.client.counts({ service: 'kinesis', name: 'events' })).events >= 7,
  )
  const events: Record<string, never>[] = []
  for await (const { data } of emulator.client.received({ service: 'kinesis', name: 'events' }))
    events.push(JSON.parse(data))
  const byType = (type: string) =>
    events.filter((event) => event['event_type'] === type).map((event) => event['object'])
  t.strictSame(byType('tcp_connection_closed.v0'), [
    { conn: { client_ip: '203.0.113.9' }, ip_policy: { decision: 'allow' } },
    { conn: { client_ip: '198.51.100.1' }, ip_policy: { decision: 'block' } },
  ])
  t.strictSame(byType('http_request_complete.v0'), [
    { record_id: 'h1', decision: 'deny' },
    { record_id: 'h2', decision: 'allow' },
  ])
  t.strictSame(byType('log.v0'), [{ metadata: { Message: 'hello' } }])
  t.strictSame(byType('ip_policy_created.v0'), [{ ...audited }])
  await until('the books balance', async () => {
    const { counts, backlog } = await api.deliveryStatus(destination.id)
    return counts.produced === 6 && counts.delivered === 6 && backlog.events === 0
  })
  const metrics = await metricsOf(weir.url)
  t.equal((await counted('records_in')) - before.records, 5)
  t.equal((await counted('records_bad')) - before.bad, 1)
  const named = `destination="${destination.id}",target="kinesis"`
  t.match(metrics, `weir_destination_state{${named},state="healthy"} 1\n`)
  t.match(metrics, `weir_destination_state{${named},state="paused"} 0\n`)
  t.match(metrics, /^weir_stream_bytes_max\{stream="KV_weir_config"\} [1-9]/m)
  for (const role of ['pipeline', 'decide'])
    t.match(metrics, new RegExp(`^weir_configuration_revision\\{role="${role}"\\} [1-9]`, 'm'))
  const measured = [
    /^weir_stream_bytes\{stream="WEIR_RECORDS"\} [1-9]/m,
    /^weir_records_lag_messages\{stream="WEIR_RECORDS"\} 0$/m,
    /^weir_delivery_seconds_count\{target="kinesis"\} [1-9]/m,
    /^weir_decide_seconds_count\{over="nats"\} [1-9]/m,
    /^weir_decide_seconds_count\{over="http"\} [1-9]/m,
    /^weir_api_request_seconds_count\{method="GET",route="\/event_destinations\/:id\/status"\} [1-9]/m,
  ]
  await until('everything is measured, and no record waits', async () => {
    const page = await metricsOf(weir.url)
    return measured.every((line) => line.test(page)) && (await asked()) - before.asked === 2
  })
  await until('the log knows what became of the record', async () => {
    const { publications = [] } = await api.record('r1').catch(() => ({}) as Partial<TracedRecord>)
    return publications[0]?.events?.every(({ deliveries }) => deliveries[0]?.state === 'delivered') === true
  })
  const traced = await api.record('r1')
  const [{ explained, events: made = [] } = {}] = traced.publications
  t.match(explained, {
    decision: 'allow',
    explanation: { policies: [{ policy: 'known port', applied: true }] },
  })
  const delivered = { destination_id: destination.id, request_id: /./, receipt: /^\d+$/, shard: /^shardId-/ }
  t.match(made, [
    { type: 'tcp_connection_closed.v0', deliveries: [delivered] },
    { type: 'log.v0', deliveries: [delivered] },
  ])
  const arrived = events.map((event) => String(event['event_id']))
  for (const { id } of made ?? []) {
    t.ok(arrived.includes(id), 'the id is that of the event at AWS')
    t.strictSame(await api.record(id), traced)
  }
  const watch = (...options: string[]) => {
    const tap = run('programs/main.js', ['tap', ...options], {
      WEIR_API_URL: weir.url,
      WEIR_API_KEY: weir.token,
    })
    t.teardown(() => tap.stop())
    return tap
  }
  const taps = [watch('--where', "decision != 'allow'"), watch('--destination', destination.id)] as const
  await until('a blocked connection and its delivery are seen by who watches', async () => {
    await nats.publish('weir.records.eu.node-1', record(`tap-${Date.now()}`, '192.0.2.1'))
    const [decided, sent] = taps.map((tap) => tap.output())
    return (
      / block {2}192\.0\.2\.1 /.test(decided!) &&
      / delivered +tcp_connection_closed\.v0 +ev_\w+ +request /.test(sent!)
    )
  })
  for (const tap of taps) t.match(await tap.stop(), { code: 0 }, 'an interrupt ends it')
  await api.tcpEdge.delete(edge.id)
})
