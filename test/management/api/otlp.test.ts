/** `POST /v1/logs`: log records of OpenTelemetry become records, sent by its own exporter and by hand. */
import { gzipSync } from 'node:zlib'
import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-proto'
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs'
import t, { type Test } from 'tap'
import { publishedRecordsSubject } from '../../../src/delivery/wire/names.js'
import { openTestStore, type TestStore } from '../../harness/api.js'
import type { Caller } from '../../harness/caller.js'
import { recordsStream } from '../../harness/first-partition.js'

const json = { 'content-type': 'application/json' }
const protobuf = { 'content-type': 'application/x-protobuf' }

const anyValue = (value: string | number | readonly string[]): object => {
  if (Array.isArray(value)) return { arrayValue: { values: value.map((each) => ({ stringValue: each })) } }
  return typeof value === 'number' ? { intValue: String(value) } : { stringValue: value }
}
const attribute = (key: string, value: string | number | readonly string[]) => ({
  key,
  value: anyValue(value),
})
const attributes = (values: Readonly<Record<string, string | number | readonly string[]>>) =>
  Object.entries(values).map(([key, value]) => attribute(key, value))

type Values = Readonly<Record<string, string | number | readonly string[]>>

const request = (
  records: readonly { readonly timeUnixNano?: string; readonly values: Values }[],
  resource: Values = {},
  scope: Values = {},
) => ({
  resourceLogs: [
    {
      resource: { attributes: attributes(resource) },
      scopeLogs: [
        {
          scope: { name: 'test', attributes: attributes(scope) },
          logRecords: records.map(({ values, ...rest }) => ({ ...rest, attributes: attributes(values) })),
        },
      ],
      unheardOf: true,
    },
  ],
})

const send = (client: Caller, body: unknown, headers: Record<string, string> = json) =>
  client.raw.send('POST', '/v1/logs', { body, headers })

async function storedOf({ admin }: TestStore, accountId: string): Promise<Record<string, unknown>[]> {
  const found: Record<string, unknown>[] = []
  for (let next = 1; ; ) {
    const message = await admin.nextMessage(recordsStream, publishedRecordsSubject, next)
    if (message === undefined) return found
    const lines = Buffer.from(message.data).toString().split('\n')
    found.push(...lines.filter((line) => line.includes(accountId)).map((line) => JSON.parse(line)))
    next = message.sequence + 1
  }
}

type OTLPExporterConfig = NonNullable<ConstructorParameters<typeof OTLPLogExporter>[0]>

/** A program with OpenTelemetry's SDK. */
function loggerProvider(t: Test, url: string, token: string, compression: 'gzip' | 'none') {
  const exporter = new OTLPLogExporter({
    url: `${url}/v1/logs`,
    headers: { authorization: `Bearer ${token}`, 'service-version': '2' },
    // The enumeration is in a package of its own.
    compression: compression as NonNullable<OTLPExporterConfig['compression']>,
  })
  const provider = new LoggerProvider({ processors: [new BatchLogRecordProcessor({ exporter })] })
  t.teardown(() => provider.shutdown())
  return provider
}

t.test('POST /v1/logs', async (t) => {
  const store = await openTestStore(t)
  const api = await store.api()

  t.test('a request of a client, as a server or a proxy logs it', async (t) => {
    const me = await api.account('server')
    const values = {
      'client.address': '203.0.113.7',
      'client.port': 52144,
      'network.peer.address': '10.0.0.1',
      'network.peer.port': 4711,
      'network.local.address': '198.51.100.2',
      'server.address': 'www.otlp.example',
      'server.port': 8443,
      'http.request.method': 'GET',
      'url.path': '/a/b',
      'url.query': 'c=d',
      'url.scheme': 'https',
      'http.response.status_code': 200,
      'http.request.body.size': 12,
      'http.response.body.size': 5120,
      'user_agent.original': 'curl/8.5.0',
      'tls.protocol.version': '1.3',
      'tls.cipher': 'TLS_AES_128_GCM_SHA256',
      'tls.client.subject': 'CN=alice,O=Example',
      'log.record.uid': 'req-1',
      'http.request.header.x-forwarded-for': ['192.0.2.1', '192.0.2.2'],
      'http.response.header.server': 'nginx',
    }
    const answer = await send(me, request([{ timeUnixNano: '1796000000123456789', values }]))
    t.match(answer, { status: 200, text: '{}', headers: { 'content-type': /^application\/json/ } })
    t.strictSame(await storedOf(store, me.accountId), [
      {
        record_id: 'req-1',
        type: 'http_request',
        conn: {
          client_ip: '203.0.113.7',
          client_port: 52144,
          server_ip: '198.51.100.2',
          server_name: 'www.otlp.example',
          server_port: 8443,
          start_ts: '2026-11-30T00:53:20.123456789Z',
        },
        http: {
          request: {
            method: 'GET',
            user_agent: 'curl/8.5.0',
            body_length: 12,
            url: { path: '/a/b', query: 'c=d', scheme: 'https', host: 'www.otlp.example', raw: '/a/b?c=d' },
            headers: { 'x-forwarded-for': ['192.0.2.1', '192.0.2.2'] },
          },
          response: { status_code: 200, body_length: 5120, headers: { server: ['nginx'] } },
        },
        tls: {
          version: 'TLSv1.3',
          cipher_suite: 'TLS_AES_128_GCM_SHA256',
          client_cert: { subject: { cn: 'alice' } },
        },
        basic_auth: {},
        account_id: me.accountId,
      },
    ])
  })

  t.test('a connection; attributes of the record win over those of its scope and its resource', async (t) => {
    const me = await api.account('network')
    const edge = await me.tcpEdge.create({ hostports: ['tcp.otlp.example:22'] })
    const record = (values: Values) => ({ timeUnixNano: '1796000000000000000', values })
    const answer = await send(
      me,
      request(
        [
          record({ 'network.peer.address': '2001:DB8::1', 'network.peer.port': 1, 'server.port': 22 }),
          record({ 'network.peer.address': '192.0.2.9', 'weir.edge_id': edge.id, 'weir.bytes_in': 7 }),
        ],
        { 'server.address': 'resource.otlp.example', 'server.port': 2222 },
        { 'server.address': 'tcp.otlp.example' },
      ),
    )
    t.equal(answer.text, '{}')
    const [first, second] = await storedOf(store, me.accountId)
    t.match(first, {
      type: 'tcp_connection',
      record_id: /^[\w-]{22}$/,
      conn: { client_ip: '2001:db8::1', client_port: 1, server_name: 'tcp.otlp.example', server_port: 22 },
    })
    t.match(second, { edge_id: edge.id, conn: { server_port: 2222, bytes_in: 7 } })
    t.not(first?.['record_id'], second?.['record_id'])
    await send(me, request([{ values: { 'network.peer.address': '192.0.2.9' } }]))
    await send(me, request([{ values: { 'network.peer.address': '192.0.2.9' } }]))
    t.equal((await storedOf(store, me.accountId)).length, 3, 'what is sent again has the same id')
  })

  t.test('a part of the log records is taken', async (t) => {
    const [me, other] = [await api.account('partial'), await api.account('partial')]
    const theirs = await other.httpsEdge.create({ hostports: ['theirs.otlp.example:443'] })
    const client = { 'client.address': '192.0.2.1', 'http.request.method': 'GET' }
    const answer = await send(
      me,
      request([
        { values: { 'service.name': 'shop' } },
        { values: client },
        { values: { ...client, 'server.address': 'theirs.otlp.example' } },
        { values: { ...client, 'weir.edge_id': theirs.id } },
        { values: { ...client, 'http.response.status_code': 'many' } },
      ]),
    )
    t.equal(answer.status, 200)
    const { partialSuccess } = answer.body
    t.equal(partialSuccess.rejectedLogRecords, '3')
    t.equal(
      partialSuccess.errorMessage,
      `Log record 1: It has no address of a client. Log record 4: "edge_id" is "${theirs.id}", but there is no such edge. Log record 5: "http.response.status_code" is "many"; it must be an integer from -2^31 to 2^31-1.`,
    )
    t.equal((await storedOf(store, me.accountId)).length, 2)
  })

  t.test('what many log records share makes no records without bounds', async (t) => {
    const me = await api.account('shared')
    const sent = (count: number, shared: Values, values: Values = {}) =>
      send(
        me,
        request(
          Array.from({ length: count }, () => ({ values })),
          { 'client.address': '192.0.2.1', ...shared },
        ),
      )
    const { body: large } = await sent(2_000, { 'user_agent.original': 'x'.repeat(500_000) })
    t.equal(large.partialSuccess.rejectedLogRecords, '2000')
    t.match(
      large.partialSuccess.errorMessage,
      /^Log record 1: Its attributes have 500009 characters; a record has at most 65536 bytes\./,
    )
    const escaped = await sent(1, { 'user_agent.original': '\x01'.repeat(60_000), 'url.path': '/' })
    t.match(
      escaped.body.partialSuccess.errorMessage,
      /^Log record 1: It has 36\d{4} bytes; at most 65536 are allowed\.$/,
    )
    const many = await sent(1_000, { 'user_agent.original': 'x'.repeat(60_000), 'url.path': '/' })
    t.match(many, { status: 413, body: { message: /records of more than 33554432 bytes: send fewer/ } })
    t.equal((await storedOf(store, me.accountId)).length, 0)
    t.equal((await sent(1, { 'exception.stacktrace': 'x'.repeat(100_000) })).text, '{}', 'nor is it read')
  })

  t.test('errors are in the encoding of the request', async (t) => {
    const me = await api.account('errors')
    const cases: [
      name: string,
      status: number,
      code: number,
      says: RegExp,
      body: unknown,
      headers: object,
    ][] = [
      ['no JSON', 400, 3, /not valid JSON/, '{', json],
      ['another message', 400, 3, /no ExportLogsServiceRequest/, { resourceLogs: 1 }, json],
      ['no protobuf', 400, 3, /no ExportLogsServiceRequest/, Buffer.from('hello'), protobuf],
      [
        'text',
        415,
        3,
        /application\/json or application\/x-protobuf is needed/,
        'x',
        { 'content-type': 'text/plain' },
      ],
      [
        'too large',
        413,
        3,
        /at most 2097152 bytes/,
        gzipSync(Buffer.alloc(3 * 2 ** 20, 0x20)),
        { ...json, 'content-encoding': 'gzip' },
      ],
      [
        'a bomb',
        413,
        3,
        /at most 16777216 bytes/,
        gzipSync(Buffer.alloc(32 * 2 ** 20)),
        { ...protobuf, 'content-encoding': 'gzip' },
      ],
      [
        'too many resources',
        400,
        3,
        /more than 20000 messages in one/,
        Buffer.alloc(50_000, Buffer.from([0x0a, 0])),
        protobuf,
      ],
      [
        'too many values in JSON',
        413,
        3,
        /150003 objects and lists: at most 150000/,
        `{"resourceLogs":[${'{},'.repeat(150_000)}{}]}`,
        json,
      ],
      [
        'many unknown fields, which are read no further than it takes to refuse them',
        400,
        3,
        /more than 524288 bytes/,
        Buffer.concat([Buffer.alloc(600_000, Buffer.from([0x78, 1])), Buffer.from('no field')]),
        protobuf,
      ],
      ['large resources', 400, 3, /more than 524288 bytes/, largeResource(), protobuf],
    ]
    for (const [name, status, code, says, body, headers] of cases) {
      const answer = await send(me, body, headers as Record<string, string>)
      t.equal(answer.status, status, name)
      if ((headers as typeof json)['content-type'] !== protobuf['content-type']) {
        t.match(answer.body, { code, message: says }, name)
        continue
      }
      t.equal(answer.headers['content-type'], 'application/x-protobuf', name)
      // The code and the message: fields 1 and 2.
      t.match(answer.text.slice(0, 3), `\x08${String.fromCharCode(code)}\x12`, name)
      t.match(answer.text, says, name)
    }
    const braces = `{"resourceLogs":[],"note":"${'{['.repeat(100_000)}"}`
    t.equal((await send(me, braces, json)).status, 200, 'signs in a text are no objects and lists')
    const stranger = await send(api.stranger(), request([]))
    t.match(stranger, { status: 401, body: { code: 16, message: /is not valid/ } })
  })

  t.test('a log record of very many attributes or values is refused alone, and not decoded', async (t) => {
    const me = await api.account()
    const part = (field: number, bytes: Buffer): Buffer => {
      const length: number[] = []
      for (let rest = bytes.length; ; rest >>>= 7) {
        length.push(rest > 0x7f ? (rest & 0x7f) | 0x80 : rest)
        if (rest <= 0x7f) break
      }
      return Buffer.concat([Buffer.from([(field << 3) | 2, ...length]), bytes])
    }
    const many = (field: number): Buffer => Buffer.alloc(2 * 2_001, Buffer.from([(field << 3) | 2, 0]))
    const logs = [
      ['attributes', many(6)],
      ['values of a list', part(6, part(2, part(5, many(1))))],
      ['values of a list in a list', part(6, part(2, part(5, part(1, part(5, many(1))))))],
      ['members of a map', part(5, part(6, many(1)))],
    ] as const
    for (const [name, log] of logs) {
      const answer = await send(me, part(1, part(2, part(2, log))), protobuf)
      t.equal(answer.status, 200, name)
      t.match(answer.text, /it has more than 2000 attributes and values/, name)
    }
  })

  t.test("OpenTelemetry's exporter", async (t) => {
    const own = await store.api({})
    const url = await own.app.listen({ host: '127.0.0.1', port: 0 })
    const me = await own.account('exporter')
    const { token } = await me.apiKey.create({ rights: ['publish'] })
    for (const compression of ['none', 'gzip'] as const) {
      const provider = loggerProvider(t, url, token ?? '', compression)
      provider.getLogger('proxy').emit({
        timestamp: new Date('2026-11-20T10:00:00.123Z'),
        attributes: {
          'client.address': '203.0.113.7',
          'http.request.method': 'GET',
          'http.response.status_code': 404,
          'server.address': 'www.otlp.example',
          'log.record.uid': `exported-${compression}`,
        },
      })
      await provider.forceFlush()
    }
    t.match(await storedOf(store, me.accountId), [
      {
        record_id: 'exported-none',
        conn: { client_ip: '203.0.113.7', start_ts: '2026-11-20T10:00:00.123000000Z' },
        http: { request: { method: 'GET' }, response: { status_code: 404 } },
      },
      { record_id: 'exported-gzip' },
    ])
  })
})

/** A `ResourceLogs` with a field of 2 MiB that no one knows. */
const largeResource = (): Buffer => {
  const large = Buffer.alloc(2 * 2 ** 20)
  return Buffer.concat([Buffer.from([0x7a, 0x80, 0x80, 0x80, 0x01]), large])
}
