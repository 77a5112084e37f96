/**
 * A destination of the kind `kafka`, whose broker hangs for a while; what is advised when a broker, or what stands there,
 * refuses.
 */
import t from 'tap'
import { freePort } from '../../src/delivery/nats-server/nats-probe.js'
import { kafkaMissing, kafkaUser, startKafka } from '../harness/kafka.js'
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

const largePath = `/${'x'.repeat(5_000)}`
const request = (id: string, path = '/'): string =>
  JSON.stringify({
    record_id: id,
    type: 'http_request',
    conn: { client_ip: '192.0.2.1', server_name: 'kafka.example.com', server_port: 443 },
    http: { request: { method: 'get', url: { path } } },
  })

t.test('advice is true of what the broker does', { skip: kafkaMissing ?? false }, async (t) => {
  const broker = await startKafka(t)
  for (const topic of ['traffic', 'seen']) await broker.createTopic(topic)
  await broker.createTopic('small', 1, { 'max.message.bytes': '2000' })
  await broker.denyWrites('seen')
  const { weir } = await openAccount(t)
  const { api } = weir
  const sasl = (mechanism: 'plain' | 'scram-sha-512', password = kafkaUser.password) => ({
    sasl: { mechanism, username: kafkaUser.username, password },
  })
  const { plain, sasl: login, tls } = broker
  const closed = /^The broker ends the connection: .* tls and sasl .* loses nothing\.$/
  const cases: [name: string, target: object, cause: string, code: string, advice: RegExp][] = [
    [
      'nothing listens',
      { brokers: [`127.0.0.1:${await freePort()}`] },
      'transient',
      'ConnectionLost',
      /^There is no connection to the broker/,
    ],
    [
      'no such topic',
      { topic: 'missing' },
      'configuration',
      'UNKNOWN_TOPIC_OR_PARTITION',
      /^The topic does not exist/,
    ],
    [
      'a wrong password',
      { brokers: [login], ...sasl('plain', 'wrong') },
      'credentials',
      'SASL_AUTHENTICATION_FAILED',
      /refuses the user or the password/,
    ],
    [
      'a mechanism that is not enabled',
      { brokers: [login], ...sasl('scram-sha-512') },
      'configuration',
      'UNSUPPORTED_SASL_MECHANISM',
      /does not offer this SASL mechanism/,
    ],
    ['no login where one is wanted', { brokers: [login] }, 'transient', 'ConnectionClosed', closed],
    [
      'a login where none is wanted',
      sasl('plain'),
      'configuration',
      'ILLEGAL_SASL_STATE',
      /takes no login\. Leave sasl out/,
    ],
    ['TLS where none is spoken', { tls: {} }, 'transient', 'ConnectionClosed', closed],
    ['no TLS where it is spoken', { brokers: [tls] }, 'transient', 'ConnectionClosed', closed],
    ['an unknown authority', { brokers: [tls], tls: {} }, 'configuration', 'TlsFailed', /given in tls\.ca/],
    ['a web server', { brokers: [new URL(weir.url).host] }, 'configuration', 'NotKafka', /is no Kafka/],
    [
      'no right to write',
      { topic: 'seen', brokers: [login], ...sasl('plain') },
      'configuration',
      'TOPIC_AUTHORIZATION_FAILED',
      /may not write to the topic/,
    ],
    [
      'a topic for small records',
      { topic: 'small' },
      'poison',
      'MESSAGE_TOO_LARGE',
      /^Single events are larger than the topic takes/,
    ],
  ]
  const create = async (target: object) =>
    (
      await api.eventDestination.create({
        target: { kafka: { topic: 'traffic', brokers: [plain], ...target } },
      })
    ).id
  const ids = new Map<string, string>()
  for (const [name, target] of cases) ids.set(name, await create(target))
  const works = await create({})
  await api.httpsEdge.create({ hostports: ['kafka.example.com:443'] })
  await api.eventSubscription.create({
    sources: [{ type: 'http_request_complete.v0' }],
    destination_ids: [works, ...ids.values()],
  })
  const nats = await weir.nats()
  const publish = (...lines: string[]) => nats.publish('weir.records.eu.node-1', lines.join('\n'))
  await until('a subscribed record arrives', async () => {
    await publish(request(`first-${Date.now()}`))
    return (await api.deliveryStatus(works)).counts.delivered > 0
  })
  await publish(...Array.from({ length: 30 }, (_, index) => request(`large-${index}`, largePath)))

  for (const [name, , cause, code, advice] of cases) {
    const status = () => api.deliveryStatus(ids.get(name)!)
    await until(`${name}: ${code}`, async () => (await status()).cause === cause)
    t.match(await status(), { last_error: { code }, advice }, name)
    // Who tries to write a large record learns that it is too large.
    if (cause !== 'poison')
      t.match(await api.checkDestination(ids.get(name)!), { error: { code }, advice }, `${name}: a check`)
  }
  t.match(await api.deliveryStatus(works), { state: 'healthy', advice: null })
  broker.kill()
  await publish(request('after'))
  await until('it fails', async () => (await api.deliveryStatus(works)).state === 'failing')
  t.match((await api.deliveryStatus(works)).advice, /^(There is no connection to|The broker ends)/)
})
