/** A traffic event kind is one file and one line: a made-up one works in every process from its declaration alone. */
import t from 'tap'
import { documentAt } from '../harness/pages.js'
import { until } from '../harness/weir.js'
import { openAddedKinds } from './added-kinds.js'
import { stream, target } from './deployment.js'

const kind = 'ssh_session_ended.v0'

const record = (record_id: string, server_port: number): string =>
  JSON.stringify({
    record_id,
    type: 'tcp_connection',
    conn: { client_ip: '192.0.2.1', server_name: 'ssh.example.com', server_port, bytes_in: 40, bytes_out: 2 },
  })

t.test('a made-up kind has its schema, its checks, its filter and its events', async (t) => {
  const { weir, emulator } = await openAddedKinds(t)
  const { api } = weir

  const { components, webhooks } = await documentAt(`${weir.url}/openapi.json`)
  t.ok(components.schemas.EventKind.enum.includes(kind), 'in the document')
  t.ok(components.schemas.EventField.enum.includes('session.bytes'), 'its field, too')
  t.ok(kind in webhooks)
  const { events } = await documentAt(`${weir.url}/fields`)
  const entry = events.find((event: { kind: string }) => event.kind === kind)
  t.match(
    entry,
    { about: 'An SSH session has ended.', made_from: 'tcp_connection' },
    'in the field reference',
  )
  t.strictSame(
    entry.fields.find(({ name }: { name: string }) => name === 'session.bytes'),
    {
      name: 'session.bytes',
      type: 'int64',
      unit: 'bytes',
      default: true,
      filterable: false,
      about: 'Bytes in both directions.',
    },
  )
  t.match(await documentAt(`${weir.url}/schemas/${kind}.json`), { $schema: String }, 'with a schema')

  const { id } = await api.eventDestination.create(target(await stream(emulator, 'ssh'), emulator))
  const bad = [
    { source: { type: kind, fields: ['session.byte'] }, says: /did you mean session\.bytes/ },
    { source: { type: kind, filter: 'session.bytes > 1' }, says: /session\.bytes is not filterable/ },
  ]
  for (const { source, says } of bad) {
    const made = api.eventSubscription.create({ sources: [source], destination_ids: [id] })
    await t.rejects(made, { name: 'ApiError', status_code: 400, msg: says })
  }
  await api.tcpEdge.create({ hostports: ['ssh.example.com:22', 'ssh.example.com:23'] })
  const sources = [
    { type: kind, fields: ['session.bytes', 'conn.server_port'], filter: 'conn.server_port == 22' },
  ]
  await api.eventSubscription.create({ sources, destination_ids: [id] })

  const nats = await weir.nats()
  const counts = async () => (await api.deliveryStatus(id)).counts
  let tries = 0
  // A pipeline may not know the subscription yet: its records are judged, and make no event.
  await until('a subscribed record arrives', async () => {
    tries += 1
    const lines = [record(`try-${tries}`, 22), record(`other-${tries}`, 23)]
    await nats.publish('weir.records.eu.node-1', lines.join('\n'))
    return (await counts()).delivered > 0
  })
  t.ok((await counts()).filtered > 0, 'its filter applies')
  for await (const { data } of emulator.client.received({ service: 'kinesis', name: 'ssh' })) {
    t.match(JSON.parse(data), {
      event_type: kind,
      object: { conn: { server_port: 22 }, session: { bytes: 42 } },
    })
  }
})
