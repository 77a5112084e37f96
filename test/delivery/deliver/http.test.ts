/** The destination kind `http`, against web servers. */
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createServer as createTcpServer } from 'node:net'
import { Webhook } from 'standardwebhooks'
import t from 'tap'
import { AwsClock } from '../../../src/delivery/deliver/aws/aws-clock.js'
import type { DestinationConfig } from '../../../src/delivery/deliver/kind/destination.js'
import type { SendOutcome } from '../../../src/delivery/deliver/kind/sender.js'
import { type DeliverySettings, openSender } from '../../../src/delivery/deliver/kinds.js'
import { Lane } from '../../../src/delivery/deliver/lane/lane.js'
import { checkDestination, sendTestEvent } from '../../../src/delivery/deliver/test-event.js'
import { ReachableNetworks } from '../../../src/delivery/outgoing/private-networks.js'
import type { PackedEvent } from '../../../src/delivery/wire/packed-event.js'
import { openWebServer } from '../../harness/web-server.js'
import { eventJson, eventsOf, someEvents } from './events.js'
import { done, roomForAll } from './fake-lane.js'

const mebibyte = 1024 * 1024

const depsWith = (changed: Partial<DeliverySettings> = {}): DeliverySettings => ({
  aws: {},
  clock: new AwsClock(),
  requestTimeoutMs: 60_000,
  networks: new ReachableNetworks(['127.0.0.0/8']),
  kinds: { http: { requestBytesMax: mebibyte } },
  ...changed,
})

const configOf = (address: string, options: object = {}): DestinationConfig => ({
  id: 'ed_http',
  accountId: 'ac_test',
  kind: 'http',
  address,
  options: { ...options },
})

async function send(
  url: string,
  options: object = {},
  events: readonly PackedEvent[] = someEvents(2),
  deps = depsWith(),
): Promise<SendOutcome> {
  const sender = openSender(configOf(url, options), deps)
  try {
    return await sender.send(events, new AbortController().signal)
  } finally {
    sender.close()
  }
}

const whsec = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

t.test('events arrive in the form of body that the target chooses', async (t) => {
  const server = await openWebServer(t)
  const timestampMs = Date.parse('2026-11-20T10:00:00.250Z')
  const specs = [
    { id: 'ev_1', padding: 'ünï\n"\\', timestampMs },
    { id: 'ev_2', timestampMs },
  ]
  const events = eventsOf(specs)
  const [first = '', second = ''] = specs.map(eventJson)
  const stamped = (json: string): string => `{"@timestamp":"2026-11-20T10:00:00.250Z",${json.slice(1)}`
  const cases: [body: string, type: string, want: string][] = [
    ['ndjson', 'application/x-ndjson', `${first}\n${second}\n`],
    ['array', 'application/json', `[${first},${second}]`],
    [
      'splunk',
      'application/json',
      `{"time":1795168800.25,"event":${first}}\n{"time":1795168800.25,"event":${second}}`,
    ],
    [
      'elasticsearch',
      'application/x-ndjson',
      `{"create":{"_id":"ev_1"}}\n${stamped(first)}\n{"create":{"_id":"ev_2"}}\n${stamped(second)}\n`,
    ],
    [
      'loki',
      'application/json',
      JSON.stringify({
        streams: [
          {
            stream: { service_name: 'weir' },
            values: [
              ['1795168800250000000', first],
              ['1795168800250000000', second],
            ],
          },
        ],
      }),
    ],
  ]
  for (const [body, type, want] of cases) {
    for (const gzip of [false, true]) {
      await send(`${server.url}/in?x=1`, { body, gzip }, events)
      const { headers, ...seen } = server.requests.at(-1)!
      t.strictSame(seen, { method: 'POST', path: '/in?x=1', body: want }, body)
      t.equal(headers['content-type'], type, body)
      t.equal(headers['content-encoding'], gzip ? 'gzip' : undefined)
      t.match(headers['user-agent'], /^weir\/\d/)
    }
  }
  const sender = openSender(configOf(server.url, { body: 'single' }), depsWith())
  t.teardown(() => sender.close())
  t.equal(sender.limits().eventsMax, 1)
  t.match(await sender.send(events.slice(0, 1), new AbortController().signal), { outcome: 'accepted' })
  t.equal(server.requests.at(-1)?.body, first)
})

t.test('headers, credentials and labels are those of the target', async (t) => {
  const server = await openWebServer(t)
  const cases: [options: object, headers: object][] = [
    [
      { headers: { 'X-Team': 'edge' }, secret_headers: { 'DD-API-KEY': 'k' } },
      { 'x-team': 'edge', 'dd-api-key': 'k' },
    ],
    [{ auth: { bearer: { token: 'tok' } } }, { authorization: 'Bearer tok' }],
    [
      { auth: { bearer: null, basic: { username: 'ü', password: 'p:w' } } },
      { authorization: 'Basic w7w6cDp3' },
    ],
    [{ content_type: 'text/plain; charset=utf-8' }, { 'content-type': 'text/plain; charset=utf-8' }],
    [{ headers: { 'User-Agent': 'mine' } }, { 'user-agent': 'mine' }],
  ]
  for (const [options, headers] of cases) {
    await send(server.url, options)
    t.match(server.requests.at(-1)?.headers, headers)
  }
  await send(server.url, { body: 'loki', labels: { job: 'weir', env: 'a' } })
  t.match(JSON.parse(server.requests.at(-1)!.body).streams, [{ stream: { job: 'weir', env: 'a' } }])
})

t.test('the library of Standard Webhooks verifies a signed request, also a compressed one', async (t) => {
  const server = await openWebServer(t)
  const webhook = new Webhook(whsec)
  const ids = new Set<string>()
  for (const gzip of [false, true]) {
    const events = gzip ? someEvents(3).toReversed() : someEvents(3)
    await send(server.url, { signing: { secret: whsec }, gzip }, events)
    const { headers, body } = server.requests.at(-1)!
    const verify = (text: string) =>
      webhook.verify(text, headers as Record<string, string>, { jsonParse: false })
    t.doesNotThrow(() => verify(body), gzip ? 'compressed' : 'plain')
    t.throws(() => verify(`${body} `))
    ids.add(`${headers['webhook-id']}`)
  }
  t.equal(ids.size, 1, 'the same events have the same id')
  await send(server.url, { signing: { secret: whsec }, body: 'single' }, someEvents(1))
  t.equal(server.requests.at(-1)?.headers['webhook-id'], 'ev_0', 'a single event is named by its id')
})

const answers: [status: number, headers: Record<string, string>, want: object][] = [
  [200, { 'x-request-id': 'r-1' }, { outcome: 'accepted', requestId: 'r-1' }],
  [202, {}, { outcome: 'accepted' }],
  [204, {}, { outcome: 'accepted' }],
  [
    302,
    { location: 'https://other.example/x?t=1' },
    {
      fault: {
        class: 'configuration',
        msg: /redirection to https:\/\/other.example\/x, which is not followed/,
      },
    },
  ],
  [400, {}, { fault: { class: 'poison', code: 'Http400', msg: 'The server answered 400 Bad Request: why' } }],
  [401, {}, { fault: { class: 'credentials' } }],
  [403, {}, { fault: { class: 'configuration' } }],
  [404, {}, { fault: { class: 'configuration' } }],
  [405, {}, { fault: { class: 'configuration' } }],
  [407, {}, { fault: { class: 'credentials' } }],
  [408, { 'retry-after': '3' }, { fault: { class: 'transient', retryAfterMs: 3000 } }],
  [409, {}, { fault: { class: 'poison' } }],
  [410, {}, { fault: { class: 'configuration' } }],
  [413, {}, { fault: { class: 'poison' } }],
  [415, {}, { fault: { class: 'configuration' } }],
  [418, {}, { fault: { class: 'poison' } }],
  [422, {}, { fault: { class: 'poison' } }],
  [429, { 'retry-after': '7' }, { fault: { class: 'throttle', retryAfterMs: 7000 } }],
  [429, {}, { fault: { class: 'throttle', retryAfterMs: undefined } }],
  [429, { 'retry-after': 'soon' }, { fault: { class: 'throttle', retryAfterMs: undefined } }],
  [500, {}, { fault: { class: 'transient' } }],
  [
    503,
    { 'retry-after': new Date(Date.now() + 3_600_000).toUTCString() },
    { fault: { class: 'transient', retryAfterMs: Number } },
  ],
]

t.test('answers are classified', async (t) => {
  const server = await openWebServer(t)
  for (const [status, headers, want] of answers) {
    server.requests.length = 0
    server.answer = (_, response) => response.writeHead(status, headers).end(status === 204 ? '' : 'why')
    t.match(await send(server.url), want, String(status))
    t.equal(server.requests.length, 1, 'one request')
  }
})

t.test('a refusal quotes the first KiB of the answer, without secrets', async (t) => {
  const server = await openWebServer(t)
  const options = {
    auth: { bearer: { token: 'tok-123' } },
    secret_headers: { 'X-Other': 'hush hush' },
  }
  server.answer = ({ headers }, response) =>
    response.writeHead(422).end(`${headers.authorization} ${headers['x-other']}\u0007\n${'ü'.repeat(5000)}`)
  const outcome = await send(server.url, options)
  const { msg } = (outcome as { fault: { msg: string } }).fault
  t.match(msg, /^The server answered 422 Unprocessable Entity: Bearer … … ü{400,512}$/)
  server.answer = ({ headers }, response) =>
    response.writeHead(422).end(`${'x'.repeat(1020)}${headers['x-other']}`)
  t.notMatch(JSON.stringify(await send(server.url, options)), 'hush', 'one that the limit would cut')
})

t.test('an answer that does not end is cut, and its status counts', async (t) => {
  const server = await openWebServer(t)
  server.answer = (_, response) => {
    response.writeHead(200)
    const more = (): void => {
      if (!response.destroyed) response.write('x'.repeat(64 * 1024), more)
    }
    more()
  }
  t.match(await send(server.url), { outcome: 'accepted' }, 'one without end')
  server.answer = (_, response) => response.writeHead(400).write('because')
  const slow = await send(server.url, {}, someEvents(1), depsWith({ requestTimeoutMs: 300 }))
  t.match(slow, { fault: { class: 'poison', msg: /because/ } }, 'one that stops')
})

t.test('errors of the network are classified', async (t) => {
  const server = await openWebServer(t)
  const secure = await openWebServer(t, undefined, { tls: true })
  const other = createTcpServer((socket) => socket.end('SSH-2.0-x\r\n')).listen(0, '127.0.0.1')
  await once(other, 'listening')
  t.teardown(() => other.close())
  const otherUrl = `http://127.0.0.1:${(other.address() as AddressInfo).port}`
  server.answer = (_, response) => void response.socket?.destroy()
  const hanging = await openWebServer(t, () => {})
  const unresolved = new ReachableNetworks([], (host) =>
    Promise.reject(Object.assign(new Error(`getaddrinfo ENOTFOUND ${host}`), { code: 'ENOTFOUND' })),
  )
  const gone = createTcpServer().listen(0, '127.0.0.1')
  await once(gone, 'listening')
  const goneUrl = `http://127.0.0.1:${(gone.address() as AddressInfo).port}`
  gone.close()
  await once(gone, 'close')
  const cases: [name: string, url: string, deps: Partial<DeliverySettings>, want: object][] = [
    ['cut', server.url, {}, { class: 'transient', code: 'ConnectionLost' }],
    ['refused', goneUrl, {}, { class: 'transient', code: 'ConnectionLost' }],
    ['hangs', hanging.url, { requestTimeoutMs: 300 }, { class: 'transient', code: 'Timeout' }],
    [
      'no such name',
      'http://no.example',
      { networks: unresolved },
      { class: 'transient', code: 'UnknownHost' },
    ],
    ['certificate', secure.url, {}, { class: 'configuration', code: 'TlsFailed' }],
    [
      'TLS to a plain server',
      `https://127.0.0.1:${server.port}`,
      {},
      { class: 'configuration', code: 'TlsFailed' },
    ],
    ['no HTTP', otherUrl, {}, { class: 'configuration', code: 'NotHttp' }],
    [
      'private',
      server.url,
      { networks: new ReachableNetworks() },
      { class: 'configuration', code: 'PrivateNetwork' },
    ],
  ]
  for (const [name, url, deps, fault] of cases)
    t.match(await send(url, {}, someEvents(1), depsWith(deps)), { outcome: 'failed', fault }, name)
})

t.test('an abort ends a request at once', async (t) => {
  const abort = new AbortController()
  const server = await openWebServer(t, () => abort.abort())
  const sender = openSender(configOf(server.url), depsWith())
  t.teardown(() => sender.close())
  const aborted = { outcome: 'failed', fault: { class: 'transient', code: 'Aborted' } }
  t.match(await sender.send(someEvents(1), abort.signal), aborted)
  t.match(await sender.send(someEvents(1), abort.signal), aborted, 'aborted beforehand')
  t.equal(server.requests.length, 1)
})

t.test('a name that later leads to a private address (DNS rebinding) is refused', async (t) => {
  const outside = await openWebServer(t, (_, response) =>
    response.writeHead(200, { connection: 'close' }).end(),
  )
  // Linux has all of 127.0.0.0/8, other systems have 127.0.0.1 alone.
  const inside = await openWebServer(t, undefined, { host: '127.0.0.2', port: outside.port }).catch(
    () => undefined,
  )
  const found = ['127.0.0.1', '127.0.0.2']
  const networks = new ReachableNetworks(['127.0.0.1/32'], async () => [
    { address: found.shift() ?? '', family: 4 },
  ])
  const sender = openSender(configOf(`http://rebound.example:${outside.port}`), depsWith({ networks }))
  t.teardown(() => sender.close())
  const { signal } = new AbortController()
  t.match(await sender.send(someEvents(1), signal), { outcome: 'accepted' })
  const refused = await sender.send(someEvents(1), signal)
  t.match(refused, {
    fault: {
      class: 'transient',
      code: 'UnknownHost',
      msg: /^rebound.example has no address that destinations may lead to/,
    },
  })
  t.equal(inside?.requests.length ?? 0, 0, 'nothing was sent there')
  t.equal(outside.requests.length, 1)
})

t.test('a destination that hangs takes no connection of another to the same host', async (t) => {
  const server = await openWebServer(t, ({ path }, response) => {
    if (path !== '/slow') response.writeHead(200).end()
  })
  const slow = openSender(configOf(`${server.url}/slow`), depsWith())
  const abort = new AbortController()
  const hung = Array.from({ length: 8 }, () => slow.send(someEvents(1), abort.signal))
  t.match(await send(`${server.url}/fast`), { outcome: 'accepted' })
  abort.abort()
  await Promise.all(hung)
  slow.close()
})

t.test('Elasticsearch: each event has its own outcome', async (t) => {
  const server = await openWebServer(t)
  const items = (...statuses: number[]) => ({
    errors: true,
    items: statuses.map((status) => ({
      create: { status, ...(status >= 300 && { error: { type: `t${status}`, reason: `r${status}` } }) },
    })),
  })
  const cases: [answer: object | string, want: object][] = [
    [items(201, 201), { outcome: 'accepted' }],
    [items(409, 201), { outcome: 'accepted' }],
    [
      items(201, 429),
      { outcome: 'partial', retry: [1], reason: { class: 'throttle', code: 't429' }, rejected: [] },
    ],
    [
      items(400, 201),
      { outcome: 'partial', retry: [], rejected: [{ index: 0, fault: { class: 'poison', msg: 'r400' } }] },
    ],
    // Nothing was accepted: the index may be at fault, and not the event.
    [items(400, 503), { outcome: 'failed', fault: { class: 'transient' } }],
    [items(403, 403), { outcome: 'failed', fault: { class: 'configuration' } }],
    [items(400, 400), { outcome: 'failed', fault: { class: 'poison' } }],
    [items(201), { outcome: 'failed', fault: { class: 'configuration', code: 'NotBulkAnswer' } }],
    ['welcome', { outcome: 'failed', fault: { class: 'configuration', code: 'NotBulkAnswer' } }],
  ]
  for (const [answer, want] of cases) {
    server.answer = (_, response) =>
      response.end(typeof answer === 'string' ? answer : JSON.stringify(answer))
    t.match(await send(server.url, { body: 'elasticsearch' }), want, JSON.stringify(want))
  }
})

t.test('Elasticsearch: an answer that is cut off or stalls is transient', async (t) => {
  const server = await openWebServer(t)
  const deps = depsWith({ requestTimeoutMs: 300 })
  for (const end of [(response: ServerResponse) => setTimeout(() => response.destroy(), 20), () => {}]) {
    server.answer = (_, response) => {
      response.writeHead(200, { 'content-length': 500 }).write('{"items":[{"create":{"status":201}}')
      end(response)
    }
    const sent = await send(server.url, { body: 'elasticsearch' }, someEvents(2), deps)
    t.match(sent, { outcome: 'failed', fault: { class: 'transient', code: 'IncompleteAnswer' } })
  }
})

t.test('Elasticsearch: if the answer is too long, fewer events are sent at once', async (t) => {
  const stored = new Set<string>()
  const reason = 'x'.repeat(60_000)
  const server = await openWebServer(t, ({ body }, response) => {
    const items = [...body.matchAll(/"_id":"([^"]+)"/g)].map(([, id = '']) => {
      if (id.startsWith('bad')) return { status: 400, error: { type: 'document_parsing_exception', reason } }
      const status = stored.has(id) ? 409 : 201
      stored.add(id)
      return { status }
    })
    response.end(JSON.stringify({ items: items.map((create) => ({ create })) }))
  })
  const dead: string[] = []
  const states: string[] = []
  const lane = new Lane(configOf(server.url, { body: 'elasticsearch' }), {
    open: (config) => openSender(config, depsWith()),
    budget: roomForAll,
    deadLetter: async ({ id }, { code }) => void dead.push(`${id} ${code}`),
    changed: ({ state }) => states.push(state),
    settings: {},
  })
  const events = [...someEvents(40, 'good'), ...someEvents(4, 'bad')]
  t.match(await lane.deliver(events), { outcome: 'done', counts: { delivered: 40, dead_lettered: 4 } })
  t.equal(stored.size, 40)
  t.strictSame(
    new Set(dead.map((each) => each.replace(/^bad\d+ /, ''))),
    new Set(['document_parsing_exception']),
  )
  t.strictSame(states, [])
  await lane.close()
})

t.test('Splunk: a refusal that is about the token or the index waits', async (t) => {
  const server = await openWebServer(t)
  for (const [code, want] of [
    [7, 'configuration'],
    [6, 'poison'],
  ] as const) {
    server.answer = (_, response) => response.writeHead(400).end(JSON.stringify({ text: 'No', code }))
    t.match(await send(server.url, { body: 'splunk' }), { fault: { class: want } })
  }
})

t.test('of a request that is refused, only the event at fault is dead-lettered', async (t) => {
  const server = await openWebServer(t)
  const arrived: string[] = []
  let busy = 1
  server.answer = ({ body }, response) => {
    const ids = body
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).event_id as string)
    if (ids.includes('ev_13')) return response.writeHead(422).end('no thirteen')
    if (busy-- > 0) return response.writeHead(503, { 'retry-after': '0' }).end()
    arrived.push(...ids)
    return response.end()
  }
  const dead: string[] = []
  const lane = new Lane(configOf(server.url), {
    open: (config) => openSender(config, depsWith()),
    budget: roomForAll,
    deadLetter: async ({ id }, { code, msg }) => void dead.push(`${id} ${code} ${msg}`),
    settings: {},
  })
  const counts = done(99, 1, 0)
  t.match(await lane.deliver(someEvents(100)), { ...counts, counts: { delivered: 99, dead_lettered: 1 } })
  t.equal(new Set(arrived).size, 99)
  t.strictSame(dead, ['ev_13 Http422 The server answered 422 Unprocessable Entity: no thirteen'])
  await lane.close()
})

t.test(
  'a server that refuses everything pauses the destination, which goes on when it accepts',
  async (t) => {
    const server = await openWebServer(t, (_, response) => response.writeHead(400).end('never'))
    const dead: string[] = []
    const states: string[] = []
    const lane = new Lane(configOf(server.url), {
      open: (config) => openSender(config, depsWith()),
      budget: roomForAll,
      deadLetter: async ({ id }) => void dead.push(id),
      changed: ({ state }) => {
        states.push(state)
        if (state === 'paused') server.answer = (_, response) => response.end()
      },
      settings: { probeMinMs: 2, probeMaxMs: 4 },
    })
    await lane.deliver(someEvents(30))
    t.strictSame(states, ['paused', 'healthy'])
    t.ok(dead.length <= 8, `${dead.length} events were dead-lettered before`)
    await lane.close()
  },
)

t.test('a test event and a check', async (t) => {
  const server = await openWebServer(t, ({ method }, response) =>
    response.writeHead(method === 'POST' ? 200 : 405).end(),
  )
  const event = { partitionKey: 'ev_t', timestampMs: Date.now(), json: '{"event_id":"ev_t"}' }
  const access = (deps: DeliverySettings) => ({
    openSender: (config: DestinationConfig) => openSender(config, deps),
  })
  const config = configOf(server.url, { auth: { bearer: { token: 'x' } } })
  t.match(await sendTestEvent(config, event, 10_000, access(depsWith())), { ok: true })
  t.equal(server.requests.at(-1)?.body, `${event.json}\n`)
  const checked = await checkDestination(config, event, 10_000, access(depsWith()))
  t.match(checked, {
    ok: true,
    value: {
      mayWrite: false,
      proved: [/can be reached/],
      notProved: [/answered OPTIONS with 405 Method Not Allowed\.$/],
    },
  })
  t.match(server.requests.at(-1), { method: 'OPTIONS', body: '', headers: { authorization: 'Bearer x' } })
  const refused = await checkDestination(
    config,
    event,
    10_000,
    access(depsWith({ networks: new ReachableNetworks() })),
  )
  t.match(refused, { ok: false, problem: { code: 'PrivateNetwork' } })
})
