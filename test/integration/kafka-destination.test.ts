/** A destination of the kind `kafka`, whose broker hangs for a while. */
import t from 'tap'
import { kafkaMissing, startKafka } from '../harness/kafka.js'
import { until } from '../harness/weir.js'
import { openAccount } from './service.js'

const record = (id: string): string =>
  JSON.stringify({
    record_id: id,
    type: 'tcp_connection',
    conn: { client_ip: '192.0.2.1', server_name: 'kafka.example.com', server_port: 22 },
  })

t.test('every event arrives once, although the broker hangs', { skip: kafkaMissing ?? false }, async (t) => {
  const broker = await startKafka(t)
  await broker.createTopic('traffic')
  const { weir } = await openAccount(t)
  const { api } = weir
  const { id } = await api.eventDestination.create({
    target: { kafka: { topic: 'traffic', brokers: [broker.plain], key: 'client' } },
  })
  await until('a test event arrives', () =>
    api.sendTestEvent(id).then(
      () => true,
      () => false,
    ),
  )
  t.match(await api.checkDestination(id), { proved: { 0: /Every broker/, 3: /right to write/ } })
  await api.tcpEdge.create({ hostports: ['kafka.example.com:22'] })
  const sources = [{ type: 'tcp_connection_closed.v0', fields: ['conn.client_ip'] }]
  await api.eventSubscription.create({ sources, destination_ids: [id] })
  const nats = await weir.nats()
  const publish = (...ids: string[]) => nats.publish('weir.records.eu.node-1', ids.map(record).join('\n'))
  const delivered = async () => (await api.deliveryStatus(id)).counts.delivered
  // A pipeline may not know the subscription yet: its records are judged, and make no event.
  await until('a subscribed record arrives', async () => {
    await publish(`try-${Date.now()}`)
    return (await delivered()) > 0
  })
  broker.freeze()
  await publish(...Array.from({ length: 50 }, (_, index) => `away-${index}`))
  await until('the events wait', async () => (await api.deliveryStatus(id)).backlog.events >= 50)
  broker.thaw()
  await until('all are delivered', async () => (await api.deliveryStatus(id)).backlog.events === 0)
  const { counts } = await api.deliveryStatus(id)
  t.equal(counts.delivered, counts.produced, 'the books balance')
  const records = await broker.read('traffic', counts.delivered + 1)
  t.equal(records.length, counts.delivered + 1, 'with the test event, nothing is missing and nothing twice')
  t.equal(records.filter(({ key }) => key === '192.0.2.1').length, counts.delivered, 'by their clients')
})
