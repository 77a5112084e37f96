/** The kind `kafka`, without a broker: what is no Kafka, and what a target may say. `kafka-broker.test.ts` has the rest. */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { Writer } from '@platformatic/kafka'
import t, { type Test } from 'tap'
import { compileCheck } from '../../src/core/schema-check.js'
import { AwsClock } from '../../src/deliver/aws/aws-clock.js'
import type { DestinationConfig, SendOutcome } from '../../src/deliver/destination.js'
import { openSender } from '../../src/deliver/kinds.js'
import { ReachableNetworks } from '../../src/deliver/private-networks.js'
import { freePort } from '../../src/nats-server/nats-probe.js'
import { eventDestination } from '../../src/resource/event-destination.js'
import { someEvents } from './events.js'

const config = (options: object): DestinationConfig => ({
  id: 'ed_1',
  accountId: 'ac_1',
  kind: 'kafka',
  address: 'traffic',
  auth: undefined,
  packing: 'none',
  options: options as DestinationConfig['options'],
})

interface Circumstances {
  readonly requestTimeoutMs?: number
  readonly allowed?: readonly string[]
  readonly signal?: AbortSignal
}

async function send(
  options: object,
  {
    requestTimeoutMs = 30_000,
    allowed = ['127.0.0.0/8'],
    signal = new AbortController().signal,
  }: Circumstances = {},
): Promise<SendOutcome> {
  const sender = openSender(config(options), {
    kinds: { kafka: { requestBytesMax: 900 * 1024 } },
    aws: {},
    clock: new AwsClock(),
    networks: new ReachableNetworks(allowed),
    requestTimeoutMs,
  })
  try {
    return await sender.send(someEvents(2), signal)
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

t.test('servers that can not be reached, or must not', async (t) => {
  const nowhere = `127.0.0.1:${await freePort()}`
  t.match(await send({ brokers: [nowhere] }), failed('transient', 'ConnectionLost'))
  t.match(await send({ brokers: ['no-such-host.invalid:9092'] }), { fault: { class: 'transient' } })
  for (const host of ['127.0.0.1', 'localhost', '[::ffff:127.0.0.1]']) {
    const refused = await send({ brokers: [nowhere.replace('127.0.0.1', host)] }, { allowed: [] })
    t.match(refused, failed('configuration', 'PrivateNetwork'), host)
  }
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
  t.match(await send({ brokers: [closing] }), failed('transient', 'ConnectionLost'))
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
