/** A destination kind is one file and one line: a made-up one works in every process from its declaration alone. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import type { NewResource } from '../../src/words/client/kinds.js'
import { documentAt, metricsOf } from '../harness/pages.js'
import { targetShown } from '../harness/targets.js'
import { type RunningWeir, until } from '../harness/weir.js'
import { openAddedKinds } from './added-kinds.js'

/** A web server that is unavailable for the first request with a record, and refuses records with `refused`. */
async function openSink(t: Test): Promise<{ url: string; lines: string[] }> {
  const lines: string[] = []
  let unavailable = 1
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks).toString()
    const isTest = body.includes('"test.v0"')
    if (body.includes('refused.example.com')) response.writeHead(422)
    else if (!isTest && unavailable-- > 0) response.writeHead(503)
    else lines.push(...body.trimEnd().split('\n'))
    response.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/events`, lines }
}

const record = (id: string, server_name: string): string =>
  JSON.stringify({
    record_id: id,
    type: 'tcp_connection',
    conn: { client_ip: '192.0.2.1', server_name, server_port: 22 },
  })

/** The typed client does not know the made-up kind. */
type DestinationTarget = NewResource<'eventDestination'>['target']

async function checkApi(t: Test, weir: RunningWeir, url: string): Promise<void> {
  const { components } = await documentAt(`${weir.url}/openapi.json`)
  t.match(JSON.stringify(components.schemas.DestinationTargetInput), /"http_lines":/, 'in the document')
  const badTargets = [
    { target: { http_lines: { url: 'ftp://x' } }, says: /"target.http_lines.url" is "ftp:\/\/x"/ },
    { target: { http_lines: { url, auth: {} } }, says: /"target.http_lines" has no field "auth"/ },
    { target: {}, says: /exactly one of kinesis, firehose, .*, http_lines/ },
  ]
  for (const { target, says } of badTargets) {
    const refused = { name: 'ApiError', status_code: 400, msg: says }
    await t.rejects(weir.api.eventDestination.create({ target: target as DestinationTarget }), refused)
  }
}

t.test('a made-up kind has its API, settings, metrics and deliveries', async (t) => {
  const sink = await openSink(t)
  const { weir } = await openAddedKinds(t)
  const { api } = weir
  t.notMatch(weir.process.output(), /WEIR_HTTP_LINES_REQUEST_MAX/, 'its setting is known')
  await checkApi(t, weir, sink.url)

  const { id, target } = await api.eventDestination.create({
    target: { http_lines: { url: sink.url } } as DestinationTarget,
  })
  const shown = { ...targetShown({}), http_lines: { url: sink.url } }
  t.strictSame(target, shown, 'shown with every kind')
  const tested = await api.sendTestEvent(id)
  t.match(sink.lines, [new RegExp(tested.event_id)], 'a test event arrives')

  await api.tcpEdge.create({ hostports: ['ssh.example.com:22', 'refused.example.com:22'] })
  const sources = [{ type: 'tcp_connection_closed.v0', fields: ['conn.server_name'] }]
  await api.eventSubscription.create({ sources, destination_ids: [id] })
  const nats = await weir.nats()
  const counts = async () => (await api.deliveryStatus(id)).counts
  // A pipeline may not know the subscription yet: its records are judged, and make no event.
  await until('a subscribed record arrives', async () => {
    await nats.publish('weir.records.eu.node-1', record(`try-${Date.now()}`, 'ssh.example.com'))
    return (await counts()).delivered > 0
  })
  const names = ['ssh.example.com', 'refused.example.com', 'ssh.example.com']
  await nats.publish('weir.records.eu.node-1', names.map((name, n) => record(`r${n}`, name)).join('\n'))
  await until('the refused event is dead-lettered, and nothing is under way', async () => {
    const { counts, backlog } = await api.deliveryStatus(id)
    return counts.dead_lettered === 1 && backlog.events === 0
  })

  const { produced, delivered, retried } = await counts()
  t.equal(delivered, produced - 1, 'the books balance')
  const ids = new Set(sink.lines.map((line) => JSON.parse(line).event_id))
  t.equal(ids.size, delivered + 1, 'every event arrived, and the test event')
  t.ok(retried > 0, 'sent again after the outage')
  t.match(JSON.parse(sink.lines[1]!), { object: { conn: { server_name: 'ssh.example.com' } } })
  const metrics = await metricsOf(weir.url)
  t.match(metrics, new RegExp(`^weir_events_delivered_total\\{target="http_lines"\\} ${delivered}$`, 'm'))
})
