/** `weir listen` prints what destinations of the kind `http` send. */
import { request } from 'node:http'
import t, { type Test } from 'tap'
import { AwsClock } from '../../../src/delivery/deliver/aws/aws-clock.js'
import { signatureHeaders } from '../../../src/delivery/deliver/http/standard-webhooks.js'
import type { SendOutcome } from '../../../src/delivery/deliver/kind/sender.js'
import { openSender } from '../../../src/delivery/deliver/kinds.js'
import { ReachableNetworks } from '../../../src/delivery/outgoing/private-networks.js'
import { PackWriter, readPack } from '../../../src/delivery/wire/pack.js'
import { run } from '../../harness/processes.js'
import { until } from '../../harness/weir.js'

const events = [
  {
    event_id: 'ev_1',
    event_type: 'tcp_connection_closed.v0',
    event_timestamp: '2026-11-20T10:00:00.911Z',
    object: { conn: { client_ip: '192.0.2.1', bytes_in: 3437, server_name: null }, note: 'a b', tags: [1] },
  },
  {
    event_id: 'ev_\u001b[2J\u009b2J\u202e',
    event_type: 'log.v0',
    event_timestamp: '2026-11-20T10:00:01.000Z',
    object: {},
  },
]

const packed = readPack(
  events
    .reduce((writer, event) => {
      writer.append('key', 0, JSON.stringify(event))
      return writer
    }, new PackWriter())
    .take(),
).events

async function openListener(t: Test, args: readonly string[] = []) {
  const listener = run('programs/main.js', ['listen', '--port', '0', ...args])
  t.teardown(() => listener.stop())
  const [, target = ''] = await listener.line(/^The target of a destination: (.+)$/)
  await listener.line(/^Weir must run with WEIR_HTTP_PRIVATE_NETWORKS=127\.0\.0\.0\/8/)
  const { url, signing } = JSON.parse(target).http
  return { listener, url: url as string, signing: signing as { secret: string } }
}

async function send(url: string, options: object): Promise<SendOutcome[]> {
  const config = {
    id: 'ed_1',
    accountId: 'ac_1',
    kind: 'http',
    address: url,
  } as const
  const sender = openSender(
    { ...config, options: { ...options } },
    {
      aws: {},
      clock: new AwsClock(),
      requestTimeoutMs: 60_000,
      networks: new ReachableNetworks(['127.0.0.0/8']),
      kinds: { http: { requestBytesMax: 1024 * 1024 } },
    },
  )
  const { signal } = new AbortController()
  const requests = 'body' in options && options.body === 'single' ? packed.map((event) => [event]) : [packed]
  const outcomes = await Promise.all(requests.map((request) => sender.send(request, signal)))
  sender.close()
  return outcomes
}

t.test('each body is accepted, and each event is a line', async (t) => {
  const { listener, url, signing } = await openListener(t)
  const first =
    '10:00:00.911  tcp_connection_closed.v0  ev_1  conn.client_ip=192.0.2.1 conn.bytes_in=3437 note="a b" tags=[1]'
  const second = '10:00:01.000  log.v0  ev_\uFFFD[2J\uFFFD2J\uFFFD'
  const printed = (): string[] =>
    listener
      .output()
      .split('\n')
      .filter((line) => line.startsWith('10:'))
  let count = 0
  for (const body of ['ndjson', 'array', 'single']) {
    for (const gzip of [false, true]) {
      const outcomes = await send(url, { body, gzip, signing })
      t.ok(
        outcomes.every(({ outcome }) => outcome === 'accepted'),
        body,
      )
      count += 2
      await until('the lines are there', () => printed().length === count)
      t.strictSame(printed().slice(-2).toSorted(), [first, second], `${body}${gzip ? ', compressed' : ''}`)
    }
  }
  listener.child.kill('SIGINT')
  t.strictSame(await listener.ended, { code: 0, signal: null })
})

t.test('as JSON', async (t) => {
  const { listener, url, signing } = await openListener(t, ['--json'])
  await send(url, { signing })
  await listener.line(/^\{"event_id":"ev_1".*"tags":\[1\]\}\}$/)
  t.ok(listener.output().includes('\n{"event_id":"ev_\\u001b[2J\\u009b2J\\u202e"'))
})

t.test('what is no event is refused, and prints nothing', async (t) => {
  const { listener, url, signing } = await openListener(t)
  const before = listener.output()
  const post = async (body: string, headers: Record<string, string> = {}) => {
    const signed = signatureHeaders(signing.secret, ['ev_1'], Buffer.from(body))
    return (await fetch(url, { method: 'POST', body, headers: { ...signed, ...headers } })).status
  }
  t.equal(await post('not json'), 400)
  t.equal(await post('{"a": 1}'), 400)
  t.equal(await post('[null]'), 400)
  t.equal(await post('plain', { 'content-encoding': 'gzip' }), 400)
  for (const [name, value] of [
    ['origin', 'https://example.com'],
    ['sec-fetch-site', 'cross-site'],
  ] as const)
    t.equal(await post('{"event_id":"ev_1"}', { [name]: value }), 403, `from a web page: ${name}`)
  t.equal((await fetch(url, { method: 'POST', body: '{"event_id":"ev_1"}' })).status, 401, 'not signed')
  t.equal(await post('x'.repeat(33 * 1024 * 1024)), 413)
  const options = await fetch(url, { method: 'OPTIONS' })
  t.equal(options.status, 405)
  t.equal(options.headers.get('allow'), 'POST')
  t.equal(listener.output(), before)
})

t.test('a body is read only if it may be signed', async (t) => {
  const { url, signing } = await openListener(t)
  const answered = (headers: Record<string, string>) =>
    new Promise((resolve) => {
      const asked = request(url, { method: 'POST', headers }, ({ statusCode }) => {
        resolve(statusCode)
        asked.destroy()
      })
      asked.on('error', () => {}).write('no end')
    })
  const signed = signatureHeaders(signing.secret, ['ev_1'], Buffer.from('other'))
  for (const wrong of [
    { 'webhook-signature': 'v1,c2hvcnQ=' },
    { 'webhook-timestamp': '1' },
    { 'webhook-timestamp': 'x' },
    { 'webhook-id': '' },
  ])
    t.equal(await answered({ ...signed, ...wrong }), 401, Object.keys(wrong).join())
})

t.test('a port that is none, or is taken', async (t) => {
  const { url } = await openListener(t)
  for (const [port, code, says] of [
    ['x', 2, '--port is "x"; it must be a port from 1 to 65535'],
    [new URL(url).port, 1, 'set --port to a free port'],
  ] as const) {
    const refused = run('programs/main.js', ['listen', '--port', port])
    t.match(await refused.ended, { code })
    t.match(refused.output(), says)
  }
})
