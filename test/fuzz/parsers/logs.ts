/** Lines of proxies' logs, what programs put around them, and syslog. */
import { formats } from '../../../src/delivery/ingest/formats.js'
import { type FramedLine, recordOfLine } from '../../../src/delivery/ingest/lines/format.js'
import { LineSplitter, type RawLine } from '../../../src/delivery/ingest/lines/line-splitter.js'
import { LogEnvelopes } from '../../../src/delivery/ingest/log-envelope.js'
import { SyslogFrames } from '../../../src/delivery/ingest/syslog/frames.js'
import { syslogMessage } from '../../../src/delivery/ingest/syslog/message.js'
import { parseRecord } from '../../../src/delivery/record/record.js'
import { isNestedTooDeep } from '../../../src/ground/core/text/json-nesting.js'
import { columnOf } from '../../../src/outside/cli/publish/refusals.js'
import { recordedLogs } from '../../harness/recorded-lines.js'
import {
  expectSame,
  expectThat,
  type FuzzedParser,
  read,
  refused,
  refusedAt,
  tried,
} from '../engine/parser.js'

const clf = '[10/Oct/2026:13:55:36 -0700] "GET /a%20b/../c?q=1 HTTP/1.1" 200 2326'

const samples: Readonly<Record<string, readonly string[]>> = {
  nginx: [
    '{"msec":"1764064800.250","request_time":"0.250","remote_addr":"203.0.113.7","remote_port":"52144","server_addr":"198.51.100.2","server_port":"443","scheme":"https","http_host":"www.example.com","request_method":"POST","request_uri":"/x?y=1","status":"201","body_bytes_sent":"12","content_length":"5","http_user_agent":"curl/8","request_id":"abc","ssl_protocol":"TLSv1.3","ssl_client_s_dn":"CN=device-1,O=Example"}',
    '{"msec":"1764064803.000","session_time":"3.000","protocol":"TCP","remote_addr":"203.0.113.7","server_port":"22","bytes_received":"3437","bytes_sent":"90256"}',
    '{"time_local":"10/Oct/2026:13:55:36 -0700","remote_addr":"203.0.113.7","proxy_add_x_forwarded_for":"198.51.100.1, 203.0.113.7","request":"GET /\\x22 HTTP/1.1","ssl_client_s_dn":"/O=Example/CN=alice"}',
    `203.0.113.7 - alice ${clf} "https://example.com/" "curl \\"8\\" \\x41"`,
  ],
  combined: [
    `203.0.113.7 - alice ${clf} "https://example.com/" "curl \\"8\\" \\x41"`,
    `shop.example.com:8443 2001:DB8::7 - - ${clf} "-" "-"`,
    `198.51.100.7, 10.0.0.1 10.0.0.2 - - ${clf}`,
    `203.0.113.9 - [203.0.113.9] - bob ${clf} "-" "x" 12 0.1 [a] []`,
  ],
  haproxy: [
    '<134>Nov 25 10:00:00 lb haproxy[14389]: 203.0.113.7:33317 [06/Feb/2026:12:14:14.655] http-in static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 {1wt.eu|x} {} "GET /index.html?a HTTP/1.1"',
    '203.0.113.7:33317 [06/Feb/2026:12:14:14.655] https~ app/srv1 0/0/1/2/3 200 77 S=1 - ---- 1/1/0/0/0 0/0 "GET https://www.example.com/a HTTP/2.0" 0/0000000000000000/0/0/0 www.example.com/TLSv1.3/TLS_AES_256_GCM_SHA384',
    'haproxy[14385]: 203.0.113.7:33313 [06/Feb/2026:12:12:51.443] fnt bck/srv1 0/0/5007 212 -- 0/0/0/0/3 0/0',
  ],
  envoy: [
    '[2026-04-15T20:17:00.310Z] "POST /api/v1/locations HTTP/2" 204 - 154 0 226 100 "10.0.35.28, 203.0.113.7" "nsq2http" "cc21d9b0-cf5c" "locations" "tcp://10.0.2.1:80"',
    '{"start_time":"2026-04-15T20:17:00.310Z","method":"GET","x-envoy-origin-path":"/a?b","protocol":"HTTP/1.1","response_code":200,"bytes_received":0,"bytes_sent":11,"duration":3,"user-agent":"curl/8",":authority":"www.example.com:8443","downstream_local_address":"10.0.0.1:8443","downstream_remote_address":"203.0.113.7:51234"}',
  ],
  caddy: [
    '{"level":"info","ts":1764064800.5,"logger":"http.log.access","msg":"handled request","request":{"remote_ip":"203.0.113.7","remote_port":"41342","client_ip":"203.0.113.7","proto":"HTTP/2.0","method":"GET","host":"www.example.com","uri":"/a?b=c","headers":{"User-Agent":["curl/7.82.0"]},"tls":{"version":772,"cipher_suite":4865}},"bytes_read":0,"user_id":"bob","duration":"1m32.05s","size":10900,"status":200}',
    '{"ts":"2026/11/25 10:00:00","request":{"remote_ip":"::1","method":"GET","uri":"/"},"duration":12,"status":0}',
  ],
  traefik: [
    '{"ClientAddr":"203.0.113.7:50000","ClientHost":"203.0.113.7","ClientPort":"50000","DownstreamContentSize":21,"DownstreamStatus":200,"Duration":1200000,"RequestAddr":"www.example.com","RequestMethod":"GET","RequestPath":"/x","RequestScheme":"https","StartUTC":"2026-04-15T20:17:00.31Z","TLSVersion":"1.3","request_User-Agent":"curl/8"}',
    '203.0.113.7 - - [25/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 404 19 "-" "-" 1 "web@file" "http://10.0.0.1" 0ms',
  ],
  ndjson: [
    '{"type":"tcp_connection","conn":{"client_ip":"203.0.113.7","server_name":null,"start_ts":"2026-04-15T20:17:00.31Z"}}',
  ],
}

const recorded = (format: string): string[] =>
  recordedLogs().flatMap((log) => (log.format === format ? log.lines.map(({ line }) => line) : []))

const given = { serverName: 'given.example' }

/** Refusals without a place: the line as a whole is too long, or lacks something. */
const ofWholeLine =
  /^(?:The record has \d+ bytes|It has \d+ bytes|It is not a JSON object|It is not UTF-8|.* is missing|It has no |The (?:client|duration) is |It is not a line of the access log)/

const ofFormats: readonly FuzzedParser[] = formats.map((format) => ({
  name: `log format ${format.name}`,
  sources: [
    `delivery/ingest/formats/${format.name}.ts`,
    ...['format', 'line-form', 'log-time', 'request-line', 'values', 'escapes', 'forwarded', 'host-form'].map(
      (name) => `delivery/ingest/lines/${name}.ts`,
    ),
    'ground/core/text/distinguished-name.ts',
  ],
  seeds: () => [...(samples[format.name] ?? []), ...recorded(format.name).slice(0, 12)],
  words: [
    ...clf.split(' '),
    '"-"',
    ' - ',
    '{|}',
    '#22',
    '\\x22',
    '- - ---- 1/1/1/1/0 0/0',
    'CN=',
    '\\,',
    '/CN=',
    '+OID.2.5.4.3=#0c0141',
  ],
  read: (bytes) => {
    const line = bytes.toString()
    const made = recordOfLine(format, { text: line }, given, 'r-1')
    if (!made.ok) {
      const { msg, column } = made.problem
      if (column !== undefined) return refusedAt(msg, column, Buffer.alloc(line.length))
      if (isNestedTooDeep(line)) return refused(msg)
      // Otherwise a member or a value is named, which `weir publish` looks for.
      expectThat(
        columnOf(line, made.problem) !== undefined || msg.includes('"') || ofWholeLine.test(msg),
        `a refusal has no place: ${msg.slice(0, 200)}`,
      )
      return refused(msg)
    }
    const record = parseRecord(Buffer.from(made.value))
    expectThat(record.ok, `a record that is made can't be read: ${record.ok ? '' : record.problem.msg}`)
    return read(made.value)
  },
}))

const linesOf = (chunks: readonly Buffer[]): (RawLine & FramedLine)[] => {
  const splitter = new LineSplitter()
  const envelopes = new LogEnvelopes<RawLine>()
  const raw = chunks.flatMap((chunk) => [...splitter.push(chunk)])
  const rest = splitter.rest()
  return [
    ...[...raw, ...(rest === undefined ? [] : [rest])].flatMap((line) => [...envelopes.open(line)]),
    ...envelopes.rest(),
  ]
}

const sizeOf = (bytes: number): Buffer => {
  const size = Buffer.alloc(8)
  size.writeBigUInt64LE(BigInt(bytes))
  return size
}

const cursor = '__CURSOR=s=1f;i=2a;b=3c;m=4;t=5;x=6'

const envelopes: FuzzedParser = {
  name: 'envelopes of log lines',
  sources: [
    'delivery/ingest/log-envelope.ts',
    'delivery/ingest/journal-export.ts',
    'delivery/ingest/lines/line-splitter.ts',
    'delivery/ingest/lines/export-fields.ts',
  ],
  seeds: () => [
    '2026-11-20T10:00:00.123456789Z stdout P a part \n2026-11-20T10:00:00.2Z stderr F other\n2026-11-20T10:00:00.3Z stdout F and the end\n',
    '{"log":"text\\n","stream":"stdout","time":"2026-11-20T10:00:00Z"}\n{"log":"more","stream":"stdout","time":"t"}\n',
    '{"__REALTIME_TIMESTAMP":"1764064800250000","MESSAGE":"a"}\n\u001e{"MESSAGE" : [104,105],"__REALTIME_TIMESTAMP" : "1"}\n',
    `${cursor}\n__REALTIME_TIMESTAMP=1764064800250000\nMESSAGE=plain\n\n`,
    Buffer.concat([
      Buffer.from(`${cursor}\n_SOURCE_REALTIME_TIMESTAMP=1\nMESSAGE\n`),
      sizeOf(5),
      Buffer.from('a\nb\nc\n\n'),
    ]),
    'web-1  | line\n[pod/web-1/nginx] other\n<134>Nov 25 10:00:00 lb haproxy[1]: text\n',
  ],
  // Each byte may be a line, which is looked at in several ways.
  msPerKiB: 15,
  words: [
    cursor,
    'MESSAGE=',
    'MESSAGE\n',
    ' stdout P ',
    ' stderr F ',
    '{"log":"',
    '"stream":"stdout"',
    'web-1  | ',
  ],
  read: (bytes) => {
    const lines = linesOf([bytes])
    const half = Math.floor(bytes.length / 2)
    const cut = linesOf([bytes.subarray(0, 1), bytes.subarray(1, half), bytes.subarray(half)])
    expectSame(cut, lines, 'lines that come in parts')
    return read(lines)
  },
}

const framesOf = (chunks: readonly Buffer[]) => {
  const frames = new SyslogFrames()
  const whole = chunks.flatMap((chunk) => [...frames.push(chunk)])
  return { whole, rest: frames.rest() }
}

class NoLength extends Error {}

function framesOrError(chunks: readonly Buffer[]): unknown {
  try {
    return framesOf(chunks)
  } catch (error) {
    // What follows can't be divided: the connection is closed.
    if ((error as Error).message === 'a message begins with a length that is none')
      throw new NoLength('A length is none.')
    throw error
  }
}

const syslogText = '<134>1 2026-11-20T10:00:00Z host app 12 - [a@1 b="c\\"]"] text'

const frames: FuzzedParser = {
  name: 'frames of syslog',
  sources: ['delivery/ingest/syslog/frames.ts'],
  seeds: () => [
    `${syslogText}\n<134>Nov 25 10:00:00 lb haproxy[1]: other\r\n`,
    `${syslogText.length} ${syslogText}5 hello`,
    '203.0.113.7 - - a\0b\0\n\n12345 ',
  ],
  words: ['1 ', '5 hello', '\0', '\n', '99999999 ', '16777216 '],
  read: (bytes) => {
    const found = tried(() => framesOrError([bytes]), NoLength)
    const bytewise = tried(() => framesOrError(piecesOf(bytes)), NoLength)
    expectSame(bytewise, found, 'messages that come in parts')
    return found
  },
}

/** As many small pieces as a sender may make of it. */
function piecesOf(bytes: Buffer): Buffer[] {
  const size = Math.max(1, Math.floor(bytes.length / piecesMax))
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  )
}

const piecesMax = 10_000

const messages: FuzzedParser = {
  name: 'messages of syslog',
  sources: ['delivery/ingest/syslog/message.ts'],
  seeds: () => [
    syslogText,
    '<134>1 - - - - - - \uFEFF@cee: {"a":1}',
    '<134>Nov 25 10:00:00 lb haproxy[14389]: 203.0.113.7:33317 [06/Feb/2026:12:14:14.655] x',
    'Nov 20 2026 10:00:00.5 host nginx: {"a":1}',
    '2026-11-20T10:00:00,5+0100 host tag[1] {"b":2}',
    'Thu 2026-11-20 10:00:00 UTC host app[1]: 203.0.113.7 - - [10/Oct/2026:13:55:36 -0700] "GET',
    '[ 1234.567890] host app: text',
  ],
  words: ['<134>', 'Nov 20 10:00:00 ', ' host ', 'haproxy[1]: ', '[a@1 b="c"]', '@cee:', ' - '],
  read: (bytes) => {
    const text = bytes.toString()
    const found = syslogMessage(text)
    expectThat(found.text.length <= text.length, 'a message is longer without its head')
    return read(found)
  },
}

export const logParsers: readonly FuzzedParser[] = [...ofFormats, envelopes, frames, messages]
