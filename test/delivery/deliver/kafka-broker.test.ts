/** The kind `kafka`, on a broker of Apache Kafka. */
import { connect, createServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { AwsClock } from '../../../src/delivery/deliver/aws/aws-clock.js'
import type { DestinationConfig } from '../../../src/delivery/deliver/kind/destination.js'
import type { Sender, SendOutcome } from '../../../src/delivery/deliver/kind/sender.js'
import { type DeliverySettings, openSender } from '../../../src/delivery/deliver/kinds.js'
import { Lane } from '../../../src/delivery/deliver/lane/lane.js'
import { freePort } from '../../../src/delivery/nats-server/nats-probe.js'
import { ReachableNetworks } from '../../../src/delivery/outgoing/private-networks.js'
import { PackWriter, readPack } from '../../../src/delivery/wire/pack.js'
import type { PackedEvent } from '../../../src/delivery/wire/packed-event.js'
import { type KafkaBroker, kafkaMissing, kafkaUser, startKafka } from '../../harness/kafka.js'
import { until } from '../../harness/weir.js'
import { eventJson, eventsOf, someEvents } from './events.js'

const deps = (more: Partial<DeliverySettings> = {}): DeliverySettings => ({
  kinds: { kafka: { requestBytesMax: 900 * 1024 } },
  aws: {},
  clock: new AwsClock(),
  networks: new ReachableNetworks(['127.0.0.0/8']),
  requestTimeoutMs: 30_000,
  ...more,
})

const config = (topic: string, options: object): DestinationConfig => ({
  id: 'ed_1',
  accountId: 'ac_1',
  kind: 'kafka',
  address: topic,
  options: options as DestinationConfig['options'],
})

const signal = new AbortController().signal

function opened(t: Test, of: DestinationConfig, more: Partial<DeliverySettings> = {}): Sender {
  const sender = openSender(of, deps(more))
  t.teardown(() => sender.close())
  return sender
}

const send = (t: Test, of: DestinationConfig, events = someEvents(2), more = {}): Promise<SendOutcome> =>
  opened(t, of, more).send(events, signal)

/** Until all are accepted: the leader of a new partition may not be elected yet. */
async function deliver(sender: Sender, events: readonly PackedEvent[]): Promise<void> {
  let left = events
  await until('all are accepted', async () => {
    const sent = await sender.send(left, signal)
    if (sent.outcome === 'partial') left = sent.retry.map((index) => left[index]!)
    return sent.outcome === 'accepted'
  })
}

const accepted = { outcome: 'accepted' }
const failed = (faultClass: string, code: string) => ({
  outcome: 'failed',
  fault: { class: faultClass, code },
})

t.test('on Apache Kafka', { skip: kafkaMissing ?? false }, async (t) => {
  const proxyPort = await freePort()
  const broker = await startKafka(t, 'message.max.bytes=100000', proxyPort)
  const proxy = await openProxy(t, proxyPort, broker)
  const of = (topic: string, more: object = {}) => config(topic, { brokers: [broker.plain], ...more })

  t.test('records are the events, by their keys', async (t) => {
    await broker.createTopic('all')
    const sender = opened(t, of('all'))
    await deliver(sender, [...someEvents(500), ...eventsOf([{ id: 'ev_u', padding: 'ünï\n"' }])])
    const records = await broker.read('all', 501)
    t.equal(records.length, 501)
    t.match(
      records.find(({ key }) => key === 'ev_u'),
      { value: eventJson({ id: 'ev_u', padding: 'ünï\n"' }) },
    )
    t.equal(new Set(records.map(({ partition }) => partition)).size, 3, 'in all partitions')
    t.match(await sender.check?.(someEvents(1)[0]!, signal), { ok: true, value: { mayWrite: true } })
    await keyed(t, broker)
  })

  t.test('an answer that is lost: the record is written once', async (t) => {
    await broker.createTopic('once', 2)
    const sender = opened(t, of('once'))
    await deliver(sender, someEvents(10, 'ev_first_'))
    proxy.loseAnswers(true)
    const lost = await sender.send(someEvents(10, 'ev_lost_'), signal)
    t.match(lost, failed('transient', 'ConnectionClosed'))
    proxy.loseAnswers(false)
    // The lane sends what it likes: a part, together with others.
    await deliver(sender, [...someEvents(4, 'ev_lost_'), ...someEvents(3, 'ev_new_')])
    await deliver(sender, someEvents(10, 'ev_lost_').slice(4))
    const keys = (await broker.read('once', 23)).map(({ key }) => key)
    t.equal(keys.length, 23, 'nothing is written twice')
    t.equal(new Set(keys).size, 23, 'nothing is missing')
  })

  t.test('what Kafka refuses', async (t) => {
    t.match(await send(t, of('missing')), failed('configuration', 'UNKNOWN_TOPIC_OR_PARTITION'))
    await broker.createTopic('small', 1, { 'max.message.bytes': '2000' })
    const large = eventsOf([{ id: 'ev_large', padding: 'x'.repeat(5_000) }])
    await deliver(opened(t, of('small')), someEvents(1))
    t.match(await send(t, of('small'), large), failed('poison', 'MESSAGE_TOO_LARGE'))
    const auth = (mechanism: string, password = 'right') => ({
      brokers: [broker.sasl],
      sasl: { mechanism, username: kafkaUser.username, password },
    })
    for (const mechanism of ['plain', 'scram-sha-256']) {
      await deliver(opened(t, config('all', auth(mechanism))), someEvents(2))
      const refused = await send(t, config('all', auth(mechanism, 'wrong')))
      t.match(refused, failed('credentials', 'SASL_AUTHENTICATION_FAILED'), mechanism)
    }
    await broker.createTopic('recent', 1, { 'message.timestamp.before.max.ms': '60000' })
    const recent = opened(t, of('recent'))
    await deliver(recent, someEvents(1))
    const old = { id: 'ev_old', timestampMs: Date.now() - 3_600_000 }
    const mixed = [...someEvents(2, 'ev_a_'), ...eventsOf([old]), ...someEvents(2, 'ev_b_')]
    const rejected = [{ index: 2, fault: { class: 'poison', code: 'INVALID_TIMESTAMP' } }]
    t.match(await recent.send(mixed, signal), { outcome: 'partial', retry: [], rejected })
    t.equal((await broker.read('recent', 5)).length, 5, 'the others are written at once')
    await broker.createTopic('seen')
    await broker.denyWrites('seen')
    const seen = config('seen', auth('plain'))
    const denied = failed('configuration', 'TOPIC_AUTHORIZATION_FAILED')
    await until('the rule holds', async () => {
      const sent = await send(t, seen)
      return sent.outcome === 'failed' && sent.fault.class === 'configuration'
    })
    t.match(await send(t, seen), denied)
    t.match(await opened(t, seen).check?.(someEvents(1)[0]!, signal), { ok: false, problem: denied.fault })
    const unknown = await send(t, config('all', auth('scram-sha-512')))
    t.match(unknown, failed('configuration', 'UNSUPPORTED_SASL_MECHANISM'))
    const withoutSasl = await send(t, config('all', { brokers: [broker.sasl] }), someEvents(1), {
      requestTimeoutMs: 3_000,
    })
    t.match(withoutSasl, { fault: { class: 'transient' } })
  })

  t.test('encrypted, with a certificate authority of its own', async (t) => {
    const sasl = { mechanism: 'scram-sha-256', ...kafkaUser }
    const secured = { brokers: [broker.tls], sasl, tls: { ca: broker.ca } }
    await deliver(opened(t, config('all', secured)), someEvents(2))
    const other = failed('configuration', 'TlsFailed')
    t.match(await send(t, config('all', { ...secured, tls: {} })), other, 'an unknown authority')
    const byAddress = [broker.tls.replace('localhost', '127.0.0.1')]
    t.match(await send(t, config('all', { ...secured, brokers: byAddress })), other, 'another name')
  })

  t.test('a quota: the broker is left alone as long as it asks', async (t) => {
    await broker.limit('weir-ed_1', 10_000)
    const sender = opened(t, of('all'))
    const large = eventsOf([{ id: 'ev_quota', padding: 'x'.repeat(50_000) }])
    await until('the quota is used up', async () => {
      const sent = await sender.send(large, signal)
      return sent.outcome === 'failed' && sent.fault.class === 'throttle' && sent.fault.retryAfterMs! > 0
    })
    await broker.limit('weir-ed_1', 1e9)
  })

  t.test('a lane: the record that is too large is found, and the others arrive', async (t) => {
    await broker.createTopic('lane', 1, { 'max.message.bytes': '20000' })
    const dead: string[] = []
    const lane = new Lane(of('lane'), {
      open: (each) => openSender(each, deps()),
      budget: { hold: () => true, release: () => {} },
      deadLetter: async (event: PackedEvent) => void dead.push(event.id),
    })
    t.teardown(() => lane.close())
    const events = [...someEvents(200), ...eventsOf([{ id: 'ev_large', padding: 'x'.repeat(30_000) }])]
    t.match(await lane.deliver([...events, ...someEvents(200, 'ev_more_')]), {
      outcome: 'done',
      counts: { delivered: 400, dead_lettered: 1 },
    })
    t.strictSame(dead, ['ev_large'])
    t.equal((await broker.read('lane', 400)).length, 400)
  })

  t.test('a topic that comes later: paused, and resumed', async (t) => {
    const states: string[] = []
    const lane = new Lane(of('later'), {
      open: (each) => openSender(each, deps()),
      budget: { hold: () => true, release: () => {} },
      settings: { probeMinMs: 50, probeMaxMs: 100 },
      changed: ({ state }) => void states.push(state),
      deadLetter: async () => void t.fail('nothing is refused'),
    })
    t.teardown(() => lane.close())
    const delivered = lane.deliver(someEvents(20))
    await until('it is paused', () => states.includes('paused'))
    await broker.createTopic('later')
    t.match(await delivered, { outcome: 'done', counts: { delivered: 20 } })
    t.equal(states.at(-1), 'healthy')
  })

  t.test('a broker that hangs', async (t) => {
    const sender = opened(t, of('all'), { requestTimeoutMs: 1_500 })
    t.match(await sender.send(someEvents(1, 'ev_before_'), signal), accepted)
    broker.freeze()
    // The signal may take a moment.
    await until('it hangs', async () => {
      const sent = await sender.send(someEvents(1, 'ev_late_'), signal)
      return sent.outcome === 'failed' && t.match(sent, failed('transient', 'Timeout'))
    })
    broker.thaw()
    await until(
      'it goes on',
      async () => (await sender.send(someEvents(1, 'ev_late_'), signal)).outcome === 'accepted',
    )
  })

  t.test('a broker in a network that is not allowed', async (t) => {
    // Only the server that the account names is allowed, not the one that the cluster names.
    const networks = new ReachableNetworks(['127.0.0.2/32'])
    const hidden = await openProxy(t, await freePort(), broker, '127.0.0.2')
    const refused = await send(t, config('all', { brokers: [hidden.place] }), someEvents(1), { networks })
    t.match(refused, failed('configuration', 'PrivateNetwork'))
  })
})

/** Events of an edge and a client share its partition. */
async function keyed(t: Test, broker: KafkaBroker): Promise<void> {
  await broker.createTopic('keyed', 8)
  const writer = new PackWriter()
  const object = { edge: { id: 'edge_1' }, conn: { client_ip: '192.0.2.1' } }
  for (const n of [1, 2, 3])
    writer.append(`ev_${n}`, Date.now(), JSON.stringify({ event_id: `ev_${n}`, object }))
  const { events } = readPack(writer.take())
  for (const key of ['edge', 'client'] as const) {
    const of = config('keyed', { brokers: [broker.plain], key })
    await deliver(opened(t, of), [...events, ...someEvents(1, `ev_${key}_`)])
  }
  const keys = (await broker.read('keyed', 8)).map(({ key }) => key).sort()
  const [edge, client] = [Array(3).fill('edge_1'), Array(3).fill('192.0.2.1')]
  t.strictSame(keys, [...client, ...edge, 'ev_client_0', 'ev_edge_0'])
}

/** Stands between clients and the broker, under the address that the broker names. */
async function openProxy(t: Test, port: number, broker: KafkaBroker, host = '127.0.0.1') {
  let isLosing = false
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const [brokerHost = '', brokerPort] = broker.plain.split(':')
    const upstream = connect(Number(brokerPort), brokerHost)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket
        .on('error', () => {})
        .on('close', () => {
          client.destroy()
          upstream.destroy()
        })
    }
    client.pipe(upstream)
    upstream.on('data', (data) => {
      if (isLosing) client.destroy()
      else client.write(data)
    })
  })
  await new Promise<void>((resolve) => server.listen(port, host, resolve))
  t.teardown(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return {
    place: `${host}:${port}`,
    /** From now on, what the broker answers is lost, and the connection with it. */
    loseAnswers: (loses: boolean) => {
      isLosing = loses
    },
  }
}
