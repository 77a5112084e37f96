/** Lines as Envoy and Traefik write them: escapes, what stands for nothing, clients behind proxies, connections. */
import t from 'tap'
import { formats } from '../../../src/delivery/ingest/formats.js'
import { recordOfLine } from '../../../src/delivery/ingest/lines/format.js'

const recordIn = (name: string, line: string) => {
  const made = recordOfLine(formats.find((each) => each.name === name)!, { text: line }, {}, 'r-1')
  return made.ok ? JSON.parse(made.value) : made.problem
}

function check(
  format: string,
  cases: readonly (readonly [says: string, line: string, record: object])[],
): void {
  t.test(`${format}: what its writer wrote is read`, async (t) => {
    for (const [says, line, record] of cases) t.match(recordIn(format, line), record, says)
  })
}

const client = (client_ip: string, client_port?: number) => ({ conn: { client_ip, client_port } })
const asked = (more: object) => ({ type: 'http_request', http: { request: more } })
const refused = (msg: RegExp) => ({ msg })

/** Envoy's default text. */
const envoyText = ({
  request = 'GET /a HTTP/1.1',
  status = '200',
  xff = '203.0.113.7',
  agent = 'curl/8',
  id = 'id-1',
}) =>
  `[2026-04-15T20:17:00.310Z] "${request}" ${status} - 1 2 3 - "${xff}" "${agent}" "${id}" "www.example.com" "10.0.0.1:80"`

/** Istio's default text, of 1.20. */
const istioText = ({
  request = 'GET /a HTTP/1.1',
  status = '200',
  xff = '203.0.113.9,10.1.0.1',
  agent = 'curl/8',
  host = 'www.example.com',
  remote = '198.51.100.7:0',
  name = '-',
  reason = '-',
}) =>
  `[2026-04-15T20:17:00.310Z] "${request}" ${status} - via_upstream - "${reason}" 1 2 3 4 "${xff}" "${agent}" "id-1" "${host}" "10.0.0.1:80" inbound|80|| 127.0.0.6:41617 10.0.0.2:8443 ${remote} ${name} default`

const envoyJson = (more: object) =>
  JSON.stringify({
    start_time: '2026-04-15T20:17:00.310Z',
    method: 'GET',
    protocol: 'HTTP/1.1',
    response_code: 200,
    bytes_received: 0,
    bytes_sent: 11,
    duration: 3,
    'x-envoy-origin-path': '/a',
    ':authority': 'www.example.com',
    ...more,
  })
/** Envoy 1.40 wrote these for peers and lists, with `use_remote_address` and `xff_num_trusted_hops` as named. */
const hops = (remote: string | null, list: string | null) =>
  envoyJson({ downstream_remote_address: remote, 'x-forwarded-for': list })

check('envoy', [
  ['no proxy', hops('203.0.113.7:51234', '203.0.113.7'), client('203.0.113.7', 51234)],
  [
    'no proxy, and a client that makes up a list',
    hops('203.0.113.7:51234', '9.9.9.9,203.0.113.7'),
    client('203.0.113.7', 51234),
  ],
  ['one trusted hop', hops('198.51.100.7:0', '203.0.113.9, 198.51.100.7,10.1.0.1'), client('198.51.100.7')],
  [
    'two trusted hops, IPv6',
    hops('[2001:db8::9]:0', '2001:db8::9,198.51.100.7,10.1.0.1'),
    client('2001:db8::9'),
  ],
  ['a sidecar behind a gateway', hops('198.51.100.7:0', '203.0.113.9, 198.51.100.7'), client('198.51.100.7')],
  ['a list of what is no address', hops('10.1.0.1:48802', '203.0.113.9, garbage'), client('10.1.0.1', 48802)],
  ['no remote address is logged', hops(null, '203.0.113.9, 198.51.100.7'), client('198.51.100.7')],
  [
    "Istio's JSON",
    envoyJson({ downstream_remote_address: '198.51.100.7:0', x_forwarded_for: '1.1.1.1,10.1.0.1' }),
    client('198.51.100.7'),
  ],
  ["Istio's text", istioText({}), { ...client('198.51.100.7'), record_id: 'id-1' }],
  ["Istio's text, with a reason", istioText({ reason: 'TLS error: 1 2 3 unknown' }), client('198.51.100.7')],
  [
    'quotes of a client',
    istioText({ agent: 'a"b" "c' }),
    asked({ user_agent: 'a"b" "c', url: { raw: '/a' } }),
  ],
  [
    'a quote in the path',
    istioText({ request: 'GET /q"x?a="b" HTTP/1.1' }),
    asked({ url: { raw: '/q"x?a="b"' } }),
  ],
  [
    "a quote, Envoy's text",
    envoyText({ agent: 'a"b\\"' }),
    { ...client('203.0.113.7'), ...asked({ user_agent: 'a"b\\"' }) },
  ],
  [
    'quotes that make no client',
    envoyText({ agent: 'a" "9.9.9.9' }),
    { ...client('203.0.113.7'), ...asked({ user_agent: 'a" "9.9.9.9' }) },
  ],
  ['quotes that make another client', envoyText({ agent: 'x, 9.9.9.9" "curl' }), refused(/several ways/)],
  ['quotes that make a client', envoyText({ xff: '-', agent: 'x, 9.9.9.9" "curl' }), refused(/several ways/)],
  ['many quotes', envoyText({ agent: '" "'.repeat(50) }), refused(/several ways/)],
  ['the same address twice', envoyText({ agent: 'x, 203.0.113.7" "curl' }), client('203.0.113.7')],
  ['a quote in an id', envoyText({ id: 'a"b' }), refused(/not a line of Envoy's/)],
  [
    'no list',
    envoyText({ xff: '-' }),
    refused(/no address of a client: Envoy's default text names none without x-forwarded-for/),
  ],
  [
    'a request that Envoy could not read',
    envoyJson({ method: null, response_code: 400, downstream_remote_address: '203.0.113.7:1' }),
    { ...asked({ method: undefined }), http: { response: { status_code: 400 } } },
  ],
  [
    "the same, Istio's text",
    istioText({ request: '- - HTTP/1.1', status: '400', host: '-' }),
    { ...asked({ method: undefined }), http: { response: { status_code: 400 } } },
  ],
  [
    "a connection, Istio's text",
    istioText({
      request: '- - -',
      status: '0',
      xff: '-',
      host: '-',
      remote: '203.0.113.7:51234',
      name: 'ssh.example.com',
    }),
    {
      type: 'tcp_connection',
      conn: {
        client_ip: '203.0.113.7',
        client_port: 51234,
        server_ip: '10.0.0.2',
        server_port: 8443,
        server_name: 'ssh.example.com',
        bytes_in: 1,
        bytes_out: 2,
        start_ts: '2026-04-15T20:17:00.310Z',
        end_ts: '2026-04-15T20:17:00.313Z',
      },
    },
  ],
  [
    "a connection, Envoy's text",
    '[2026-04-15T20:17:00.310Z] "- - -" 0 - 46 141 0 - "-" "-" "-" "-" "127.0.0.1:1"',
    refused(/names none of a connection\. Log %DOWNSTREAM/),
  ],
  [
    'a connection, JSON',
    envoyJson({
      method: null,
      protocol: null,
      response_code: 0,
      downstream_remote_address: '203.0.113.7:1',
      duration: 1500,
    }),
    { type: 'tcp_connection', conn: { end_ts: '2026-04-15T20:17:01.810Z', bytes_in: 0, bytes_out: 11 } },
  ],
  [
    'bytes that are not UTF-8',
    String.raw`{"method":"GET","downstream_remote_address":"203.0.113.7:1","user-agent":"\u00e9\u00c3\u00a4\u0009x\u005cn"}`,
    asked({ user_agent: 'éÃ¤\tx\\n' }),
  ],
  [
    'seconds since 1970',
    envoyJson({ start_time: '1764064800.250', downstream_remote_address: '203.0.113.7:1' }),
    { conn: { start_ts: '2025-11-25T10:00:00.250Z' } },
  ],
  [
    "Contour's JSON",
    '{"@timestamp":"2026-04-15T20:17:00.310Z","authority":"www.example.com","downstream_remote_address":"203.0.113.7:1","method":"GET","path":"/a","protocol":"HTTP/2","response_code":200}',
    {
      conn: { server_name: 'www.example.com', start_ts: '2026-04-15T20:17:00.310Z' },
      ...asked({ url: { raw: '/a' } }),
    },
  ],
])

const traefikJson = (more: object) =>
  JSON.stringify({
    ClientAddr: '10.0.0.1:50000',
    ClientHost: '10.0.0.1',
    ClientPort: '50000',
    RequestMethod: 'GET',
    RequestPath: '/a',
    StartUTC: '2026-04-15T20:17:00.31Z',
    Duration: 250_000_000,
    time: '2026-04-15T20:17:01Z',
    ...more,
  })
const traefikText = ({
  who = '203.0.113.7 - -',
  request = 'GET /a HTTP/1.1',
  referer = '"-"',
  agent = '"curl/8"',
  tail = ' 1 "web@file" "http://10.0.0.1" 0ms',
}) => `${who} [25/Nov/2026:10:00:00 +0000] "${request}" 200 19 ${referer} ${agent}${tail}`

check('traefik', [
  ['no proxy', traefikJson({}), client('10.0.0.1', 50000)],
  ['a list', traefikJson({ ClientHost: '203.0.113.9, 198.51.100.7' }), client('198.51.100.7')],
  [
    'a list without spaces, IPv6',
    traefikJson({ ClientHost: '203.0.113.9,2001:db8::7' }),
    client('2001:db8::7'),
  ],
  ['one entry, which is not the peer', traefikJson({ ClientHost: '203.0.113.9' }), client('203.0.113.9')],
  [
    'a list that ends with the peer',
    traefikJson({ ClientHost: '203.0.113.9, 10.0.0.1' }),
    client('10.0.0.1', 50000),
  ],
  [
    'an entry with a port',
    traefikJson({ ClientHost: '203.0.113.9, 198.51.100.7:4711' }),
    client('198.51.100.7', 4711),
  ],
  [
    'a list, and no peer is logged',
    traefikJson({ ClientAddr: undefined, ClientHost: '203.0.113.9, 198.51.100.7' }),
    client('198.51.100.7'),
  ],
  [
    'an entry that is no address',
    traefikJson({ ClientHost: '203.0.113.9, unknown' }),
    client('10.0.0.1', 50000),
  ],
  [
    'the time of the line',
    traefikJson({ StartUTC: undefined }),
    { conn: { start_ts: '2026-04-15T20:17:00.750Z' } },
  ],
  [
    'a name',
    traefikJson({ TLSClientSubject: 'CN=Doe\\, John,O=x' }),
    { tls: { client_cert: { subject: { cn: 'Doe, John' } } } },
  ],
  [
    'text',
    traefikText({}),
    { ...client('203.0.113.7'), ...asked({ method: 'GET', url: { raw: '/a' }, user_agent: 'curl/8' }) },
  ],
  ['text without its end', traefikText({ tail: '' }), client('203.0.113.7')],
  [
    'text, a list',
    traefikText({ who: '203.0.113.9, 198.51.100.7 - bob' }),
    { ...client('198.51.100.7'), basic_auth: { username: 'bob' } },
  ],
  [
    'text, a user with anything',
    traefikText({ who: '203.0.113.7 - a [b] "c" - d' }),
    { basic_auth: { username: 'a [b] "c" - d' } },
  ],
  [
    'text, quotes and backslashes',
    traefikText({ referer: '"x\\"', agent: String.raw`"a\"b\\n\\" \"c\""` }),
    asked({ user_agent: String.raw`a"b\\n\" "c"` }),
  ],
  [
    'text, a query with quotes and spaces',
    traefikText({ request: 'GET /a?b="c d" HTTP/2.0' }),
    asked({ url: { raw: '/a?b="c d"' } }),
  ],
  [
    'text, a query that looks like a status',
    traefikText({ request: 'GET /a?" 200 1 "-" "x" HTTP/2.0' }),
    asked({ url: { raw: '/a?" 200 1 "-" "x"' }, user_agent: 'curl/8' }),
  ],
  [
    'text, a line in a query',
    traefikText({ request: `GET /?x ${traefikText({ who: '9.9.9.9 - -' })} HTTP/2.0` }),
    refused(/two beginnings/),
  ],
  [
    'text, thousands of beginnings in a query',
    traefikText({ request: `GET /?${' [10/Oct/2026:x] "A B'.repeat(12_000)} HTTP/2.0` }),
    refused(/two beginnings/),
  ],
  [
    'text, a list that is no address',
    traefikText({ who: '203.0.113.9, unknown - -' }),
    refused(/The client is "203.0.113.9, unknown"/),
  ],
  [
    'another line',
    'time="2026" level=info msg="Traefik"',
    { msg: /a time in brackets behind client and user is not at column 1/, column: 1 },
  ],
])

t.test('a line takes time in proportion to its length', async (t) => {
  const size = 200_000
  const lines = [
    ['envoy', envoyText({ agent: '1 2 3 4 "'.repeat(size / 9), id: 'a"b' })],
    ['envoy', envoyText({ agent: '" "x, 1.1.1.1'.repeat(size / 13) })],
    ['envoy', `[x] "GET / H" 200 - ${'1 '.repeat(size / 2)}`],
    ['traefik', `${' - '.repeat(size / 3)}[`],
    ['traefik', traefikText({ request: `GET /?${'x" 200 1 "'.repeat(size / 10)} HTTP/1.1`, agent: '"' })],
    ['traefik', traefikText({ agent: `"${'\\" 1 "'.repeat(size / 6)}` })],
    ['traefik', traefikText({ who: '['.repeat(size), agent: '' })],
  ] as const
  // Otherwise, each would take minutes, and the test would not end in time.
  for (const [format, line] of lines)
    t.type(recordIn(format, line), 'object', `${format}: ${line.slice(0, 60)}`)
})
