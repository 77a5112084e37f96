/** `weir listen` prints what destinations of the kind `http` send. */
import t, { type Test } from 'tap'
import { AwsClock } from '../../src/deliver/aws/aws-clock.js'
import type { SendOutcome } from '../../src/deliver/destination.js'
import { openSender } from '../../src/deliver/kinds.js'
import { ReachableNetworks } from '../../src/deliver/private-networks.js'
import { PackWriter, readPack } from '../../src/wire/pack.js'
import { run } from '../harness/processes.js'
import { until } from '../harness/weir.js'

const events = [
  {
    event_id: 'ev_1',
    event_type: 'tcp_connection_closed.v0',
    event_timestamp: '2026-11-20T10:00:00.911Z',
    object: { conn: { client_ip: '192.0.2.1', bytes_in: 3437, server_name: null }, note: 'a b', tags: [1] },
  },
  { event_id: 'ev_\u001b[2J', event_type: 'log.v0', event_timestamp: '2026-11-20T10:00:01.000Z', object: {} },
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
  const [, url = ''] = await listener.line(/^Listening on (\S+); Ctrl-C ends it\.$/)
  return { listener, url }
}

async function send(url: string, options: object): Promise<SendOutcome[]> {
  const config = {
    id: 'ed_1',
    accountId: 'ac_1',
    kind: 'http',
    address: url,
    auth: undefined,
    packing: 'none',
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
  const { listener, url } = await openListener(t)
  await listener.line(/^Weir must run with WEIR_HTTP_PRIVATE_NETWORKS=127\.0\.0\.0\/8/)
  t.match(listener.output(), `{"http":{"url":"${url}"}}`, 'the target to paste')
  const first =
    '10:00:00.911  tcp_connection_closed.v0  ev_1  conn.client_ip=192.0.2.1 conn.bytes_in=3437 note="a b" tags=[1]'
  const second = '10:00:01.000  log.v0  ev_\uFFFD[2J'
  const printed = (): string[] =>
    listener
      .output()
      .split('\n')
      .filter((line) => line.startsWith('10:'))
  let count = 0
  for (const body of ['ndjson', 'array', 'single']) {
    for (const gzip of [false, true]) {
      const outcomes = await send(url, { body, gzip })
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
  const { listener, url } = await openListener(t, ['--json'])
  await send(url, {})
  await listener.line(/^\{"event_id":"ev_1".*"tags":\[1\]\}\}$/)
  t.ok(listener.output().includes('\n{"event_id":"ev_\\u001b[2J"'))
})

t.test('what is no event is refused, and prints nothing', async (t) => {
  const { listener, url } = await openListener(t)
  await listener.line(/^Weir must run with/)
  const before = listener.output()
  const post = async (body: string, headers: Record<string, string> = {}) =>
    (await fetch(url, { method: 'POST', body, headers })).status
  t.equal(await post('not json'), 400)
  t.equal(await post('{"a": 1}'), 400)
  t.equal(await post('[null]'), 400)
  t.equal(await post('plain', { 'content-encoding': 'gzip' }), 400)
  t.equal(await post('x'.repeat(33 * 1024 * 1024)), 413)
  const options = await fetch(url, { method: 'OPTIONS' })
  t.equal(options.status, 405)
  t.equal(options.headers.get('allow'), 'POST')
  t.equal(listener.output(), before)
})

t.test('a port that is none, or is taken', async (t) => {
  const { url } = await openListener(t)
  for (const [port, says] of [
    ['x', '--port is "x"; it must be a port from 1 to 65535'],
    [new URL(url).port, 'set --port to a free port'],
  ] as const) {
    const refused = run('programs/main.js', ['listen', '--port', port])
    t.match(await refused.ended, { code: 1 })
    t.match(refused.output(), says)
  }
})
