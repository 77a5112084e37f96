/**
 * Lines in the forms of samples that parsers of other projects are tested with: what they say is read, and where others
 * differ is said.
 */
import t from 'tap'
import { formats } from '../../../src/delivery/ingest/formats.js'
import { recordOfLine } from '../../../src/delivery/ingest/lines/format.js'
import { LogEnvelopes } from '../../../src/delivery/ingest/log-envelope.js'

const read = (format: string, line: string, doubt?: (sentence: string) => void) =>
  recordOfLine(
    formats.find(({ name }) => name === format)!,
    { text: line },
    { serverName: 'given.example' },
    'r-1',
    doubt,
  )

function record(format: string, line: string) {
  const made = read(format, line)
  if (!made.ok) throw new Error(`${made.problem.msg} ${line}`)
  return JSON.parse(made.value) as {
    type: string
    conn: { client_ip: string; server_name?: string; server_port: number }
    http?: { response: { status_code?: number } }
    basic_auth?: { username?: string }
  }
}

const clf = (who: string, more = ' "-" "curl/8"') =>
  `${who} [10/Oct/2026:13:55:36 +0000] "GET /a HTTP/1.1" 200 12${more}`

t.test('CLF: who the client, the host and the user are', (t) => {
  const cases: [who: string, client: string, host: string, user: string | undefined][] = [
    ['203.0.113.9 - -', '203.0.113.9', 'given.example', undefined],
    ['www.example.com:443 203.0.113.9 - bob', '203.0.113.9', 'www.example.com', 'bob'],
    // ingress-nginx, before 0.24.
    ['203.0.113.9 - [203.0.113.9] - -', '203.0.113.9', 'given.example', undefined],
    ['203.0.113.9 - [198.51.100.7, 203.0.113.9] - bob', '203.0.113.9', 'given.example', 'bob'],
    // %{X-Forwarded-For}i before %h, with and without quotes.
    ['198.51.100.7, 10.0.0.1 10.0.0.2 - -', '10.0.0.2', 'given.example', undefined],
    ['"198.51.100.7, 10.0.0.1" 10.0.0.2 - -', '10.0.0.2', 'given.example', undefined],
    ['"-" 10.0.0.2 - -', '10.0.0.2', 'given.example', undefined],
    ['198.51.100.7 10.0.0.2 - -', '10.0.0.2', 'given.example', undefined],
    ['(198.51.100.7) 10.0.0.2 - -', '10.0.0.2', 'given.example', undefined],
    ['2001:db8::1 10.0.0.2 - -', '10.0.0.2', 'given.example', undefined],
    ['198.51.100.7:8080 10.0.0.2 - -', '10.0.0.2', '198.51.100.7', undefined],
    ['www.example.com 198.51.100.7, 10.0.0.1 - -', '10.0.0.1', 'www.example.com', undefined],
    ['~^www\\..+$ 10.0.0.2 - -', '10.0.0.2', 'given.example', undefined],
    ['*.example.com 10.0.0.2 - -', '10.0.0.2', 'given.example', undefined],
  ]
  for (const [who, client, host, user] of cases) {
    const { conn, basic_auth } = record('combined', clf(who))
    t.same([conn.client_ip, conn.server_name, basic_auth?.username], [client, host, user], who)
  }
  const combined = formats.find(({ name }) => name === 'combined')!
  for (const host of ['198.51.100.7', '2001:db8::1'])
    t.match(
      JSON.parse(
        (recordOfLine(combined, { text: clf(`${host} 10.0.0.2 - -`) }, {}, 'r-1') as { value: string }).value,
      ),
      { conn: { client_ip: '10.0.0.2', server_name: host } },
    )
  const doubts: string[] = []
  read('combined', clf('198.51.100.7 10.0.0.2 - -'), (sentence) => doubts.push(sentence))
  t.match(doubts, [/two addresses/])
  t.end()
})

const http = (captured: string, status = '200') =>
  `10.0.1.2:33317 [06/Feb/2026:12:14:14.655] http-in static/s1 10/0/30/69/109 ${status} 2750 - - ---- 1/1/1/1/0 0/0 ${captured}"GET /a HTTP/1.1"`

t.test('HAProxy: an address that is captured is not the host', (t) => {
  for (const [captured, host] of [
    ['{77.24.148.74} ', 'given.example'],
    ['{2001:db8::1} ', 'given.example'],
    ['{77.24.148.74:8080} ', '77.24.148.74'],
    ['{www.example.com|77.24.148.74} {} ', 'www.example.com'],
  ] as const)
    t.equal(record('haproxy', http(captured)).conn.server_name, host, captured)
  t.end()
})

t.test('a status that stands for none is none', (t) => {
  for (const [format, line] of [
    ['haproxy', http('', '-1')],
    ['combined', clf('203.0.113.9 - -').replace(' 200 ', ' 000 ')],
    ['nginx', '{"remote_addr":"203.0.113.9","request":"GET / HTTP/1.1","status":"000","msec":1}'],
    ['caddy', '{"ts":1,"request":{"remote_ip":"203.0.113.9","method":"GET","uri":"/"},"status":0}'],
  ] as const)
    t.equal(record(format, line).http?.response.status_code, undefined, format)
  t.end()
})

t.test('Envoy: forms of older versions and other names', (t) => {
  const old =
    '[2020-11-25T21:26:18.409Z] "GET /a HTTP/2" 200 - "-" "TLS error: 1" 0 135 3 1 "-" "curl/7" "id" "a.example" "10.0.0.1:80" outbound|80||x - 10.44.1.27:80 10.44.1.23:1 - default'
  t.match(record('envoy', old).conn, { client_ip: '10.44.1.23', server_name: 'a.example' })
  const json =
    '{"method":"GET","start_time":"2026-10-10T13:55:36.123Z","downstream_remote_address_without_port":"203.0.113.9","path":"/"}'
  t.equal(record('envoy', json).conn.client_ip, '203.0.113.9')
  t.end()
})

t.test('journals in the forms of older and other outputs', (t) => {
  const line = clf('203.0.113.9 - -')
  const entry = JSON.stringify({ __REALTIME_TIMESTAMP: '1', MESSAGE: line })
  for (const text of [entry, entry.replaceAll('":', '" : '), `\u001e${entry}`, `data: ${entry}`]) {
    const raw = { text, byteLength: text.length, isTooLong: false }
    t.same(
      [...new LogEnvelopes().open(raw)].map((each) => each.text),
      [line],
      text,
    )
  }
  t.end()
})

t.test('a line that is refused is marked where it differs', (t) => {
  const json = (more: string) =>
    `{"remote_addr":"203.0.113.9","request":"GET / HTTP/1.1","msec":1,"pid":170000,${more}}`
  const cases: [format: string, line: string, at: string][] = [
    ['combined', clf('203.0.113.9 - -').replace('"GET', '0.003 "GET'), '0.003'],
    ['combined', clf('203.0.113.9 - -').replace('"GET', 'www.example.com "GET'), 'www'],
    ['combined', clf('203.0.113.9 -'), ' ['],
    ['combined', clf('- - bob'), '- - bob'],
    ['nginx', json('"remote_port":70000'), '70000}'],
    ['nginx', json('"remote_port":"70000"'), '70000"}'],
    ['traefik', clf('203.0.113.9').replace(' "curl', ' "curl'), ' ['],
    [
      'traefik',
      clf('203.0.113.9 - -').replace('/a', '/[10/Oct/2026:13:55:36 +0000] "'),
      '[10/Oct/2026:13:55:36 +0000] " ',
    ],
    [
      'envoy',
      '[2026-10-10T13:55:36.123Z] "GET /a HTTP/2" 200 - 0 5 3 1 "-" "curl/7" "id" "a.example" "10.0.0.1:80"',
      '-" "curl',
    ],
    [
      'envoy',
      '[2026-10-10T13:55:36.123Z] "GET /a HTTP/2" 200 - 0 5 3 1 "1.1.1.1" "2.2.2.2,7.7.7.7" "x" "id" "a.example" "-"',
      '1.1.1.1',
    ],
  ]
  for (const [format, line, at] of cases) {
    const made = read(format, line)
    t.notOk(made.ok, line)
    if (!made.ok) t.equal(made.problem.column, line.lastIndexOf(at) + 1, `${made.problem.msg} ${line}`)
  }
  const udp = read('nginx', json('"protocol":"UDP"'))
  t.match(udp, { ok: false, problem: { msg: /"UDP"/ } })
  const other = read(
    'caddy',
    '{"ts":1,"logger":"http.log.error","request":{"remote_ip":"203.0.113.9","method":"GET","uri":"/"}}',
  )
  t.match(other, { ok: false, problem: { msg: /"http.log.error"/ } })
  t.end()
})
