import { fail, ok, problem, type Result } from '../../../ground/core/errors.js'
import type { Format, Logged, Writer } from '../lines/format.js'
import { lastForwarded, withoutPortZero } from '../lines/forwarded.js'
import { LineForm } from '../lines/line-form.js'
import { withoutTime } from '../lines/log-time.js'
import { commonNameIn, type Fields, jsonLine, textOf, type Value } from '../lines/values.js'

const writer: Writer = {
  program: 'Envoy, Envoy Gateway, Istio, Contour',
  escapes:
    'JSON: as JSON demands; a value that is not UTF-8 has each of its bytes as a character (`\\u00e9`). Text: nothing. A quote in a path, a user agent or `x-forwarded-for` stays a quote. Envoy refuses a path with spaces or control bytes (over HTTP/1 also with bytes from 127 on), and an authority with a quote; it leaves out `\\r` of a header.',
  nothing:
    '`-` in text, `null` in JSON, or no member. Without a protocol, the line is of a connection (`"- - -" 0`); with one, of a request that Envoy could not read (`"- - HTTP/1.1" 400`).',
  client:
    "`%DOWNSTREAM_REMOTE_ADDRESS%` is what Envoy itself takes for the client, so it wins: the peer behind no proxy; with `use_remote_address` and `xff_num_trusted_hops` (Istio: `numTrustedProxies`; Envoy Gateway: `clientIPDetection`) of one or two, the entry of `x-forwarded-for` at that place from the end; without `use_remote_address`, its last entry. An address from the list has port 0: no port. If an entry is no address, it is the peer; so it is for a request that Envoy refuses before it looks at its headers, such as one with `#` in its path. JSON of Envoy Gateway and Istio, and Istio's text, have it. Envoy's default text has only `x-forwarded-for`, whose last entry is the peer with `use_remote_address`, and else whom the proxy before Envoy saw: behind trusted proxies, log JSON. `%DOWNSTREAM_DIRECT_REMOTE_ADDRESS%` is the peer, and counts last.",
  times:
    '`%START_TIME%` is when the request or connection began, in milliseconds (RFC 3339), or in the form that is asked for: RFC 3339 and seconds since 1970 are read. `%DURATION%` later, in milliseconds, a connection ended.',
  lost: "In text, which quote ends a value: a line of Envoy's default text whose quotes can be read in several ways, each with another client, is refused. Envoy's default text does not name the client of a connection, nor that of a request that Envoy could not read: such a line is refused. A loopback client is 192.0.2.2, or another address of the node, in the `x-forwarded-for` that Envoy makes.",
  sources: [
    'https://www.envoyproxy.io/docs/envoy/latest/configuration/observability/access_log/usage',
    'https://www.envoyproxy.io/docs/envoy/latest/configuration/http/http_conn_man/headers#x-forwarded-for',
    'https://istio.io/latest/docs/tasks/observability/logs/access-log/#default-access-log-format',
    'https://gateway.envoyproxy.io/docs/tasks/observability/proxy-accesslog/',
    'https://projectcontour.io/docs/main/config/access-logging/',
    'source/common/http/conn_manager_utility.cc (mutateRequestHeaders), source/common/json/json_sanitizer.cc',
  ],
}

const form = new LineForm("a line of Envoy's default format, nor Istio's", [
  { what: 'a time in brackets', form: String.raw`\[(?<start>[^\]]+)\] ` },
  // A path has no space, but it may have quotes.
  {
    what: 'method, path and protocol in quotes',
    form: String.raw`"(?<method>\S+) (?<uri>\S+) (?<protocol>\S+)" `,
  },
  { what: 'a status', form: String.raw`(?<status>\d+) ` },
  // Flags; Istio has reasons behind them, the last one in quotes, and before 1.9 two in quotes.
  {
    what: 'bytes received, bytes sent, and a duration',
    form: String.raw`[^"\s]+ (?:[^"]*"[^"]*" ){0,2}(?:[^"]*? )?(?<received>\d+) (?<sent>\d+) (?<duration>\d+|-) [^"\s]+ `,
  },
  {
    what: 'x-forwarded-for, user agent, request id, authority and upstream host in quotes',
    form: `"(?<texts>.*)" "(?<id>[^"]*)" "(?<host>[^"]*)" "[^"]*"(?<rest>[^"]*)`,
  },
])

/** Istio's additions: upstream cluster, upstream local address, and then these. */
const added = /^ \S+ \S+ (?<server>\S+) (?<client>\S+) (?<name>\S+)(?: .*)?$/

/** The default text, and JSON with the names that Envoy Gateway, Istio and Contour use. */
export const envoy: Format = {
  name: 'envoy',
  about:
    "Envoy's default text, with x-forwarded-for; Istio's; or JSON with the usual names (docs/recipes/envoy.md)",
  writers: [writer],
  read(line) {
    if (!line.startsWith('{')) return textLine(line)
    const fields = jsonLine(line)
    return fields.ok ? ok(loggedBy(fields.value)) : fields
  },
}

function textLine(line: string): Result<Logged> {
  const read = form.read(line)
  if (!read.ok) return read
  const {
    start,
    method,
    uri,
    protocol,
    status,
    received,
    sent,
    duration,
    texts = '',
    id,
    host,
    rest = '',
  } = read.value
  const seen = added.exec(rest)?.groups ?? {}
  const client = seen['client'] === undefined ? forwardedIn(texts) : ok(withoutPortZero(seen['client']))
  // Behind the quote.
  const column = line.indexOf(texts, line.indexOf(`${received} ${sent}`)) + 1
  if (!client.ok) return fail({ ...client.problem, column })
  const common = { client: client.value, server: seen['server'], record_id: id, start: timeOf(start) }
  if (client.value === undefined) return fail({ msg: noClient(method, protocol), column })
  if (isConnection({ method, protocol, status }))
    return ok({ ...common, ...connection(start, duration, received, sent), host: textOf(seen['name']) })
  return ok({
    ...common,
    host: textOf(host) ?? textOf(seen['name']),
    method,
    uri,
    status,
    // It is what is left: a quote may be in it, or before it, where its client wrote it as well.
    user_agent: texts.slice(texts.indexOf(separator) + separator.length),
    request_bytes: received,
    response_bytes: sent,
  })
}

const separator = '" "'
/** More quotes than a client has a use for. */
const readingsMax = 20

/**
 * The last entry of `x-forwarded-for`, which ends at one of the separators; the user agent may have more of them. It is
 * clear if no other one has an address before it.
 */
function forwardedIn(texts: string): Result<string | undefined> {
  const [first = '', ...others] = texts.split(separator, readingsMax)
  const client = lastForwarded(first)
  // The last part is the user agent's in each reading.
  const isClear =
    others.length < readingsMax - 1 && others.slice(0, -1).every((text) => !isOther(text, client))
  return isClear
    ? ok(client)
    : problem('Its quotes can be read in several ways, each with another client: log JSON.')
}

/** Without a comma, the entry would begin before the separator, and be no address. */
function isOther(text: string, client: string | undefined): boolean {
  const last = text.includes(',') ? lastForwarded(text) : undefined
  return last !== undefined && last !== client
}

const noClient = (method: Value, protocol: Value): string =>
  `It has no address of a client: Envoy's default text names none ${
    textOf(method) === undefined && textOf(protocol) === undefined
      ? 'of a connection'
      : 'without x-forwarded-for'
  }. Log %DOWNSTREAM_REMOTE_ADDRESS%.`

/** The operators of Envoy behind the usual names. */
function loggedBy(fields: Fields): Logged {
  const start = fields.get('start_time', '@timestamp', 'timestamp')
  const [method, protocol] = [fields.get('method', ':method'), fields.get('protocol')]
  const status = fields.get('response_code')
  const common = {
    timeless: start === undefined ? withoutTime(fields, 'start_time') : undefined,
    record_id: fields.get('x-request-id', 'request_id', 'x_request_id'),
    client: clientIn(fields),
    server: fields.get('downstream_local_address'),
    host: fields.get(':authority', 'authority', 'requested_server_name'),
    start: timeOf(start),
    tls_version: fields.get('downstream_tls_version'),
    tls_cipher: fields.get('downstream_tls_cipher'),
    client_cn: commonNameIn(fields.get('downstream_peer_subject')),
  }
  const [received, sent] = [fields.get('bytes_received'), fields.get('bytes_sent')]
  if (isConnection({ method, protocol, status }))
    return { ...common, ...connection(start, fields.get('duration'), received, sent) }
  return {
    ...common,
    method,
    scheme: fields.get('scheme', ':scheme', 'x-forwarded-proto'),
    uri: fields.get('x-envoy-origin-path', 'x-envoy-original-path', 'path', ':path'),
    user_agent: fields.get('user-agent', 'user_agent'),
    request_bytes: received,
    response_bytes: sent,
    status,
  }
}

const clientIn = (fields: Fields): Value =>
  withoutPortZero(fields.get('downstream_remote_address', 'downstream_remote_address_without_port')) ??
  lastForwarded(fields.get('x-forwarded-for', 'x_forwarded_for')) ??
  fields.get('downstream_direct_remote_address')

interface Kind {
  readonly method: Value
  readonly protocol: Value
  readonly status: Value
}

/** A request that Envoy could not read has no method, but a protocol, and the status that it was answered with. */
const isConnection = ({ method, protocol, status }: Kind): boolean =>
  textOf(method) === undefined && textOf(protocol) === undefined && Number(textOf(status) ?? 0) === 0

function connection(start: Value, millis: Value, received: Value, sent: Value): Logged {
  const began = timeOf(start)
  const ended =
    (typeof began === 'number' ? began : Date.parse(began ?? '')) + Number(textOf(millis) ?? Number.NaN)
  return {
    type: 'tcp_connection',
    end: Number.isNaN(ended) ? undefined : ended,
    bytes_in: received,
    bytes_out: sent,
  }
}

/** RFC 3339, or seconds since 1970 (`%START_TIME(%s.%3f)%`). */
function timeOf(start: Value): string | number | undefined {
  const text = textOf(start)
  return text !== undefined && /^\d{9,11}(?:\.\d+)?$/.test(text) ? Math.round(Number(text) * 1_000) : text
}
