/** The kind `nats`, on servers that do not speak as NATS does. */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { AwsClock } from '../../../src/delivery/deliver/aws/aws-clock.js'
import type { Sender } from '../../../src/delivery/deliver/kind/sender.js'
import { openSender } from '../../../src/delivery/deliver/kinds.js'
import { ReachableNetworks } from '../../../src/delivery/outgoing/private-networks.js'
import { until } from '../../harness/weir.js'
import { someEvents } from './events.js'

const signal = new AbortController().signal
const mebibyte = 1024 * 1024

interface Hostile {
  readonly url: string
  /** All that were opened. */
  readonly clients: readonly Socket[]
}

async function serve(t: Test, answer: (client: Socket) => void): Promise<Hostile> {
  const clients: Socket[] = []
  const server = createServer((client) => {
    clients.push(client.on('error', () => {}))
    answer(client)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    for (const client of clients) client.destroy()
  })
  return { url: `nats://127.0.0.1:${(server.address() as AddressInfo).port}`, clients }
}

function opened(t: Test, servers: readonly string[], requestTimeoutMs = 30_000): Sender {
  const sender = openSender(
    {
      id: 'ed_1',
      accountId: 'ac_1',
      kind: 'nats',
      address: 'traffic.closed',
      options: { servers } as never,
    },
    {
      kinds: { nats: { requestBytesMax: mebibyte } },
      aws: {},
      clock: new AwsClock(),
      networks: new ReachableNetworks(['127.0.0.0/8']),
      requestTimeoutMs,
    },
  )
  t.teardown(() => sender.close())
  return sender
}

const info = (more: object = {}): string =>
  `INFO ${JSON.stringify({ server_id: 'x', version: '2.11.0', headers: true, max_payload: mebibyte, ...more })}\r\n`

/** Greets, and says `then` once the client is connected. */
const after = (then: (client: Socket) => void) => (client: Socket) => {
  client.write(info())
  client.on('data', (data) => data.includes('PING\r\n') && client.write('PONG\r\n'))
  client.on('data', (data) => data.includes('HPUB') && then(client))
}

/** Sends as much as the client takes; what it took, in bytes. */
function flood(client: Socket, text: string): void {
  const chunk = Buffer.from(text.repeat(Math.ceil(65_536 / text.length)))
  const more = (): void => {
    while (client.writable && client.write(chunk));
  }
  client.on('drain', more)
  more()
}

const failed = (faultClass: string, code: string) => ({
  outcome: 'failed',
  fault: { class: faultClass, code },
})

t.test('a greeting that is none', async (t) => {
  const greetings: readonly (readonly [string, string])[] = [
    ['another protocol', 'HTTP/1.1 400 Bad Request\r\n\r\n'],
    ['no JSON', 'INFO {bad}\r\n'],
    ['no object', 'INFO null\r\n'],
    ['no greeting', 'PING\r\n'],
    ['no version', info({ version: 5 })],
    ['no line', `INFO ${'x'.repeat(100_000)}`],
    ['no limit', info({ max_payload: 'x' })],
    ['a limit of nothing', info({ max_payload: 0 })],
    ['a limit that no event keeps', info({ max_payload: 100 })],
    ['a limit in parts', info({ max_payload: 5000.5 })],
  ]
  for (const [name, greeting] of greetings) {
    const { url, clients } = await serve(t, (client) => client.write(greeting))
    const sender = opened(t, [url])
    t.match(await sender.send(someEvents(2), signal), failed('configuration', 'NotNats'), name)
    t.match(await sender.check?.(someEvents(1)[0]!, signal), { ok: false, problem: { code: 'NotNats' } })
    await until('the sockets are closed', () => clients.every(({ destroyed }) => destroyed))
  }
})

t.test('a server that sends without end gets no memory, and nothing of it is printed', async (t) => {
  const printed: unknown[][] = []
  const { log, error } = console
  console.log = console.error = (...said: unknown[]) => void printed.push(said)
  t.teardown(() => Object.assign(console, { log, error }))
  const floods: readonly (readonly [first: string, rest: string])[] = [
    ['MSG a 1 9000000000\r\n', 'x'],
    ['MSG a 1 200000\r\n', 'x'],
    ['MSG ', 'x'],
    ['ZZ\n{"level":50,"msg":"forged"}\n', 'x'],
    ['', 'PING\r\n'],
    ['', 'MSG a 1 2\r\nok\r\n'],
    ['', '-ERR \'Permissions Violation for Publish to "x"\'\r\n'],
    ['INFO {bad}\r\n', 'x'],
    ['HMSG _INBOX.x 1 20 20\r\nNATS/1.0 0x\r\nbad\r\n\r\n\r\n', 'PING\r\n'],
  ]
  for (const [first, rest] of floods) {
    const hostile = after((client) => {
      client.write(first)
      flood(client, rest)
    })
    const { url, clients } = await serve(t, hostile)
    const sent = await opened(t, [url]).send(someEvents(2), signal)
    t.match(sent, failed('transient', 'ConnectionLost'), `${first}${rest}`)
    await until('the socket is closed', () => clients.every(({ destroyed }) => destroyed))
  }
  t.strictSame(printed, [])
})

t.test('a server that is silent', async (t) => {
  const late = failed('transient', 'Timeout')
  const mute = await serve(
    t,
    after(() => {}),
  )
  const asked = opened(t, [mute.url], 300)
  t.match(await asked.send(someEvents(1), signal), late)
  await until('the connection is closed', () => mute.clients.every(({ destroyed }) => destroyed))
  t.match(await asked.send(someEvents(1), signal), late)
  t.equal(mute.clients.length, 2, 'the next request has another one')

  const silent = await serve(t, () => {})
  const sender = opened(t, Array<string>(16).fill(silent.url), 300)
  t.match(await sender.send(someEvents(1), signal), late)
  await until('the connection is closed', () => silent.clients.every(({ destroyed }) => destroyed))
  t.equal(silent.clients.length, 1, 'no other server is tried after the deadline')

  const closing = opened(t, Array<string>(16).fill(silent.url))
  const sent = closing.send(someEvents(1), signal)
  await until('it is connected', () => silent.clients.length === 2)
  closing.close()
  t.match(await sent, failed('transient', 'ConnectionLost'))
  await until('the connection is closed', () => silent.clients.every(({ destroyed }) => destroyed))
  t.equal(silent.clients.length, 2, 'no other server is tried after the end')
})
