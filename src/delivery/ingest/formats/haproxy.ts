import { ok, type Result } from '../../../ground/core/errors.js'
import { withoutHashes } from '../lines/escapes.js'
import type { Format, Given, Logged, Writer } from '../lines/format.js'
import { hostIn } from '../lines/host-form.js'
import { LineForm } from '../lines/line-form.js'
import { logTime } from '../lines/log-time.js'
import { requestParts, targetOf } from '../lines/request-line.js'
import { textOf } from '../lines/values.js'

const writer: Writer = {
  program: 'HAProxy',
  escapes:
    'Bytes below 32 and from 127 on, `"` and `#` as `#C3`; in captured headers also `{`, `|` and `}`. A backslash is a character like others. Spaces stay. Captured cookies and the name of TLS are not escaped at all: of a line with both, it is read only if neither has a quote.',
  nothing:
    '`-`; a captured header that was not sent is empty; `-1` for times, a status and counts that were not reached; `<BADREQ>` for what is no request; `<NOSRV>` for a server. A port 0 is none.',
  client:
    '`%ci` is the peer, or whom the PROXY protocol names (`accept-proxy`), or `http-request set-src`: `set-src hdr_ip(x-forwarded-for,-1)` behind one trusted proxy, `-2` behind two. The port stays that of the proxy then, if both addresses are of one family, and no line says so: add `http-request set-src-port int(0)`. `option forwardfor` changes nothing of it. Connections by a UNIX socket have `unix` and are refused.',
  times:
    'Local time without a zone, in milliseconds: when the first byte of the request came (`%tr`), or when the connection was accepted (`%t`). `Tt` later, a connection ended. `+` before times and bytes: `option logasap` wrote the line early, so the connection goes on, and these are what was known then.',
  lost: 'The name that was asked for, unless it is the first captured header (with `--server-name`, an address without a port there is not taken for one, but for `X-Forwarded-For`); the zone; `req_len` of the request (1,023 bytes, `tune.http.logurilen`), `len` of a captured header and of the line (`log … len`): what is beyond is cut. Bytes of an answer include its headers. The reason of a refused request, and its target. Which captured header is which. With `log stdout`, a line that another thread would have to wait for (`DroppedLogs` of `show info`).',
  sources: [
    'https://docs.haproxy.org/2.6/configuration.html#8.2 (8.2.2 to 8.2.4, 8.4 to 8.8)',
    'fd.c of HAProxy (fd_write_frag_line), log.c (default_http_log_format, default_https_log_format, default_tcp_log_format, init_log: hdr_encode_map, url_encode_map)',
  ],
}

/** `-1` if it was not reached; `+` if it went on when the line was written. */
const time = String.raw`[+-]?\d+`

/**
 * The beginning of all formats, also behind `haproxy[12]: ` of syslog. No client can write something that looks like that
 * tag.
 */
const head = [
  {
    what: 'address and port of the client',
    form: String.raw`(?:[^"{}[\]]*?haproxy(?:\[\d+\])?: )?(?<client>\S+):(?<port>\d+|-)`,
  },
  { what: 'a time in brackets', form: String.raw` \[(?<time>[^\]]+)\]` },
  { what: 'a frontend', form: String.raw` (?<frontend>\S+)` },
  { what: 'a backend and its server', form: String.raw` [^\s/]+\/\S+` },
]
const bytes = { what: 'a number of bytes', form: String.raw` \+?(?<bytes>\d+)` }
const counters = [
  // The last one are retries: `+` if another server was tried.
  { what: 'the counts of connections', form: String.raw` -?\d+(?:\/-?\d+){3}\/[+-]?\d+` },
  { what: 'the queues', form: String.raw` -?\d+\/-?\d+` },
]

const tcp = new LineForm('a line of option tcplog', [
  ...head,
  { what: 'three times', form: String.raw` ${time}\/${time}\/(?<total>${time})` },
  bytes,
  { what: 'the state', form: String.raw` \S\S` },
  ...counters,
  { what: 'a space', form: '(?: .*)?' },
])

/** A line of HTTP, by how its cookies and its end look. */
const http = (cookies: string, end: string): LineForm =>
  new LineForm('a line of option httplog or httpslog', [
    ...head,
    { what: 'five times', form: String.raw` ${time}(?:\/${time}){4}` },
    { what: 'a status', form: String.raw` (?<status>-?\d+)` },
    bytes,
    { what: 'two cookies', form: ` ${cookies}` },
    { what: 'the state', form: String.raw` \S{4}` },
    ...counters,
    {
      what: 'the captured headers',
      // Braces and quotes in them are escaped.
      form: String.raw`(?: \{(?<captured>[^{}"|]*)(?:\|[^{}"]*)?\}(?: \{[^{}"]*\})?)?`,
    },
    { what: 'the request in quotes', form: ` "(?<request>[^"]*)${end}` },
  ])

/** A line that is too long is cut, with its last quote. The name of TLS at the end is as the client sent it. */
const withoutCookie = http(String.raw`- \S+`, '"?(?<rest>.*)')
/**
 * A captured cookie is not escaped, so a client can write the rest of a line into it. What follows the cookie can have no
 * quote but two, so the last request is the one; if a name of TLS follows, which may have quotes, only a line without others
 * is read.
 */
const withCookie = [http('.+', '"'), http('[^"]+', '"(?<rest>[^"]*)')] as const
const hasCookie = new RegExp(
  String.raw`^${head.map(({ form }) => form).join('')} ${time}(?:\/${time}){4} -?\d+ \+?\d+ (?!- )`,
)

/** Which form it is: the times of a connection are three. */
const isConnection = new RegExp(`^${head.map(({ form }) => form).join('')} ${time}/${time}/${time} `)

/** The addition of `option httpslog`: `0/0000000000000000/0/0/0 www.example.com/TLSv1.3/TLS_AES_256_GCM_SHA384`. */
const tls = /^ \S+ (?<sni>.*)\/(?<version>TLSv[\d.]+|SSLv\d|-)\/(?<cipher>[\w-]+)$/s

/** `option httplog`, `option httpslog` and `option tcplog`. */
export const haproxy: Format = {
  name: 'haproxy',
  about:
    'option httplog, httpslog or tcplog, also with the head of syslog; --server-name if no name is logged',
  writers: [writer],
  read(written, given) {
    const line = asWritten(written)
    const isTcp = isConnection.test(line)
    const read = isTcp ? tcp.read(line) : httpLine(line)
    if (!read.ok) return read
    const { client, port, time = '' } = read.value
    const common = { client, client_port: port === '0' ? undefined : port, start: logTime(time) }
    return ok(isTcp ? connectionOf(common, read.value) : requestOf(common, read.value, given))
  },
}

/** Some syslog servers put a backslash before each quote (8.6 of the manual); HAProxy itself never does before the first. */
const asWritten = (line: string): string =>
  line.includes(String.raw` \"`) && !line.includes(' "') ? line.replaceAll(String.raw`\"`, '"') : line

function httpLine(line: string): Result<Groups> {
  const [ofHttp, ofHttps] = withCookie
  if (!hasCookie.test(line)) return withoutCookie.read(line)
  const read = ofHttp.read(line)
  return read.ok ? read : ofHttps.read(line)
}

type Groups = Readonly<Record<string, string | undefined>>

function connectionOf(common: Logged, { total, bytes }: Groups): Logged {
  const { start } = common
  const end = typeof start === 'number' ? start + Math.max(0, Number(total)) : undefined
  return { ...common, type: 'tcp_connection', end, bytes_out: bytes }
}

function requestOf(
  common: Logged,
  { frontend = '', status, bytes, captured, request, rest }: Groups,
  given: Given | undefined,
): Logged {
  const { method, uri } = requestParts(withoutHashes(request ?? ''))
  const { sni, version, cipher } = tls.exec(rest ?? '')?.groups ?? {}
  // HAProxy marks a frontend with TLS.
  const scheme = frontend.endsWith('~') ? 'https' : 'http'
  return {
    ...common,
    scheme,
    status,
    response_bytes: bytes,
    method,
    uri,
    host: hostOf(targetOf({ method, uri })?.host, hostIn(withoutHashes(captured ?? ''), given), textOf(sni)),
    tls_version: version,
    tls_cipher: cipher,
  }
}

/**
 * The name in the target of HTTP/2 and of a whole URL is the one that was asked for; then comes the first captured header,
 * if it is surely a name. That of TLS may be another one, since connections are used for several names. Undefined if there
 * is none.
 */
function hostOf(
  asked: string | undefined,
  header: string | undefined,
  sni: string | undefined,
): string | undefined {
  const isName = header !== undefined && /[.:]/.test(header)
  return textOf(asked) ?? (isName ? header : (sni ?? header))
}
