import fc from 'fast-check'
import t from 'tap'
import {
  parseDecisionRequest,
  parseLine,
  parseMessage,
  parseRecord,
} from '../../../src/delivery/record/record.js'
import {
  type RecordField,
  type RecordFieldType,
  recordFields,
} from '../../../src/delivery/record/record-fields.js'
import { recordSchemas } from '../../../src/delivery/record/record-schemas.js'
import { RecordShapes } from '../../../src/delivery/record/record-shapes.js'
import { normalizeHeaders } from '../../../src/delivery/record/spelling.js'
import { Checks } from '../../harness/checks.js'

const conn = { client_ip: '203.0.113.7' }
const base = { record_id: 'r1', type: 'tcp_connection', conn }
const request = { record_id: 'r1', type: 'http_request', conn }
const parse = (value: unknown) => parseRecord(Buffer.from(JSON.stringify(value)))

t.test('records that are taken', async (t) => {
  const cases = [
    { name: 'what is required and no more', record: base },
    {
      name: 'everything a connection has',
      record: {
        ...base,
        account_id: 'ac_1',
        edge_id: 'edgtcp_1',
        conn: {
          client_ip: '2001:db8::1',
          client_port: 0,
          server_ip: '198.51.100.2',
          server_name: '1.tcp.eu.example',
          server_port: 65535,
          start_ts: '2026-11-20T10:00:00.123456Z',
          end_ts: '2026-11-20T10:00:00.000000Z',
          bytes_in: 0,
          bytes_out: 2 ** 53 - 1,
        },
      },
    },
    {
      name: 'null where a member is optional',
      record: { ...base, account_id: null, conn: { ...conn, bytes_in: null } },
    },
    {
      name: 'unknown members',
      record: { ...base, http: 'not looked at', more: [{}], conn: { ...conn, mtu: 1500 } },
    },
    {
      name: 'an id of 128 characters beyond the basic plane',
      record: { ...base, record_id: '\u{1f600}'.repeat(128) },
    },
    { name: 'an IPv6 address', record: { ...base, conn: { client_ip: '2001:db8::198' } } },
    {
      name: 'compression that made a response larger',
      record: { ...request, compression: { bytes_saved: -12 } },
    },
    {
      name: 'a request with headers',
      record: {
        ...request,
        http: { request: { headers: { accept: ['*/*'], 'x-none': [] } }, response: null },
      },
    },
  ]
  for (const { name, record } of cases) t.same(parse(record), { ok: true, value: record }, name)
})

const numericBounds: Partial<Record<RecordFieldType, readonly [number, number]>> = {
  port: [0, 65_535],
  count: [0, Number.MAX_SAFE_INTEGER],
  int32: [-(2 ** 31), 2 ** 31 - 1],
  int64: [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
}

t.test(
  'numeric fields take what their type and their schema say, also when the shape is known',
  async (t) => {
    for (const { type, schema } of recordSchemas)
      for (const [name, field] of Object.entries<RecordField>(recordFields[type])) {
        const bounds = numericBounds[field.type]
        if (bounds === undefined) continue
        const path = name.split('.')
        const recordWith = (value: number): object => {
          const [last, ...groups] = path.toReversed()
          const nested = groups.reduce<object>((inner, group) => ({ [group]: inner }), { [last!]: value })
          const own = (nested as { conn?: object }).conn
          return { ...base, ...nested, type, conn: { ...conn, ...own } }
        }
        const declared = path.reduce<unknown>(
          (at, member) => (objectIn(at) as { properties: Record<string, unknown> }).properties[member],
          schema,
        )
        const [minimum, maximum] = bounds
        t.match(JSON.stringify(declared), `"minimum":${minimum},"maximum":${maximum}`, `${name}: its schema`)
        const shapes = new RecordShapes()
        shapes.missed(JSON.stringify(recordWith(1)), type)
        for (const [value, isTaken] of [
          [minimum, true],
          [-1, minimum < 0],
          [0, true],
          [maximum, true],
          [minimum - 1, false],
          [maximum + 1, false],
          [0.5, false],
        ] as const) {
          const record = recordWith(value)
          t.equal(parse(record).ok, isTaken, `${name}: ${value}`)
          const known = shapes.read(JSON.stringify(record))
          if (known !== undefined) t.same(known, record, `${name}: ${value}, by its shape`)
        }
      }
  },
)

/** A group that may be null is declared with an alternative. */
function objectIn(schema: unknown): unknown {
  const { anyOf } = schema as { anyOf?: readonly { properties?: object }[] }
  return anyOf?.find((each) => each.properties !== undefined) ?? schema
}

t.test('a number that is refused is shown as it was sent', async (t) => {
  const digits = '9'.repeat(200)
  for (const [sent, want] of [
    ['9223372036854775807', '9223372036854775807'],
    ['9007199254740993', '9007199254740993'],
    ['-9223372036854775808', '-9223372036854775808'],
    ['1e400', '1e400'],
    ['1.00000000000000001E2000', '1.00000000000000001E2000'],
    ['0.10000000000000000555', '0.10000000000000000555'],
    ['-1', '-1'],
    ['1.5', '1.5'],
    [digits, `${digits.slice(0, 80)}…`],
  ] as const) {
    const text = `{"record_id":"r1","type":"tcp_connection","bytes_in":1,"conn":{"client_ip":"::1","x":{"bytes_in":2},"bytes_in": ${sent} }}`
    const msg = `"conn.bytes_in" is ${want}; it must be an integer from 0 to 2^53-1.`
    t.same(parseRecord(Buffer.from(text)), { ok: false, problem: { msg } }, sent)
    const [line] = parseMessage(Buffer.from(`${text}\n`))
    t.same(parseLine(line!), { ok: false, problem: { msg } }, `${sent}, in a line`)
  }
  const twice =
    '{"record_id":"r1","type":"http_request","conn":{"client_ip":"::1"},"http":{"response":{"status_code":1,"status_code":4294967296000000001}}}'
  t.match(parseRecord(Buffer.from(twice)), {
    problem: { msg: /^"http.response.status_code" is 4294967296000000001;/ },
  })
})

t.test('an address with a zone is taken without it', async (t) => {
  for (const [given, want] of [
    ['fe80::9%2', 'fe80::9'],
    ['FE80:0::9%eth0', 'fe80::9'],
    ['::ffff:192.0.2.1%lo', '192.0.2.1'],
  ]) {
    const record = { ...base, conn: { ...conn, client_ip: given, server_ip: given } }
    t.match(parse(record), { ok: true, value: { conn: { client_ip: want, server_ip: want } } })
    t.match(parseDecisionRequest(record), { ok: true, value: { record: { conn: { client_ip: want } } } })
  }
  for (const given of ['%eth0', 'fe80::9%', 'fe80::g%2', '192.0.2.1%eth0'])
    t.equal(parse({ ...base, conn: { ...conn, client_ip: given } }).ok, false, given)
})

t.test('times are valid, and stay as they were written', async (t) => {
  const times = { start_ts: '2026-11-20T10:00:00+05:30', end_ts: '2026-11-20t10:00:00.1234567z' }
  for (const record of [base, request]) {
    t.match(parse({ ...record, conn: { ...conn, ...times } }), { ok: true, value: { conn: times } })
  }
  const asked = parseDecisionRequest({ type: 'tcp_connection', conn: { ...conn, ...times } })
  t.match(asked, { ok: true, value: { record: { conn: times } } }, 'for a decision, too')
})

t.test('bad records, each with a sentence that names the member', async (t) => {
  const cases = [
    { name: 'no JSON', text: '{"record_id":', says: 'not JSON' },
    { name: 'an array', text: '[]', says: '"record" is []' },
    { name: 'a number', text: '7', says: '"record" is 7' },
    { name: 'two records on a line', text: `${JSON.stringify(base)} {}`, says: 'not JSON' },
    { name: 'no type', record: { record_id: 'r', conn }, says: '"type" is missing' },
    { name: 'an unknown type', record: { ...base, type: 'udp' }, says: '"type" is "udp"' },
    { name: 'no record_id', record: { type: 'tcp_connection', conn }, says: '"record_id" is missing' },
    { name: 'an empty record_id', record: { ...base, record_id: '' }, says: '"record_id" is ""' },
    { name: 'a numeric record_id', record: { ...base, record_id: 7 }, says: '"record_id" is 7' },
    {
      name: 'a record_id of 129 characters',
      record: { ...base, record_id: 'x'.repeat(129) },
      says: '1 to 128',
    },
    { name: 'an account_id that is no text', record: { ...base, account_id: 7 }, says: '"account_id" is 7' },
    { name: 'an edge_id that is no text', record: { ...base, edge_id: {} }, says: '"edge_id" is {}' },
    { name: 'no conn', record: { record_id: 'r', type: 'tcp_connection' }, says: '"conn" is missing' },
    { name: 'conn as a list', record: { ...base, conn: [] }, says: '"conn" is []' },
    { name: 'no client_ip', record: { ...base, conn: {} }, says: '"conn.client_ip" is missing' },
    {
      name: 'a client_ip that is none',
      record: { ...base, conn: { client_ip: '1.2.3' } },
      says: '"conn.client_ip" is "1.2.3"',
    },
    {
      name: 'a client_ip with a leading zero',
      record: { ...base, conn: { client_ip: '010.0.0.1' } },
      says: 'conn.client_ip',
    },
    {
      name: 'a port too high',
      record: { ...base, conn: { ...conn, server_port: 65536 } },
      says: '"conn.server_port" is 65536',
    },
    {
      name: 'a port as text',
      record: { ...base, conn: { ...conn, client_port: '22' } },
      says: '"conn.client_port" is "22"',
    },
    {
      name: 'a port with a fraction',
      record: { ...base, conn: { ...conn, client_port: 22.5 } },
      says: 'conn.client_port',
    },
    {
      name: 'a count beyond 2^53-1',
      record: { ...base, conn: { ...conn, bytes_in: 2 ** 53 } },
      says: '"conn.bytes_in"',
    },
    {
      name: 'a negative count',
      record: { ...base, conn: { ...conn, bytes_out: -1 } },
      says: '"conn.bytes_out" is -1',
    },
    {
      name: 'a time without zone',
      record: { ...base, conn: { ...conn, start_ts: '2026-11-20T10:00:00' } },
      says: 'conn.start_ts',
    },
    {
      name: 'a 13th month',
      record: { ...base, conn: { ...conn, end_ts: '2026-13-20T10:00:00Z' } },
      says: 'conn.end_ts',
    },
    {
      name: 'a day that the month does not have',
      record: { ...base, conn: { ...conn, end_ts: '2026-02-29T10:00:00Z' } },
      says: 'conn.end_ts',
    },
    {
      name: 'a time that UTC has in the year 10000',
      record: { ...base, conn: { ...conn, end_ts: '9999-12-31T23:59:59-01:00' } },
      says: '"conn.end_ts" is "9999-12-31T23:59:59-01:00"; it must be an RFC 3339 time in the years 0000 to 9999 (UTC)',
    },
    { name: 'an empty edge_id', record: { ...base, edge_id: '' }, says: '"edge_id" is ""' },
    {
      name: 'a time as number',
      record: { ...base, conn: { ...conn, end_ts: 1 } },
      says: '"conn.end_ts" is 1',
    },
    { name: 'http as text', record: { ...request, http: 'x' }, says: '"http" is "x"' },
    {
      name: 'a header that is no list',
      record: { ...request, http: { request: { headers: { host: 'x' } } } },
      says: 'http.request.headers.host',
    },
    {
      name: 'a header value that is no text',
      record: { ...request, http: { response: { headers: { age: [1] } } } },
      says: 'http.response.headers.age',
    },
    {
      name: 'a status that is text',
      record: { ...request, http: { response: { status_code: '200' } } },
      says: 'http.response.status_code',
    },
    {
      name: 'a deep member of the wrong type',
      record: { ...request, tls: { client_cert: { subject: { cn: 1 } } } },
      says: '"tls.client_cert.subject.cn" is 1',
    },
    {
      name: 'a flag as text',
      record: { ...request, backend: { connection_reused: 'yes' } },
      says: 'backend.connection_reused',
    },
  ]
  for (const { name, text, record, says } of cases) {
    const parsed = parseRecord(Buffer.from(text ?? JSON.stringify(record)))
    t.notOk(parsed.ok, name)
    if (!parsed.ok) t.ok(parsed.problem.msg.includes(says), `${name}: ${parsed.problem.msg}`)
  }
})

t.test('each optional member of a request refuses another type', async (t) => {
  const members = [
    'route_id',
    'http.request.body_length',
    'http.request.headers',
    'http.request.method',
    'http.request.user_agent',
    'http.request.url.host',
    'http.request.url.path',
    'http.request.url.query',
    'http.request.url.raw',
    'http.request.url.scheme',
    'http.response.body_length',
    'http.response.headers',
    'http.response.status_code',
    'tls.cipher_suite',
    'tls.version',
    'tls.client_cert.serial_number',
    'tls.client_cert.subject.cn',
    'backend.connection_reused',
    'basic_auth.decision',
    'basic_auth.username',
    'circuit_breaker.decision',
    'compression.algorithm',
    'compression.bytes_saved',
    'oauth.decision',
    'oauth.app_client_id',
    'oauth.user.id',
    'oauth.user.name',
    'user_agent_filter.decision',
    'webhook_verification.decision',
  ]
  for (const member of members) {
    const nested = member.split('.').reduceRight<unknown>((value, key) => ({ [key]: value }), ['wrong'])
    const parsed = parse({ ...request, ...(nested as object) })
    const found = member.endsWith('headers') ? 'a list' : '["wrong"]'
    t.ok(!parsed.ok && parsed.problem.msg.startsWith(`"${member}" is ${found}`), member)
  }
  for (const headers of [{ Cookie: 'never-shown' }, { 'x-key': { of: 'never-shown' } }, 'never-shown']) {
    const parsed = parse({ ...request, http: { request: { headers } } })
    t.notMatch(
      parsed.ok ? 'accepted' : parsed.problem.msg,
      /never-shown|accepted/,
      'a header may be a secret',
    )
  }
})

t.test('bytes that are no UTF-8, and too many of them', async (t) => {
  const latin = Buffer.from(JSON.stringify({ ...base, record_id: 'é' }), 'latin1')
  t.match(parseRecord(latin), { ok: false, problem: { msg: 'It is not UTF-8.' } })
  const sized = (bytes: number) =>
    parse({ ...base, pad: 'x'.repeat(bytes - JSON.stringify({ ...base, pad: '' }).length) })
  t.ok(sized(65536).ok, '64 KiB are allowed')
  t.match(sized(65537), { ok: false, problem: { msg: 'It has 65537 bytes; at most 65536 are allowed.' } })
  t.notOk(parseRecord(Buffer.from('['.repeat(60_000))).ok, 'deep nesting ends as a bad record')
})

t.test('members named like parts of prototypes stay members', async (t) => {
  const text =
    '{"record_id":"r","type":"http_request","__proto__":{"polluted":1},"conn":{"client_ip":"::1","__proto__":{"polluted":1}},"http":{"request":{"headers":{"__proto__":["A"],"constructor":["B"]}}}}'
  const parsed = parseRecord(Buffer.from(text))
  t.ok(parsed.ok)
  if (!parsed.ok || parsed.value.type !== 'http_request') return
  t.same(
    [...normalizeHeaders(parsed.value.http!.request!.headers!)],
    [
      ['__proto__', ['a']],
      ['Constructor', ['b']],
    ],
  )
  t.equal(({} as { polluted?: unknown }).polluted, undefined)
})

t.test('messages', async (t) => {
  const one = JSON.stringify(base)
  const cases = [
    { name: 'one record', message: one, lines: [1] },
    { name: 'one record and a line feed', message: `${one}\n`, lines: [1] },
    { name: 'blank lines are counted and ignored', message: `\n${one}\n \t\n${one}\n\n`, lines: [2, 4] },
    { name: 'carriage returns', message: `${one}\r\n\r\n${one}\r\n`, lines: [1, 3] },
    { name: 'nothing', message: '', lines: [] },
    { name: 'nothing but blanks', message: ' \n\n', lines: [] },
  ]
  for (const { name, message, lines } of cases) {
    const parsed = parseMessage(Buffer.from(message))
    t.same(
      parsed.map(({ number }) => number),
      lines,
      name,
    )
    for (const line of parsed) t.ok(parseLine(line).ok, name)
  }
})

t.test('whatever the bytes, the answer is a value', async (t) => {
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc.json().map((text) => Buffer.from(text)),
  )
  fc.assert(
    fc.property(bytes, (message) => {
      for (const line of parseMessage(message)) t.type(parseRecord(line.bytes).ok, 'boolean')
    }),
    { seed: 4, numRuns: 300 },
  )
})

t.test('a line of a message is read like its bytes alone', async (t) => {
  const checks = new Checks()
  const record = fc
    .record({
      ...Object.fromEntries(Object.entries(base).map(([name, value]) => [name, fc.constant(value)])),
      note: fc.string(),
    })
    .map((given) => JSON.stringify(given))
  const line = fc.oneof(
    record,
    record.map((text) => text.slice(0, -1)),
    fc.json(),
    fc.string(),
    fc.string({ unit: 'binary' }),
    fc.constantFrom('', ' \t\r', 'x'.repeat(65_537), '}, {'),
  )
  const message = fc.oneof(
    fc.array(line.map((text) => Buffer.from(text))),
    fc.array(
      fc.oneof(
        line.map((text) => Buffer.from(text)),
        fc.uint8Array(),
      ),
    ),
  )
  fc.assert(
    fc.property(message, (lines) => {
      const bytes = Buffer.concat(lines.flatMap((line) => [line, Buffer.from('\n')]))
      for (const line of parseMessage(bytes)) {
        checks.equal(line.byteLength, line.bytes.length)
        checks.equal(parseLine(line), parseRecord(line.bytes))
      }
    }),
    { seed: 12, numRuns: 300 },
  )
  checks.report(t)
})

t.test('headers are normalised', async (t) => {
  const cases = [
    { name: 'capitalised', given: { 'user-agent': ['Curl/8'] }, want: { 'User-Agent': ['curl/8'] } },
    {
      name: 'joined in order',
      given: { ACCEPT: ['A'], accept: ['B', 'c'] },
      want: { Accept: ['a', 'b', 'c'] },
    },
    {
      name: 'inner capitals',
      given: { ETag: ['"X"'], 'x-b3-traceId': [] },
      want: { Etag: ['"x"'], 'X-B3-Traceid': [] },
    },
    { name: 'an empty name', given: { '': ['x'] }, want: { '': ['x'] } },
  ]
  for (const { name, given, want } of cases) t.same(Object.fromEntries(normalizeHeaders(given)), want, name)
})
