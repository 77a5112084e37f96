/** The kind `kafka`, without a broker: what is no Kafka, and what a target may say. `kafka-broker.test.ts` has the rest. */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { Writer } from '@platformatic/kafka'
import t, { type Test } from 'tap'
import { AwsClock } from '../../../src/delivery/deliver/aws/aws-clock.js'
import type { DestinationConfig } from '../../../src/delivery/deliver/kind/destination.js'
import type { Sender, SendOutcome } from '../../../src/delivery/deliver/kind/sender.js'
import { openSender } from '../../../src/delivery/deliver/kinds.js'
import { freePort } from '../../../src/delivery/nats-server/nats-probe.js'
import { ReachableNetworks } from '../../../src/delivery/outgoing/private-networks.js'
import { compileCheck } from '../../../src/ground/core/schema-check.js'
import { eventDestination } from '../../../src/words/resource/event-destination.js'
import { until } from '../../harness/weir.js'
import { someEvents } from './events.js'

const config = (options: object): DestinationConfig => ({
  id: 'ed_1',
  accountId: 'ac_1',
  kind: 'kafka',
  address: 'traffic',
  options: options as DestinationConfig['options'],
})

interface Circumstances {
  readonly requestTimeoutMs?: number
  readonly allowed?: readonly string[]
  readonly signal?: AbortSignal
}

const opened = (
  options: object,
  { requestTimeoutMs = 30_000, allowed = ['127.0.0.0/8'] }: Circumstances = {},
): Sender =>
  openSender(config(options), {
    kinds: { kafka: { requestBytesMax: 900 * 1024 } },
    aws: {},
    clock: new AwsClock(),
    networks: new ReachableNetworks(allowed),
    requestTimeoutMs,
  })

const never = new AbortController().signal

async function send(options: object, circumstances: Circumstances = {}): Promise<SendOutcome> {
  const sender = opened(options, circumstances)
  try {
    return await sender.send(someEvents(2), circumstances.signal ?? never)
  } finally {
    sender.close()
  }
}

/** A server that answers each client as it likes. */
async function serve(t: Test, answer: (client: Socket) => void): Promise<string> {
  const clients = new Set<Socket>()
  const server = createServer((client) => {
    clients.add(client.on('error', () => {}))
    answer(client)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    for (const client of clients) client.destroy()
  })
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

const failed = (faultClass: string, code: string) => ({
  outcome: 'failed',
  fault: { class: faultClass, code },
})

t.test('servers that cannot be reached, or must not', async (t) => {
  const nowhere = `127.0.0.1:${await freePort()}`
  t.match(await send({ brokers: [nowhere] }), failed('transient', 'ConnectionLost'))
  t.match(await send({ brokers: ['no-such-host.invalid:9092'] }), { fault: { class: 'transient' } })
  for (const host of ['127.0.0.1', '[::ffff:127.0.0.1]']) {
    const refused = await send({ brokers: [nowhere.replace('127.0.0.1', host)] }, { allowed: [] })
    t.match(refused, failed('configuration', 'PrivateNetwork'), host)
  }
  const named = await send({ brokers: [nowhere.replace('127.0.0.1', 'localhost')] }, { allowed: [] })
  t.match(named, failed('transient', 'UnknownHost'))
})

t.test('what is no Kafka', async (t) => {
  const notKafka = failed('configuration', 'NotKafka')
  const web = await serve(t, (client) =>
    client.once('data', () => client.end('HTTP/1.1 400 Bad Request\r\n\r\n')),
  )
  t.match(await send({ brokers: [web] }), notKafka, 'a web server')
  const endless = await serve(t, (client) =>
    client.once('data', () => client.write(Buffer.from('7fffffff00000001', 'hex'))),
  )
  t.match(await send({ brokers: [endless] }), notKafka, 'an answer without end')
  const other = await serve(t, (client) =>
    client.once('data', () => client.write(Buffer.from('0000000400000009', 'hex'))),
  )
  t.match(await send({ brokers: [other] }), notKafka, 'an answer to nothing')
  const silent = await serve(t, () => {})
  t.match(await send({ brokers: [silent] }, { requestTimeoutMs: 300 }), failed('transient', 'Timeout'))
  const aborted = await send({ brokers: [silent] }, { signal: AbortSignal.abort() })
  t.match(aborted, failed('transient', 'Aborted'))
  const plain = await serve(t, (client) => client.once('data', () => client.end('0123456789')))
  t.match(await send({ brokers: [plain], tls: {} }), failed('configuration', 'TlsFailed'), 'without TLS')
  const closing = await serve(t, (client) => client.once('data', () => client.destroy()))
  t.match(await send({ brokers: [closing] }), failed('transient', 'ConnectionClosed'))
})

/** Answers as a broker does until it is asked to authenticate, and then with these bytes. */
const authenticatesWith = (answerTo: (asked: string) => string) => (client: Socket) => {
  client.on('data', (request) => {
    const [apiKey, number] = [request.readInt16BE(4), request.readInt32BE(8)]
    const body = Writer.create()
    if (apiKey === 18) {
      const apis = [[18, 3] as const, [17, 1] as const, [36, 2] as const]
      body.appendInt16(0).appendArray([...apis], (each, [key, newest]) => {
        each.appendInt16(key).appendInt16(0).appendInt16(newest)
      })
      body.appendInt32(0).appendTaggedFields()
    } else if (apiKey === 17) {
      body
        .appendInt16(0)
        .appendArray(['SCRAM-SHA-256'], (each, name) => void each.appendString(name, false), false, false)
    } else {
      const nonce = /r=([\w-]+)/.exec(request.toString('latin1'))?.[1] ?? ''
      body.appendTaggedFields().appendInt16(0).appendString(null)
      body
        .appendBytes(Buffer.from(answerTo(nonce)))
        .appendInt64(0n)
        .appendTaggedFields()
    }
    client.write(Writer.create().appendInt32(number).appendFrom(body).prependLength().buffer)
  })
}

t.test('a broker that does not authenticate as it should', async (t) => {
  const sasl = { mechanism: 'scram-sha-256', username: 'u', password: 'p' }
  const salt = Buffer.from('salt').toString('base64')
  const answers: [name: string, answer: (nonce: string) => string, want: object][] = [
    ['no SCRAM', () => 'nonsense', failed('configuration', 'NotKafka')],
    ['another nonce', () => `r=x,s=${salt},i=4096`, failed('credentials', 'SaslFailed')],
    [
      'work without end',
      (nonce) => `r=${nonce}x,s=${salt},i=2000000000`,
      failed('configuration', 'NotKafka'),
    ],
    [
      'no proof of its own',
      (nonce) => `r=${nonce}x,s=${salt},i=4096,v=x`,
      failed('credentials', 'SaslFailed'),
    ],
  ]
  for (const [name, answer, want] of answers) {
    const broker = await serve(t, authenticatesWith(answer))
    t.match(await send({ brokers: [broker], sasl }), want, name)
  }
})

interface Broker {
  readonly nodeId: number
  readonly port: number
}

/** The answer of a broker about the topic. */
function metadata(
  brokers: readonly Broker[],
  partitions: readonly (readonly [index: number, leader: number])[],
) {
  const body = Writer.create().appendTaggedFields().appendInt32(0)
  body.appendArray([...brokers], (each, { nodeId, port }) => {
    each.appendInt32(nodeId).appendString('127.0.0.1').appendInt32(port).appendString(null)
  })
  body.appendString(null).appendInt32(0)
  body.appendArray(['traffic'], (topic, name) => {
    topic.appendInt16(0).appendString(name).appendUUID(null).appendBoolean(false)
    topic.appendArray([...partitions], (each, [index, leader]) => {
      each.appendInt16(0).appendInt32(index).appendInt32(leader).appendInt32(0)
      for (const _ of ['replicas', 'in sync', 'offline']) each.appendArray([], () => {})
    })
    topic.appendInt32(-(2 ** 31))
  })
  return body.appendTaggedFields()
}

/** Answers requests by the number of their API. */
const answersWith = (answers: Readonly<Record<number, () => Writer>>) => (client: Socket) => {
  client.on('data', (request) => {
    const [apiKey, number] = [request.readInt16BE(4), request.readInt32BE(8)]
    const versions = Writer.create()
      .appendInt16(0)
      .appendArray([18, 17, 36, 3, 22, 0], (each, key) => {
        each.appendInt16(key).appendInt16(0).appendInt16(12)
      })
    versions.appendInt32(0).appendTaggedFields()
    const body = apiKey === 18 ? versions : answers[apiKey]?.()
    if (body !== undefined)
      client.write(Writer.create().appendInt32(number).appendFrom(body).prependLength().buffer)
  })
}

t.test('a broker that would be read without end', async (t) => {
  const sasl = { mechanism: 'plain', username: 'u', password: 'p' }
  // 2 ** 31 - 1 names, each of a length of -2: the library would go back to where it was.
  const names = () => Writer.create().appendInt16(0).appendInt32(0x7fffffff).appendInt16(-2)
  const clients: Socket[] = []
  const broker = await serve(t, (client) => {
    clients.push(client)
    answersWith({ 17: names })(client)
  })
  t.match(await send({ brokers: [broker], sasl }), failed('configuration', 'NotKafka'))
  await until('the connection is closed', () => clients.every(({ destroyed }) => destroyed))
  const partitions = [
    ['far away', [[0x7ffffffe, 1]]],
    ['below 0', [[-1, 1]]],
    [
      'twice',
      [
        [0, 1],
        [0, 1],
      ],
    ],
  ] as const
  for (const [name, places] of partitions) {
    const odd = await serve(t, answersWith({ 3: () => metadata([{ nodeId: 1, port: 1 }], places) }))
    t.match(await send({ brokers: [odd] }), failed('configuration', 'NotKafka'), name)
  }
})

t.test('a broker that names many others', async (t) => {
  const many = Array.from({ length: 1_000 }, (_, nodeId) => ({ nodeId, port: nodeId + 1 }))
  const of = () =>
    metadata(
      many,
      many.map(({ nodeId }) => [nodeId, nodeId]),
    )
  const broker = await serve(t, answersWith({ 3: of }))
  t.match(await send({ brokers: [broker] }), failed('configuration', 'NotKafka'))

  const led: Socket[] = []
  const leader = () =>
    serve(t, (client) => {
      led.push(client)
      answersWith({ 0: notLeader })(client)
    })
  const ports = [await leader(), await leader(), await leader()].map((place) => Number(place.split(':')[1]))
  const unused = [...ports]
  const moving = () => metadata([{ nodeId: 1, port: unused.shift()! }], [[0, 1]])
  const identity = () => Writer.create().appendTaggedFields().appendInt32(0).appendInt16(0).appendInt64(1n)
  const first = await serve(
    t,
    answersWith({ 3: moving, 22: () => identity().appendInt16(0).appendTaggedFields() }),
  )
  const sender = opened({ brokers: [first] })
  t.teardown(() => sender.close())
  const moved = { outcome: 'failed', fault: { code: 'NOT_LEADER_OR_FOLLOWER' } }
  for (const _ of ports) t.match(await sender.send(someEvents(1), never), moved)
  await until('what leads no more is closed', () => led.filter(({ destroyed }) => !destroyed).length === 1)
  t.equal(led.length, ports.length)
})

/** The answer to Produce. */
function notLeader(): Writer {
  const body = Writer.create().appendTaggedFields()
  body.appendArray(['traffic'], (topic, name) => {
    topic.appendString(name).appendArray([6], (each, errorCode) => {
      each.appendInt32(0).appendInt16(errorCode).appendInt64(-1n).appendInt64(-1n).appendInt64(-1n)
      each.appendArray([], () => {}).appendString(null)
    })
  })
  return body.appendInt32(0).appendTaggedFields()
}

t.test('targets', async (t) => {
  const check = compileCheck(eventDestination.fields.target.schema)
  const brokers = ['kafka-1.example.com:9092']
  const good = [
    { topic: 'a.b_c-D', brokers },
    { topic: 'x', brokers: ['[2001:db8::1]:9092', '192.0.2.1:1'], key: 'edge', tls: {} },
    {
      topic: 'x',
      brokers,
      sasl: { mechanism: 'scram-sha-512', username: 'u', password: 'p' },
      tls: { ca: null },
    },
  ]
  for (const kafka of good) t.equal(check({ kafka }, 'target'), undefined, JSON.stringify(kafka))
  const bad: [kafka: object, says: RegExp][] = [
    [{ topic: 'x' }, /"brokers"/],
    [{ topic: '..', brokers }, /topic/],
    [{ topic: 'a b', brokers }, /not a topic/],
    [{ topic: 'x', brokers: [] }, /brokers/],
    [{ topic: 'x', brokers: ['kafka'] }, /kafka-1\.example\.com:9092/],
    [{ topic: 'x', brokers: ['kafka:0'] }, /kafka-1\.example\.com:9092/],
    [{ topic: 'x', brokers: ['kafka:65536'] }, /kafka-1\.example\.com:9092/],
    [{ topic: 'x', brokers: ['http://kafka:9092'] }, /kafka-1\.example\.com:9092/],
    [{ topic: 'x', brokers, key: 'other' }, /event, edge, client|"event", "edge", "client"/],
    [{ topic: 'x', brokers, tls: { ca: 'x' } }, /certificates in PEM/],
    [{ topic: 'x', brokers, sasl: { mechanism: 'gssapi', username: 'u', password: 'p' } }, /scram-sha-256/],
  ]
  for (const [kafka, says] of bad) t.match(check({ kafka }, 'target') ?? '', says, JSON.stringify(kafka))
})
