/** Log records of OpenTelemetry: which record each becomes, and that no bytes do harm. */
import { createFileRegistry, fromBinary, fromJson, type JsonValue, toBinary } from '@bufbuild/protobuf'
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'
import fc from 'fast-check'
import t from 'tap'
import { otlpDescriptors } from '../../../src/delivery/ingest/otlp/descriptors.js'
import { logsInJson, withExactIntegers } from '../../../src/delivery/ingest/otlp/json-request.js'
import { type OtlpLog, recordOfLog } from '../../../src/delivery/ingest/otlp/log-records.js'
import { logsIn } from '../../../src/delivery/ingest/otlp/messages.js'
import { parseRecord } from '../../../src/delivery/record/record.js'

const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, otlpDescriptors))
const requestSchema = registry.getMessage('opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest')!
const encoded = (request: object): Buffer =>
  Buffer.from(toBinary(requestSchema, fromJson(requestSchema, request as JsonValue)))

const request = (values: object, more: object = {}) => ({
  resourceLogs: [
    {
      resource: { attributes: [{ key: 'server.port', value: { intValue: '8443' } }] },
      scopeLogs: [
        {
          logRecords: [
            { ...more, attributes: Object.entries(values).map(([key, value]) => ({ key, value })) },
          ],
        },
      ],
    },
  ],
})
const text = (stringValue: string) => ({ stringValue })
const number = (value: number) => ({ doubleValue: value })

const client = { 'client.address': text('192.0.2.1') }
const cases: { name: string; given: object; more?: object; want: object | RegExp }[] = [
  {
    name: 'only an address',
    given: client,
    want: { type: 'tcp_connection', conn: { client_ip: '192.0.2.1' } },
  },
  {
    name: 'the address of a peer, with its port and not that of the client',
    given: {
      'network.peer.address': text('::ffff:192.0.2.2'),
      'network.peer.port': { intValue: '7' },
      'client.port': { intValue: '8' },
    },
    want: { conn: { client_ip: '192.0.2.2', client_port: 7, server_port: 8443 } },
  },
  {
    name: 'a whole URL',
    given: { ...client, 'url.full': text('HTTPS://www.example.com/a?b=c') },
    want: {
      type: 'http_request',
      conn: { server_name: 'www.example.com' },
      http: { request: { url: { path: '/a', query: 'b=c' } } },
    },
  },
  {
    name: 'numbers as doubles',
    given: { ...client, 'http.response.status_code': number(204) },
    want: { http: { response: { status_code: 204 } } },
  },
  {
    name: 'a method that is not known',
    given: {
      ...client,
      'http.request.method': text('_OTHER'),
      'http.request.method_original': text('PURGE'),
    },
    want: { http: { request: { method: 'PURGE' } } },
  },
  {
    name: 'the time at which it was observed',
    given: client,
    more: { observedTimeUnixNano: '1796000000000000001' },
    want: { conn: { start_ts: '2026-11-30T00:53:20.000000001Z' } },
  },
  {
    name: 'an earlier version of TLS',
    given: { ...client, 'http.request.method': text('GET'), 'tls.protocol.version': text('SSLv3') },
    want: { tls: { version: 'SSLv3' } },
  },
  {
    name: 'zones of addresses, a user of a URL, and a name with a comma',
    given: {
      'client.address': text('FE80::1%eth0'),
      'network.local.address': text('fe80::2%3'),
      'url.full': text('https://u:p@shop.example:8443/x'),
      'tls.client.subject': text(String.raw`CN=Doe\, John,O=x`),
    },
    want: {
      conn: { client_ip: 'fe80::1', server_ip: 'fe80::2', server_name: 'shop.example', server_port: 8443 },
      tls: { client_cert: { subject: { cn: 'Doe, John' } } },
    },
  },
  { name: 'no address', given: { 'client.address': text('/run/socket') }, want: /which is not an address/ },
  {
    name: 'a list',
    given: { 'client.address': { arrayValue: { values: [] } } },
    want: /no address of a client/,
  },
]

t.test('which record a log record becomes, in both encodings', (t) => {
  for (const { name, given, more, want } of cases) {
    const sent = request(given, more)
    const logs = [logsIn(encoded(sent), 1), logsInJson(sent)] as const
    const [fromBytes, fromText] = logs.map(([log]) => recordOfLog(log!))
    if (want instanceof RegExp) t.match(fromBytes, { ok: false, problem: { msg: want } }, name)
    else t.match(fromBytes, { ok: true, value: want }, name)
    if (fromBytes?.ok) {
      const { record_id: _, ...members } = fromBytes.value as { record_id: string }
      t.match(fromText, { ok: true, value: members }, name)
    }
  }
  t.end()
})

t.test('the port of the URL counts for the server that it names', (t) => {
  for (const [address, port] of [
    ['www.example.com', 8443],
    ['inner.example', 443],
  ] as const) {
    const { resourceLogs } = request({
      ...client,
      'url.full': text('https://www.example.com:8443/a'),
      'server.address': text(address),
    })
    const bare = { resourceLogs: resourceLogs.map(({ resource: _, ...others }) => others) }
    const [log] = logsIn(encoded(bare), 1)
    t.match(recordOfLog(log!), { value: { conn: { server_name: address, server_port: port } } })
  }
  t.end()
})

/** The decoder of texts throws a TypeError, too. */
const isDefect = (error: unknown): boolean =>
  !(error instanceof Error) || (error instanceof TypeError && !error.message.includes('encoding utf-8'))

/** Every log record becomes a record or is refused. */
function read(logs: readonly OtlpLog[]): void {
  for (const log of logs) {
    try {
      const record = recordOfLog(log)
      if (record.ok) parseRecord(Buffer.from(JSON.stringify(record.value)))
    } catch (error) {
      if (isDefect(error)) throw error
    }
  }
}

t.test('no bytes do harm', (t) => {
  const right = encoded(request({ ...client, 'http.request.method': text('GET') }, { timeUnixNano: '1' }))
  const mutated = fc
    .tuple(
      fc.array(fc.tuple(fc.nat(right.length - 1), fc.nat(255)), { minLength: 1, maxLength: 6 }),
      fc.nat(right.length),
    )
    .map(([changes, length]) => {
      const bytes = Buffer.from(right)
      for (const [at, byte] of changes) bytes[at] = byte
      return bytes.subarray(0, Math.max(1, length))
    })
  const bytes = fc.oneof(
    mutated,
    fc.uint8Array({ maxLength: 64 }).map((given) => Buffer.from(given)),
  )
  fc.assert(
    fc.property(bytes, (given) => {
      let logs: readonly OtlpLog[] = []
      try {
        logs = logsIn(given, 100)
      } catch (error) {
        if (isDefect(error)) throw error
      }
      read(logs)
    }),
    { numRuns: 3_000 },
  )
  fc.assert(
    fc.property(
      fc.dictionary(
        fc.constantFrom('client.address', 'url.full', 'http.request.method', 'tls.cipher', '__proto__'),
        fc.string(),
      ),
      (values) => {
        const given = Object.fromEntries(Object.entries(values).map(([key, value]) => [key, text(value)]))
        read(logsInJson(request(given)))
      },
    ),
  )
  t.pass()
  t.end()
})

t.test('64-bit numbers as JSON numbers are exact', (t) => {
  const times = {
    '1764064800000000123': '2025-11-25T10:00:00.000000123Z',
    '"1764064800000000123"': '2025-11-25T10:00:00.000000123Z',
    '1.764064800000000123e18': '2025-11-25T10:00:00.000000123Z',
    '17640648e11': '2025-11-25T10:00:00.000000000Z',
    '1764064800000000123.0': '2025-11-25T10:00:00.000000123Z',
    '"1.7640648e18"': '2025-11-25T10:00:00.000000000Z',
    '18446744073709551615': '2554-07-21T23:34:33.709551615Z',
  }
  const sent = (time: string): string =>
    JSON.stringify(
      request({ ...client, 'http.response.body.size': { intValue: 'SIZE' } }, { timeUnixNano: 'TIME' }),
    )
      .replace('"TIME"', time)
      .replace('"SIZE"', '9007199254740991')
  const read = (time: string) =>
    logsInJson(JSON.parse(withExactIntegers(sent(time)))).map((log) => recordOfLog(log))
  for (const [time, start] of Object.entries(times))
    t.match(
      read(time),
      [{ value: { conn: { start_ts: start }, http: { response: { body_length: 9_007_199_254_740_991 } } } }],
      time,
    )
  for (const time of ['-1', '18446744073709551616', '1.5', '"soon"', '1e400', '{}'])
    t.throws(() => read(time), /"timeUnixNano" is no number of nanoseconds/, time)
  const digits = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.oneof(digits, fc.string(), fc.boolean())), (members) => {
      const json = `{${Object.entries(members)
        .map(
          ([key, value]) =>
            `${JSON.stringify(key)}:${typeof value === 'bigint' ? value : JSON.stringify(value)}`,
        )
        .join(',')}}`
      const parsed = JSON.parse(withExactIntegers(json))
      return Object.entries(members).every(([key, value]) => String(parsed[key]) === String(value))
    }),
  )
  t.end()
})

t.test('numbers of attributes may be texts, and have exponents', (t) => {
  const written = ['{"intValue":"204"}', '{"intValue":2.04e2}', '{"intValue":"2.04e2"}', '{"intValue":204.0}']
  const doubles = ['{"doubleValue":204}', '{"doubleValue":"204.0"}', '{"double_value":"20400e-2"}']
  for (const status of [...written, ...doubles]) {
    const sent = JSON.stringify(request({ ...client, 'http.response.status_code': 'STATUS' }))
    const logs = logsInJson(JSON.parse(withExactIntegers(sent.replace('"STATUS"', status))))
    t.match(recordOfLog(logs[0]!), { value: { http: { response: { status_code: 204 } } } }, status)
  }
  t.end()
})

t.test('a text without an end is read once', (t) => {
  for (const text of [
    `["${'\\"'.repeat(500_000)}`,
    `["${'\\"'.repeat(500_000)}\\`,
    `"${'\\\n'.repeat(500_000)}`,
  ])
    t.equal(withExactIntegers(text), text)
  t.end()
})

t.test('what is ignored is no reason to refuse', (t) => {
  const odd: Record<string, unknown>[] = [
    { severityNumber: 9.5 },
    { severityNumber: 'SEVERITY_NUMBER_LATER', severityText: 5 },
    { traceId: 'no id', spanId: {}, flags: -1, droppedAttributesCount: 1e12 },
    { body: 'text' },
    { body: { bytesValue: '***' }, eventName: null, later: [[]] },
    // It counts only if the other one is not known.
    { timeUnixNano: '1', observedTimeUnixNano: -1 },
  ]
  for (const more of odd)
    t.match(
      logsInJson(request(client, more)).map((log) => recordOfLog(log)),
      [{ ok: true }],
      JSON.stringify(more),
    )
  const values = [
    ...['plain', 5, null, [], { stringValue: 5 }, { intValue: 2 ** 63 }, { bytesValue: '***' }],
    ...[
      { stringValue: 'a', intValue: 1 },
      { arrayValue: { values: [{ intValue: 5.5 }, null] } },
      { later: 1 },
    ],
    { stringValue: '\ud800' },
  ]
  for (const value of values)
    t.match(
      logsInJson(request({ ...client, odd: value })).map((log) => recordOfLog(log)),
      [{ ok: true }],
      JSON.stringify(value),
    )
  const keys = {
    resourceLogs: [
      {
        resource: 5,
        scopeLogs: [{ scope: { name: 5 }, logRecords: [{ attributes: [5, { key: 5 }, null] }] }],
      },
    ],
  }
  t.match(
    logsInJson(keys).map((log) => recordOfLog(log)),
    [{ problem: { msg: /no address of a client/ } }],
  )
  const inSchema = {
    resource_logs: [
      {
        scope_logs: [
          {
            log_records: [
              {
                time_unix_nano: '1',
                attributes: [{ key: 'client.address', value: { string_value: '192.0.2.1' } }],
              },
            ],
          },
        ],
      },
    ],
  }
  t.match(
    logsInJson(inSchema).map((log) => recordOfLog(log)),
    [{ value: { conn: { start_ts: /000000001Z$/ } } }],
  )
  t.throws(() => logsInJson({ resourceLogs: 1 }), /"resourceLogs" must be a list/)
  t.end()
})
