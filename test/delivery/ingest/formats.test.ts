/** Lines as proxies write them, and the records that they become. */
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import t from 'tap'
import { formats } from '../../../src/delivery/ingest/formats.js'
import { type Given, recordOfLine } from '../../../src/delivery/ingest/lines/format.js'
import { complaintAboutRecord } from '../../../src/delivery/record/check.js'

const read = (name: string, line: string, given: Given = {}) => {
  const made = recordOfLine(formats.find((each) => each.name === name)!, { text: line }, given, 'r-1')
  return made.ok ? { ok: true, value: JSON.parse(made.value) } : made
}

const request = (request: object, response: object = {}) => ({ http: { request, response } })

interface Case {
  readonly format: string
  readonly says: string
  readonly line: string
  readonly given?: Given
  readonly record: object
}

const cases: readonly Case[] = [
  {
    format: 'combined',
    says: 'a request with a referrer, a user agent and a user',
    line: String.raw`203.0.113.7 - alice [10/Oct/2026:13:55:36 -0700] "GET /a%20b/../c?q=1 HTTP/1.1" 200 2326 "https://example.com/" "curl \"8\" \x41"`,
    given: { serverName: 'www.example.com' },
    record: {
      record_id: 'r-1',
      type: 'http_request',
      conn: {
        client_ip: '203.0.113.7',
        server_name: 'www.example.com',
        server_port: 443,
        start_ts: '2026-10-10T13:55:36.000-07:00',
      },
      ...request(
        {
          method: 'GET',
          user_agent: 'curl "8" A',
          url: { path: '/c', query: 'q=1', raw: '/a%20b/../c?q=1' },
        },
        { status_code: 200, body_length: 2326 },
      ),
      basic_auth: { username: 'alice' },
    },
  },
  {
    format: 'combined',
    says: 'host and port first, IPv6, a body of no bytes, bytes that are no request',
    line: String.raw`shop.example.com:8443 2001:DB8::7 - - [10/Oct/2026:13:55:36 +0000] "\x16\x03\x01" 400 - "-" "-"`,
    record: {
      conn: { client_ip: '2001:db8::7', server_name: 'shop.example.com', server_port: 8443 },
      http: {
        request: { method: undefined, url: {} },
        response: { status_code: 400, body_length: 0 },
      },
    },
  },
  {
    format: 'nginx',
    says: 'the variables of an http server',
    line: '{"msec":"1764064800.250","request_time":"0.250","remote_addr":"203.0.113.7","remote_port":"52144","server_addr":"198.51.100.2","server_port":"443","scheme":"https","http_host":"www.example.com","request_method":"POST","request_uri":"/x?y=1","status":"201","body_bytes_sent":"12","content_length":"5","http_user_agent":"curl/8","request_id":"abc","ssl_protocol":"TLSv1.3","ssl_cipher":"TLS_AES_256_GCM_SHA384","ssl_client_s_dn":"CN=device-1,O=Example"}',
    record: {
      record_id: 'abc',
      conn: {
        client_ip: '203.0.113.7',
        client_port: 52144,
        server_ip: '198.51.100.2',
        server_name: 'www.example.com',
        server_port: 443,
        start_ts: '2025-11-25T10:00:00.000Z',
      },
      ...request(
        {
          method: 'POST',
          body_length: 5,
          url: { scheme: 'https', host: 'www.example.com', path: '/x', query: 'y=1' },
        },
        { status_code: 201, body_length: 12 },
      ),
      tls: {
        version: 'TLSv1.3',
        cipher_suite: 'TLS_AES_256_GCM_SHA384',
        client_cert: { subject: { cn: 'device-1' } },
      },
    },
  },
  {
    format: 'nginx',
    says: 'the variables of a stream server',
    line: '{"msec":"1764064803.000","session_time":"3.000","protocol":"TCP","remote_addr":"203.0.113.7","remote_port":"52144","server_addr":"198.51.100.2","server_port":"22","ssl_preread_server_name":"","bytes_received":"3437","bytes_sent":"90256","status":"200"}',
    given: { serverName: 'ssh.example.com' },
    record: {
      type: 'tcp_connection',
      conn: {
        client_ip: '203.0.113.7',
        server_name: 'ssh.example.com',
        server_port: 22,
        start_ts: '2025-11-25T10:00:00.000Z',
        end_ts: '2025-11-25T10:00:03.000Z',
        bytes_in: 3437,
        bytes_out: 90256,
      },
    },
  },
  {
    format: 'haproxy',
    says: 'option httplog, through syslog, with the host captured',
    line: '<134>Nov 25 10:00:00 lb haproxy[14389]: 203.0.113.7:33317 [06/Feb/2026:12:14:14.655] http-in static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 {1wt.eu} {} "GET /index.html?a HTTP/1.1"',
    given: { serverName: 'www.example.com' },
    record: {
      conn: { client_ip: '203.0.113.7', client_port: 33317, server_name: '1wt.eu', server_port: 80 },
      ...request(
        { method: 'GET', url: { path: '/index.html', query: 'a' } },
        { status_code: 200, body_length: 2750 },
      ),
    },
  },
  {
    format: 'haproxy',
    says: 'option httpslog: TLS, and the name in it',
    line: '203.0.113.7:33317 [06/Feb/2026:12:14:14.655] https~ app/srv1 0/0/1/2/3 200 77 - - ---- 1/1/0/0/0 0/0 "GET https://www.example.com/a HTTP/2.0" 0/0000000000000000/0/0/0 www.example.com/TLSv1.3/TLS_AES_256_GCM_SHA384',
    record: {
      conn: { server_name: 'www.example.com', server_port: 443 },
      ...request({ method: 'GET', url: { scheme: 'https', path: '/a' } }, { status_code: 200 }),
      tls: { version: 'TLSv1.3', cipher_suite: 'TLS_AES_256_GCM_SHA384' },
    },
  },
  {
    format: 'haproxy',
    says: 'option tcplog',
    line: 'haproxy[14385]: 203.0.113.7:33313 [06/Feb/2026:12:12:51.443] fnt bck/srv1 0/0/5007 212 -- 0/0/0/0/3 0/0',
    given: { serverName: 'ssh.example.com', serverPort: 22 },
    record: {
      type: 'tcp_connection',
      conn: { client_ip: '203.0.113.7', client_port: 33313, server_port: 22, bytes_out: 212 },
    },
  },
  {
    format: 'envoy',
    says: 'the default text',
    line: '[2026-04-15T20:17:00.310Z] "POST /api/v1/locations HTTP/2" 204 - 154 0 226 100 "10.0.35.28, 203.0.113.7" "nsq2http" "cc21d9b0-cf5c-432b-8c7e-98aeb7988cd2" "locations" "tcp://10.0.2.1:80"',
    given: { serverPort: 443 },
    record: {
      record_id: 'cc21d9b0-cf5c-432b-8c7e-98aeb7988cd2',
      conn: { client_ip: '203.0.113.7', server_name: 'locations', start_ts: '2026-04-15T20:17:00.310Z' },
      ...request(
        { method: 'POST', body_length: 154, user_agent: 'nsq2http' },
        { status_code: 204, body_length: 0 },
      ),
    },
  },
  {
    format: 'envoy',
    says: "Envoy Gateway's JSON",
    line: '{"start_time":"2026-04-15T20:17:00.310Z","method":"GET","x-envoy-origin-path":"/a?b","protocol":"HTTP/1.1","response_code":200,"response_flags":"-","bytes_received":0,"bytes_sent":11,"duration":3,"x-forwarded-for":null,"user-agent":"curl/8","x-request-id":"id-1",":authority":"www.example.com:8443","downstream_local_address":"10.0.0.1:8443","downstream_remote_address":"203.0.113.7:51234","requested_server_name":null}',
    record: {
      record_id: 'id-1',
      conn: {
        client_ip: '203.0.113.7',
        client_port: 51234,
        server_name: 'www.example.com',
        server_port: 8443,
      },
      ...request({ method: 'GET', url: { path: '/a', query: 'b' } }, { status_code: 200 }),
    },
  },
  {
    format: 'envoy',
    says: 'JSON of a TCP listener',
    line: '{"start_time":"2026-04-15T20:17:00.310Z","method":null,"response_code":0,"bytes_received":10,"bytes_sent":20,"duration":1500,"downstream_remote_address":"[2001:db8::7]:51234","downstream_local_address":"10.0.0.1:22","requested_server_name":"ssh.example.com"}',
    record: {
      type: 'tcp_connection',
      conn: {
        client_ip: '2001:db8::7',
        client_port: 51234,
        server_name: 'ssh.example.com',
        server_port: 22,
        end_ts: '2026-04-15T20:17:01.810Z',
        bytes_in: 10,
        bytes_out: 20,
      },
    },
  },
  {
    format: 'caddy',
    says: 'a request over TLS',
    line: '{"level":"info","ts":1764064800.5,"logger":"http.log.access","msg":"handled request","request":{"remote_ip":"203.0.113.7","remote_port":"41342","client_ip":"203.0.113.7","proto":"HTTP/2.0","method":"GET","host":"www.example.com","uri":"/a?b=c","headers":{"User-Agent":["curl/7.82.0"]},"tls":{"resumed":false,"version":772,"cipher_suite":4865,"proto":"h2","server_name":"www.example.com"}},"bytes_read":0,"user_id":"bob","duration":0.5,"size":10900,"status":200,"resp_headers":{"Server":["Caddy"]}}',
    record: {
      conn: {
        client_ip: '203.0.113.7',
        client_port: 41342,
        server_name: 'www.example.com',
        server_port: 443,
        start_ts: '2025-11-25T10:00:00.000Z',
      },
      ...request({ method: 'GET', user_agent: 'curl/7.82.0' }, { status_code: 200, body_length: 10900 }),
      tls: { version: 'TLSv1.3' },
      basic_auth: { username: 'bob' },
    },
  },
  {
    format: 'traefik',
    says: 'JSON',
    line: '{"ClientAddr":"203.0.113.7:50000","ClientHost":"203.0.113.7","ClientPort":"50000","ClientUsername":"-","DownstreamContentSize":21,"DownstreamStatus":200,"Duration":1200000,"RequestAddr":"www.example.com","RequestContentSize":0,"RequestHost":"www.example.com","RequestMethod":"GET","RequestPath":"/x","RequestPort":"-","RequestProtocol":"HTTP/1.1","RequestScheme":"https","StartUTC":"2026-04-15T20:17:00.31Z","TLSVersion":"1.3","TLSCipher":"TLS_AES_128_GCM_SHA256","request_User-Agent":"curl/8"}',
    record: {
      conn: {
        client_ip: '203.0.113.7',
        client_port: 50000,
        server_name: 'www.example.com',
        server_port: 443,
      },
      ...request({ method: 'GET', user_agent: 'curl/8', url: { scheme: 'https', path: '/x' } }),
      tls: { version: 'TLSv1.3', cipher_suite: 'TLS_AES_128_GCM_SHA256' },
    },
  },
  {
    format: 'traefik',
    says: 'the default text',
    line: '203.0.113.7 - - [25/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 404 19 "-" "-" 1 "web@file" "http://10.0.0.1" 0ms',
    given: { serverName: 'www.example.com' },
    record: request({ method: 'GET', url: { path: '/' } }, { status_code: 404 }),
  },
  {
    format: 'ndjson',
    says: 'a record without an id and a name, which are given',
    line: '{"type":"tcp_connection","conn":{"client_ip":"203.0.113.7","server_name":null}}',
    given: { serverName: 'ssh.example.com', serverPort: 22, edgeId: 'edgtcp_1' },
    record: {
      record_id: 'r-1',
      edge_id: 'edgtcp_1',
      type: 'tcp_connection',
      conn: { client_ip: '203.0.113.7', server_name: 'ssh.example.com', server_port: 22 },
    },
  },
]

t.test('lines become records', async (t) => {
  for (const { format, says, line, given, record } of cases) {
    const made = read(format, line, given)
    t.match(made, { ok: true, value: record }, `${format}: ${says}`)
  }
  t.strictSame(new Set(cases.map(({ format }) => format)), new Set(formats.map(({ name }) => name)))
})

t.test('clients can neither hide a request nor pretend to be another one', async (t) => {
  const said = (line: string, format: string) =>
    read(format, line) as { value?: { conn: object; record_id: string } }
  const line = `203.0.113.7 - a [b [10/Oct/2026:13:55:36 +0000] "GET / HTTP/1.1" 200 1 "-" "-"`
  t.match(said(line, 'combined').value, { conn: { client_ip: '203.0.113.7' } }, 'a user with a bracket')
  const forged =
    '[2026-04-15T20:17:00.310Z] "GET / HTTP/2" 200 - 0 0 2 1 "1.2.3.4" "ua" "id" "other.example" "x,203.0.113.7" "curl" "id2" "www.example.com" "10.0.0.1:80"'
  t.match(read('envoy', forged), { ok: false }, 'quotes in a header of Envoy')
  const long = { remote_addr: '203.0.113.7', request_id: 'x'.repeat(200) }
  t.equal(said(JSON.stringify(long), 'nginx').value?.record_id, 'r-1', 'an id that no record may have')
  const noName = `203.0.113.7:1 [06/Feb/2026:12:14:14.655] https~ a/s 0/0/1/2/3 200 7 - - ---- 1/1/0/0/0 0/0 {www.example.com} "GET / HTTP/1.1" 0/0000000000000000/0/0/0 -/TLSv1.3/TLS_AES_256_GCM_SHA384`
  t.match(said(noName, 'haproxy').value, { conn: { server_name: 'www.example.com' } }, 'TLS without a name')
  const large = `203.0.113.7 - - [10/Oct/2026:13:55:36 +0000] "GET /${'\u0001'.repeat(60_000)} HTTP/1.1" 200 1 "-" "-"`
  t.match(read('combined', large), { ok: false, problem: { msg: /at most 65536 are allowed/ } })
})

t.test('a line takes time in proportion to its length', async (t) => {
  const size = 200_000
  const lines = [
    ['combined', `203.0.113.7 - ${' ['.repeat(size / 2)}]x`],
    ['combined', `203.0.113.7 - - [x] "${'\\'.repeat(size)}`],
    ['combined', `203.0.113.7 - - [x] "GET / HTTP/1.1" 200 1 "${'a" "'.repeat(size / 4)}`],
    ['haproxy', `1.2.3.4:1 [x] f b 0/0/0/0/0 200 1 - - ---- 1/1/1/1/1 0/0 {${'a'.repeat(size)}`],
    ['haproxy', `${'haproxy: '.repeat(size / 9)}`],
    ['haproxy', `1.2.3.4:1 [x] f b/s 0/0/0/0/0 200 1 S=${' - ---- 1/1/1/1/1 0/0 {'.repeat(size / 25)}`],
    ['haproxy', `1.2.3.4:1 [x] f b/s 0/0/0/0/0 200 1 S=${' ---- 1/1/1/1/1 0/0 "'.repeat(size / 25)}`],
    ['combined', `203.0.113.7 - - [x] "GET /${' '.repeat(size)}" 200 1`],
    ['combined', `${'a, '.repeat(size / 3)}`],
    ['traefik', `203.0.113.7 - - ${'[10/Oct/2026:13:55:36 +0000] "a '.repeat(size / 32)}`],
    ['nginx', JSON.stringify({ ssl_client_s_dn: '\\'.repeat(60_000) })],
    ['nginx', JSON.stringify({ ssl_client_s_dn: `CN${' '.repeat(60_000)}` })],
    ['nginx', JSON.stringify({ ssl_client_s_dn: '/a'.repeat(30_000) })],
    ['haproxy', `1.2.3.4:1 [x] f b 0/0/0 1 -- ${'1/'.repeat(size / 2)}`],
    ['envoy', `[x] "GET / H" 200 ${'- '.repeat(size / 2)}`],
    ['envoy', `[x] "GET / H" 200 - ${'1 '.repeat(size / 2)}`],
  ] as const
  // Otherwise, each would take minutes, and the test would not end in time.
  for (const [format, line] of lines)
    t.type(read(format, line).ok, 'boolean', `${format}: ${line.slice(0, 60)}`)
})

t.test('the documents name every format', async (t) => {
  const page = readFileSync('docs/ingress.md', 'utf8')
  const [, table = ''] = page.split('| `--format` | Reads |')
  const [, ...rows] = (table.split('\n\n')[0] ?? '').trim().split('\n')
  t.strictSame(
    rows.map((row) => /`(\w+)`/.exec(row)?.[1]),
    formats.map(({ name }) => name),
  )
})

t.test('a path of any bytes is read, as servers read it', async (t) => {
  const line = '203.0.113.7 - - [10/Oct/2026:13:55:36 -0700] "GET /%ff/../admin HTTP/1.1" 200 0'
  t.match(read('combined', line), { ok: true, value: request({ url: { path: '/admin' } }) })
})

t.test('a line that is no record says why', async (t) => {
  const refused = [
    ['combined', 'hello', /not a line of the Common or Combined/],
    [
      'combined',
      'host - - [10/Oct/2026:13:55:36 +0000] "GET / HTTP/1.1" 200 1',
      /client is "host", which is not an address/,
    ],
    ['combined', '192.0.2.1 - - [40/Oct/2026:13:55:36 +0000] "GET / HTTP/1.1" 200 1', /conn.start_ts/],
    ['nginx', '{"remote_addr":', /not JSON/],
    ['nginx', '{"status":"200"}', /no address of a client/],
    ['nginx', '{"remote_addr":"192.0.2.1","status":"many"}', /"http.response.status_code" is "many"/],
    ['caddy', '{"level":"info","msg":"serving"}', /no request/],
    ['envoy', '[x]', /Envoy's default format/],
    ['haproxy', 'x haproxy[1]: Proxy http-in started.', /not a line of option httplog/],
    ['ndjson', '[]', /not a JSON object/],
    ['ndjson', '{"type":"udp","conn":{"client_ip":"192.0.2.1"}}', /"type" is "udp"/],
  ] as const
  for (const [format, line, reason] of refused) {
    const made = read(format, line)
    t.match(made, { ok: false, problem: { msg: reason } }, `${format}: ${line}`)
  }
})

t.test('whatever a line is, it becomes a valid record or is refused with a sentence', async (t) => {
  const lines = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 300 }),
    fc.json(),
    fc
      .constantFrom(...cases.map(({ line }) => line))
      .chain((line) =>
        fc
          .tuple(fc.nat(line.length), fc.nat(20), fc.string({ maxLength: 10 }))
          .map(([at, cut, text]) => line.slice(0, at) + text + line.slice(at + cut)),
      ),
  )
  fc.assert(
    fc.property(fc.constantFrom(...formats), lines, (format, line) => {
      const made = recordOfLine(format, { text: line }, {}, 'r-1')
      return made.ok
        ? complaintAboutRecord(JSON.parse(made.value)) === undefined
        : /^[A-Z"].*\.$/su.test(made.problem.msg)
    }),
    { numRuns: 3_000 },
  )
  t.pass()
})
