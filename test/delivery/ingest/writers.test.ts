/** Lines as their writers write them: escapes, what stands for nothing, clients behind proxies, times. */
import t from 'tap'
import { formats } from '../../../src/delivery/ingest/formats.js'
import { type Given, recordOfLine } from '../../../src/delivery/ingest/lines/format.js'

const read = (name: string, line: string, given: Given = {}) =>
  recordOfLine(formats.find((each) => each.name === name)!, { text: line }, given, 'r-1')

const recordIn = (name: string, line: string) => {
  const made = read(name, line)
  return made.ok ? JSON.parse(made.value) : made.problem
}

const asked = (more: object) => ({ http: { request: more } })
const url = (more: object) => asked({ url: more })
const conn = (more: object) => ({ conn: more })
const user = (username: string | undefined) => ({ basic_auth: { username } })

type Case = readonly [says: string, line: string, record: object]

/** Checks `record` against what the line becomes. */
function check(format: string, cases: readonly Case[]): void {
  t.test(`${format}: what its writer wrote is read`, async (t) => {
    for (const [says, line, record] of cases) t.match(recordIn(format, line), record, says)
  })
}

/** A line of the Combined Log Format with these parts. */
const combined = ({
  who = '192.0.2.1 - -',
  time = '10/Oct/2026:13:55:36 +0000',
  line = 'GET / HTTP/1.1',
  agent = '-',
  bytes = '5',
}) => `${who} [${time}] "${line}" 200 ${bytes} "-" "${agent}"`

check('combined', [
  [
    'bytes of UTF-8, of nginx',
    combined({ agent: String.raw`caf\xC3\xA9 \xE2\x82\xAC` }),
    asked({ user_agent: 'café €' }),
  ],
  ['bytes of UTF-8, of Apache', combined({ agent: String.raw`caf\xc3\xa9` }), asked({ user_agent: 'café' })],
  [
    'bytes that are not UTF-8',
    combined({ agent: String.raw`a\xC3 \xA9` }),
    asked({ user_agent: 'a\ufffd \ufffd' }),
  ],
  [
    'letters of Apache',
    combined({ agent: String.raw`\t\n\r\b\v\x0c\x1b` }),
    asked({ user_agent: '\t\n\r\b\v\f\x1b' }),
  ],
  [
    'quotes and backslashes',
    combined({ agent: String.raw`\"a\\b\x22\x5C\\n` }),
    asked({ user_agent: '"a\\b"\\\\n' }),
  ],
  [
    'a target in bytes',
    combined({ line: String.raw`GET /caf\xc3\xa9?q=\"x\" HTTP/1.1` }),
    url({ path: '/café', query: 'q="x"', raw: '/café?q="x"' }),
  ],
  ['a target with spaces', combined({ line: 'GET /a b  c HTTP/1.1' }), url({ raw: '/a b  c' })],
  [
    'a method that is any token',
    combined({ line: 'pro-p_1! /a HTTP/1.1' }),
    asked({ method: 'pro-p_1!', url: { raw: '/a' } }),
  ],
  ['a request without a version', combined({ line: 'GET /a' }), url({ raw: '/a' })],
  ['nothing but a word', combined({ line: 'hello' }), asked({ method: undefined, url: { raw: undefined } })],
  [
    'bytes of TLS',
    combined({ line: String.raw`\x16\x03\x01\x02 \x01 a` }),
    asked({ method: undefined, url: { raw: undefined } }),
  ],
  [
    'a user in bytes',
    combined({ who: String.raw`192.0.2.1 - J\xc3\xbcrgen \"x\" [y]` }),
    user('Jürgen "x" [y]'),
  ],
  [
    'a user that looks like what follows',
    combined({ who: String.raw`192.0.2.1 - a [10/Oct/2026:13:55:36 +0000] \x22GET /b` }),
    { ...user('a [10/Oct/2026:13:55:36 +0000] "GET /b'), ...url({ raw: '/' }) },
  ],
  ["Apache's empty user", combined({ who: '192.0.2.1 - ""' }), user(undefined)],
  [
    'no user at all',
    combined({ who: '192.0.2.1 - ' }),
    { ...user(undefined), ...conn({ client_ip: '192.0.2.1' }) },
  ],
  ['a user of two quotes', combined({ who: String.raw`192.0.2.1 - \"\"` }), user('""')],
  [
    'a host without a port',
    combined({ who: 'www.example.com 192.0.2.1 - -' }),
    conn({ client_ip: '192.0.2.1', server_name: 'www.example.com', server_port: 443 }),
  ],
  [
    'a host with a port',
    combined({ who: 'www.example.com:8080 2001:db8::1 - bob x' }),
    {
      ...conn({ client_ip: '2001:db8::1', server_name: 'www.example.com', server_port: 8080 }),
      ...user('bob x'),
    },
  ],
  [
    'a host that is an address',
    combined({ who: '198.51.100.7 192.0.2.1 - -' }),
    conn({ client_ip: '192.0.2.1', server_name: '198.51.100.7' }),
  ],
  [
    'a server for any name',
    combined({ who: '_ 192.0.2.1 - -' }),
    conn({ client_ip: '192.0.2.1', server_name: undefined }),
  ],
  [
    'a list of addresses',
    combined({ who: '6.6.6.6, 203.0.113.9, 192.0.2.1 - a, b' }),
    { ...conn({ client_ip: '192.0.2.1', server_name: undefined }), ...user('a, b') },
  ],
  [
    'a host before a list',
    combined({ who: 'www.example.com 6.6.6.6, 192.0.2.1 - -' }),
    conn({ client_ip: '192.0.2.1', server_name: 'www.example.com' }),
  ],
  ['a zone', combined({ who: 'fe80::1%eth0 - -' }), conn({ client_ip: 'fe80::1' })],
  ['no bytes', combined({ bytes: '-' }), { http: { response: { body_length: 0 } } }],
  [
    'a user of a URL',
    combined({ line: 'GET http://u:p@a@shop.example:8080/x HTTP/1.1' }),
    {
      ...conn({ server_name: 'shop.example', server_port: 8080 }),
      ...url({ host: 'shop.example', path: '/x' }),
    },
  ],
  [
    'a tunnel',
    combined({ line: 'CONNECT shop.example:8443 HTTP/1.1' }),
    conn({ server_name: 'shop.example', server_port: 8443 }),
  ],
  [
    'more behind the user agent',
    `${combined({ agent: 'x' })} "203.0.113.9" 0.001`,
    asked({ user_agent: 'x' }),
  ],
])

const json = (members: object): string =>
  JSON.stringify({ remote_addr: '192.0.2.1', msec: '1764064800.250', ...members })

check('nginx', [
  [
    'time_local is the end',
    json({ msec: undefined, time_local: '25/Nov/2025:11:00:02 +0100', request_time: '1.500' }),
    conn({ start_ts: '2025-11-25T10:00:00.500Z' }),
  ],
  [
    'time_iso8601 is the end',
    json({ msec: '', time_iso8601: '2025-11-25T11:00:02+01:00', request_time: 1.5 }),
    conn({ start_ts: '2025-11-25T10:00:00.500Z' }),
  ],
  [
    'the line of a request lost nothing',
    json({
      request: 'GET http://u@Shop.example:81/a%2520?b HTTP/1.1',
      request_uri: '/a%2520?b',
      uri: '/a%20',
      http_host: 'other.example',
      host: 'shop.example',
    }),
    {
      ...url({ raw: 'http://u@Shop.example:81/a%2520?b', path: '/a%20', query: 'b' }),
      ...conn({ server_name: 'Shop.example', server_port: 81 }),
    },
  ],
  [
    'request_uri before uri',
    json({ uri: '/x', request_uri: '/a/../x?y' }),
    url({ raw: '/a/../x?y', path: '/x', query: 'y' }),
  ],
  [
    'uri is decoded already',
    json({ uri: '/a%20b?c#d', args: 'e=%20' }),
    url({ path: '/a%20b?c#d', query: 'e=%20', raw: undefined }),
  ],
  [
    'document_uri and query_string',
    json({ document_uri: '/a b', query_string: '' }),
    url({ path: '/a b', query: null }),
  ],
  [
    'host, if the header is another',
    json({ host: 'a.example', http_host: 'b.example:81' }),
    conn({ server_name: 'a.example' }),
  ],
  [
    'the header, if it is the same',
    json({ host: 'a.example', http_host: 'A.example.:8081' }),
    conn({ server_name: 'A.example.', server_port: 8081 }),
  ],
  ['a name that is none', json({ host: '_', server_name: '~^www' }), conn({ server_name: undefined })],
  [
    'the name of TLS before a wildcard',
    json({ server_name: '*.example', ssl_server_name: 'a.example' }),
    conn({ server_name: 'a.example' }),
  ],
  [
    'behind one trusted proxy',
    json({
      remote_port: '',
      realip_remote_addr: '10.0.0.1',
      realip_remote_port: '999',
      proxy_protocol_addr: '10.0.0.9',
    }),
    conn({ client_ip: '192.0.2.1', client_port: undefined }),
  ],
  [
    'the PROXY protocol without realip',
    json({
      remote_addr: '10.0.0.1',
      remote_port: '7',
      realip_remote_addr: '10.0.0.1',
      proxy_protocol_addr: '2001:db8::9',
      proxy_protocol_port: '99',
    }),
    conn({ client_ip: '2001:db8::9', client_port: 99 }),
  ],
  [
    'no proxy',
    json({ remote_port: '7', realip_remote_addr: '192.0.2.1', proxy_protocol_addr: '' }),
    conn({ client_ip: '192.0.2.1', client_port: 7 }),
  ],
  [
    'the list that nginx passes on',
    json({
      remote_addr: undefined,
      proxy_add_x_forwarded_for: '6.6.6.6, 192.0.2.9',
      realip_remote_addr: '10.0.0.1',
    }),
    conn({ client_ip: '192.0.2.9' }),
  ],
  [
    'only the peer',
    json({ remote_addr: undefined, realip_remote_addr: '192.0.2.8', realip_remote_port: '9' }),
    conn({ client_ip: '192.0.2.8', client_port: 9 }),
  ],
  [
    'a name with a comma',
    json({ ssl_client_s_dn: String.raw`CN=Doe\, John,O=x` }),
    { tls: { client_cert: { subject: { cn: 'Doe, John' } } } },
  ],
  [
    'the older form of a name',
    json({ ssl_client_s_dn_legacy: '/O=x/CN=Doe, John' }),
    { tls: { client_cert: { subject: { cn: 'Doe, John' } } } },
  ],
  ['https', json({ https: 'on' }), conn({ server_port: 443 })],
  [
    'escapes that are not those of JSON',
    String.raw`{"remote_addr":"192.0.2.1","http_user_agent":"\xC3\xA9\x22\x5Cn\x01","remote_user":"-"}`,
    { ...asked({ user_agent: 'é"\\n\x01' }), ...user(undefined) },
  ],
  [
    'escapes of JSON that look like these',
    json({ http_user_agent: String.raw`\xC3` }),
    asked({ user_agent: String.raw`\xC3` }),
  ],
])

const httplog = ({
  client = '192.0.2.1:5',
  times = '10/0/30/69/109',
  status = '200',
  bytes = '2750',
  cookies = '- -',
  state = '----',
  counts = '1/1/1/1/0 0/0',
  captured = '',
  line = 'GET / HTTP/1.1',
  tls = '',
}) =>
  `${client} [06/Feb/2026:12:14:14.655] web~ app/srv1 ${times} ${status} ${bytes} ${cookies} ${state} ${counts} ${captured}"${line}"${tls}`

check('haproxy', [
  [
    'bytes of a target',
    httplog({ line: 'GET /caf#C3#A9/menu?q=#22x#22 HTTP/1.1' }),
    url({ path: '/café/menu', query: 'q="x"', raw: '/café/menu?q="x"' }),
  ],
  [
    'backslashes are no escapes',
    httplog({ line: String.raw`GET /a\x41b#23 HTTP/1.1` }),
    url({ raw: String.raw`/a\x41b#` }),
  ],
  ['an escape that was cut', httplog({ line: 'GET /a#C3#A' }), url({ raw: '/a\ufffd#A' })],
  ['a line that was cut', httplog({ line: 'GET /a' }).slice(0, -1), url({ raw: '/a' })],
  [
    'an early line',
    httplog({ times: '0/0/0/7/+7', bytes: '+5005' }),
    { http: { response: { body_length: 5005 } } },
  ],
  [
    'what was not reached',
    httplog({
      times: '-1/-1/-1/-1/50001',
      status: '-1',
      bytes: '0',
      state: 'CR--',
      counts: '2/2/0/-1/0 0/0',
      line: '<BADREQ>',
    }),
    {
      http: { request: { method: undefined, url: { raw: undefined } }, response: { status_code: undefined } },
    },
  ],
  ['another server was tried', httplog({ counts: '1/1/1/1/+3 0/0' }), url({ raw: '/' })],
  ['cookies and states', httplog({ cookies: 'SRV=a SRV=b', state: 'SDVN' }), url({ raw: '/' })],
  [
    'a cookie that is a line',
    httplog({
      cookies: 'SRV=a - ---- 1/1/0/0/0 0/0 {evil.example} "GET /evil HTTP/1.1" x -',
      captured: '{a.example} ',
      line: 'GET /true HTTP/1.1',
    }),
    { ...conn({ server_name: 'a.example' }), ...url({ raw: '/true' }) },
  ],
  [
    'a cookie in httpslog',
    httplog({
      cookies: 'SRV=a b; - ---- 1/1/0/0/0 0/0 {evil.example} -',
      captured: '{a.example} ',
      tls: ' 0/0/0/0/0 a/TLSv1.3/C',
    }),
    { ...conn({ server_name: 'a.example' }), tls: { version: 'TLSv1.3' } },
  ],
  [
    'a name of TLS that is a line',
    httplog({
      line: 'GET /true HTTP/1.1',
      tls: ' 0/0/0/0/0 a LR-- 1/1/0/0/0 0/0 "GET /evil HTTP/1.1" 0/0/0/0/0 x/TLSv1.3/C',
    }),
    { ...url({ raw: '/true' }), tls: { version: 'TLSv1.3', cipher_suite: 'C' } },
  ],
  [
    'quotes of a syslog server',
    httplog({ line: String.raw`GET /a\b HTTP/1.1` }).replaceAll('"', String.raw`\"`),
    url({ raw: String.raw`/a\b` }),
  ],
  [
    'captured headers',
    httplog({ captured: '{www.example.com:8443|a #7Bb#7D #22|} {nginx|} ', line: 'GET /x HTTP/1.1' }),
    { ...conn({ server_name: 'www.example.com', server_port: 8443 }), ...url({ raw: '/x' }) },
  ],
  ['of answers only', httplog({ captured: '{} ' }), url({ raw: '/' })],
  [
    'a captured name before that of TLS',
    httplog({
      captured: '{b.example} ',
      tls: ' 0/0000000000000000/0/0/0 a.example/TLSv1.2/ECDHE-RSA-AES256-GCM-SHA384',
    }),
    {
      ...conn({ server_name: 'b.example' }),
      tls: { version: 'TLSv1.2', cipher_suite: 'ECDHE-RSA-AES256-GCM-SHA384' },
    },
  ],
  [
    'a captured name in bytes',
    httplog({ captured: '{m#C3#BCnchen.example} ' }),
    conn({ server_name: 'm\u00fcnchen.example' }),
  ],
  [
    'a captured text that may be none',
    httplog({ captured: '{gzip} ', tls: ' 0/0/0/0/1 a.example/TLSv1.3/TLS_AES_128_GCM_SHA256' }),
    conn({ server_name: 'a.example' }),
  ],
  [
    'no TLS in httpslog',
    httplog({ tls: ' 0/-/-/-/- -/-/-' }),
    { tls: { version: undefined, cipher_suite: undefined } },
  ],
  [
    'the name in the target of HTTP/2',
    httplog({ captured: '{b.example} ', line: 'GET https://c.example:81/x HTTP/2.0' }),
    { ...conn({ server_name: 'c.example', server_port: 81 }), ...url({ raw: 'https://c.example:81/x' }) },
  ],
  [
    'a client without a port',
    httplog({ client: '2001:db8::1:0' }),
    conn({ client_ip: '2001:db8::1', client_port: undefined }),
  ],
  [
    'text of a client that looks like a tag',
    httplog({
      captured:
        '{x haproxy: 6.6.6.6:1 [06/Feb/2026:12:14:14.655] f b/s 0/0/0/0/0 200 1 - - ---- 1/1/1/1/1 0/0} ',
    }),
    conn({ client_ip: '192.0.2.1' }),
  ],
  [
    'a connection',
    'fe80::1%eth0:33 [06/Feb/2026:12:12:51.443] fnt bck/<NOSRV> -1/-1/+5007 +212 SC 0/0/0/0/+3 0/0',
    { type: 'tcp_connection', ...conn({ client_ip: 'fe80::1', client_port: 33, bytes_out: 212 }) },
  ],
  [
    'a connection that was never queued',
    '192.0.2.1:33 [06/Feb/2026:12:12:51.443] fnt bck/s -1/-1/0 0 PR 0/0/0/0/0 0/0',
    { type: 'tcp_connection' },
  ],
])

const caddy = ({ request = {}, ...more }: { request?: object; [name: string]: unknown }) =>
  JSON.stringify({
    logger: 'http.log.access.log0',
    ts: 1764064800.5,
    duration: 0.5,
    request: {
      remote_ip: '192.0.2.1',
      remote_port: '5',
      method: 'GET',
      host: 'a.example',
      uri: '/',
      ...request,
    },
    ...more,
  })
const starts = (start_ts: string) => conn({ start_ts })
const ten = '2025-11-25T10:00:00.000Z'

check('caddy', [
  ['unix_seconds_float', caddy({}), starts(ten)],
  ['unix_milli_float', caddy({ ts: 1764064800500.25 }), starts(ten)],
  ['unix_nano', caddy({ ts: 1764064800500000000 }), starts(ten)],
  ['iso8601', caddy({ ts: '2025-11-25T11:00:00.500+0100' }), starts(ten)],
  ['iso8601 in UTC', caddy({ ts: '2025-11-25T10:00:00.500Z' }), starts(ten)],
  ['rfc3339', caddy({ ts: '2025-11-25T11:00:01+01:00', duration: 1 }), starts(ten)],
  ['rfc3339_nano', caddy({ ts: '2025-11-25T10:00:00.500000001Z' }), starts(ten)],
  ['wall', caddy({ ts: '2025/11/25 10:00:02', duration: 2 }), starts(ten)],
  ['wall_milli', caddy({ ts: '2025/11/25 10:00:00.500' }), starts(ten)],
  ['wall_nano', caddy({ ts: '2025/11/25 10:00:00.500000000' }), starts(ten)],
  ['common_log', caddy({ ts: '25/Nov/2025:11:00:02 +0100', duration: 2 }), starts(ten)],
  ['time_key', caddy({ ts: undefined, time: 1764064800.5 }), starts(ten)],
  ['a duration in nanoseconds', caddy({ duration: 500_000_000 }), starts(ten)],
  ['a duration of few nanoseconds', caddy({ ts: 1764064800, duration: 927 }), starts(ten)],
  ['a duration as text', caddy({ ts: '2025-11-25T11:01:00.5Z', duration: '1h1m500ms' }), starts(ten)],
  ['microseconds', caddy({ ts: 1764064800.0002, duration: '200\u00b5s' }), starts(ten)],
  ['no duration', caddy({ duration: '0s', ts: '2025-11-25T10:00:00Z' }), starts(ten)],
  [
    'behind trusted proxies',
    caddy({ request: { remote_ip: '10.0.0.1', client_ip: '192.0.2.9' } }),
    conn({ client_ip: '192.0.2.9', client_port: undefined }),
  ],
  [
    'behind none',
    caddy({ request: { client_ip: '192.0.2.1' } }),
    conn({ client_ip: '192.0.2.1', client_port: 5 }),
  ],
  [
    'before 2.5',
    caddy({ request: { remote_ip: undefined, remote_port: undefined, remote_addr: '[fe80::1%eth0]:5' } }),
    conn({ client_ip: 'fe80::1', client_port: 5 }),
  ],
  [
    'a whole URL',
    caddy({ request: { uri: 'http://u@a.example:81/x' } }),
    { ...conn({ server_name: 'a.example', server_port: 81 }), ...url({ path: '/x' }) },
  ],
])

t.test('a line that is not what its writer writes is refused with the place', async (t) => {
  const refused = [
    [
      'combined',
      combined({ time: '10/Foo/2026:13:55:36 +0000' }),
      '"conn.start_ts" is "10/Foo/2026:13:55:36 +0000"',
      16,
    ],
    [
      'combined',
      combined({ time: '31/Feb/2026:13:55:36 +0000' }),
      '"conn.start_ts" is "31/Feb/2026:13:55:36 +0000"',
    ],
    [
      'combined',
      combined({ time: '10/Oct/2026:13:55:36 +9900' }),
      '"conn.start_ts" is "10/Oct/2026:13:55:36 +9900"',
    ],
    [
      'nginx',
      json({ msec: undefined, time_local: '10/Foo/2026:13:55:36 +0000', request_time: 1 }),
      '"conn.start_ts" is "10/Foo/2026:13:55:36 +0000"',
    ],
    ['haproxy', httplog({}).replace('Feb', 'Fex'), '"conn.start_ts" is "06/Fex/2026:12:14:14.655"'],
    ['haproxy', httplog({}).replace('06/Feb', '30/Feb'), '"conn.start_ts" is "30/Feb/2026:12:14:14.655"'],
    ['haproxy', httplog({ status: 'x' }), 'a status is not at column 69.', 69],
    [
      'haproxy',
      httplog({
        cookies: 'SRV=a -',
        tls: ' 0/0/0/0/0 a LR-- 1/1/0/0/0 0/0 "GET /evil HTTP/1.1" 0/0/0/0/0 x/TLSv1.3/C',
      }),
      'should end before',
    ],
    ['haproxy', httplog({ client: 'unix:1' }), 'The client is "unix"', 1],
    ['haproxy', httplog({ client: '-:-' }), 'It has no address of a client.'],
    [
      'haproxy',
      '192.0.2.1:5 [03/Dec/2026:17:35:10.380] frt/f1: SSL handshake failure',
      'a backend and its server is not at column 48.',
      48,
    ],
    [
      'haproxy',
      '192.0.2.1:33 [06/Feb/2026:12:12:51.443] fnt bck/s 0/0/0 x SC 0/0/0/0/3 0/0',
      'a number of bytes is not at column 57.',
      57,
    ],
    [
      'combined',
      '192.0.2.1 - - [10/Oct/2026:13:55:36 +0000] "GET / HTTP/1.1" two 1',
      'a status is not at column 61.',
      61,
    ],
    [
      'combined',
      '192.0.2.1 [10/Oct/2026:13:55:36 +0000] "GET / HTTP/1.1" 200 1',
      'client, identity and user are missing.',
    ],
    [
      'caddy',
      caddy({ ts: 'Tue Nov 25 10:00' }),
      'The time is "Tue Nov 25 10:00", which has a layout of its own',
    ],
    ['caddy', caddy({ ts: '2025-13-25T10:00:00Z' }), 'The time is "2025-13-25T10:00:00Z"'],
    ['caddy', caddy({ duration: 'soon' }), 'The duration is "soon"'],
    ['caddy', caddy({ logger: 'http.log.error' }), 'another logger'],
    ['nginx', '{"remote_addr":"192.0.2.1","status":20x}', 'It is not JSON', 39],
  ] as const
  for (const [format, line, reason, column] of refused) {
    const made = read(format, line)
    t.match(made, { ok: false, problem: column === undefined ? {} : { column } }, line)
    t.ok(!made.ok && made.problem.msg.includes(reason), made.ok ? line : made.problem.msg)
  }
})

t.test('each format has the pages of its writers', async (t) => {
  for (const { name, isRecord, writers } of formats)
    if (isRecord === undefined && !['traefik', 'envoy'].includes(name)) t.ok((writers ?? []).length > 0, name)
})

t.test('what may be wrong with a record is said', async (t) => {
  const said = (name: string, line: string, given: Given = { serverName: 'a.example' }) => {
    const doubts: string[] = []
    const format = formats.find((each) => each.name === name)!
    const made = recordOfLine(format, { text: line }, given, 'r-1', (doubt) => void doubts.push(doubt))
    return made.ok ? doubts : made.problem
  }
  const line = (more: object) =>
    JSON.stringify({ remote_addr: '192.0.2.1', request: 'GET / HTTP/1.1', status: 200, ...more })
  for (const time of [
    '2026-11-25T10:00:00+00:00',
    '25/Nov/2026:10:00:00 +0000',
    '1795600800.123',
    1795600800,
  ])
    t.match(said('nginx', line({ time })), [/the time in "time" must be named "time_iso8601"/], String(time))
  t.match(said('nginx', line({ time: '0.005' })), [/log it as "time_iso8601"/])
  t.strictSame(said('nginx', line({ time_iso8601: '2026-11-25T10:00:00+00:00' })), [])
  const envoy = { method: 'GET', path: '/', protocol: 'HTTP/2', downstream_remote_address: '192.0.2.1:5' }
  t.match(said('envoy', JSON.stringify({ ...envoy, time: '2026-11-25T10:00:00.000Z' })), [
    /the time in "time" must be named "start_time"/,
  ])
  for (const duration of [1, 45, 99, 500, '7'])
    t.match(said('caddy', caddy({ duration })), [/give --caddy-duration/], `${duration}`)
  for (const duration of [0, 0.045, 1.5, '45ms'])
    t.strictSame(said('caddy', caddy({ duration })), [], `${duration}`)
  t.strictSame(said('caddy', caddy({ duration: 45 }), { serverName: 'a', caddyDuration: 'ms' }), [])
  const nothing = said('ndjson', '{"type":"tcp_connection","conn":{"client_ip":"192.0.2.1"}}', {})
  t.match(nothing, [/names no server and no edge/, /does not say when it began/])
})

t.test('Caddy: a whole number is in the unit that is given', async (t) => {
  const format = formats.find(({ name }) => name === 'caddy')!
  const cases = [
    ['ms', 12, '2025-11-25T10:00:00.488Z'],
    ['ms', 500, ten],
    ['ms', 0, '2025-11-25T10:00:00.500Z'],
    ['nano', 500_000_000, ten],
    ['nano', 50, '2025-11-25T10:00:00.500Z'],
    ['seconds', 120, '2025-11-25T09:58:00.500Z'],
    // Only seconds have a fraction, and a text has units.
    ['ms', 0.5, ten],
    ['nano', '500ms', ten],
  ] as const
  for (const [caddyDuration, duration, start_ts] of cases) {
    const made = recordOfLine(format, { text: caddy({ duration }) }, { caddyDuration }, 'r-1')
    t.match(made.ok ? JSON.parse(made.value) : made, starts(start_ts), `${caddyDuration}: ${duration}`)
  }
})
