import { fail, ok, type Result } from '../../../ground/core/errors.js'
import type { Format, Logged, Writer } from '../lines/format.js'
import { lastForwarded } from '../lines/forwarded.js'
import { LineForm } from '../lines/line-form.js'
import { logTime, startOf } from '../lines/log-time.js'
import { commonNameIn, type Fields, jsonLine, splitAddress, textOf, type Value } from '../lines/values.js'

const writer: Writer = {
  program: 'Traefik',
  escapes:
    'JSON: as JSON demands; bytes that are not UTF-8 become U+FFFD. Its default text (`common`, `genericCLF`): `\\"` for a quote in referrer and user agent, and nothing else: a backslash is a character like others, and quotes and spaces of a query or a user name stay. The path is encoded (`%20`), the query is as sent, but for `;`, which is `&`.',
  nothing:
    '`-`, and `"-"` in quotes; so is a header that its settings drop, as they do by default. A header that they redact is `REDACTED`.',
  client:
    "`ClientAddr` is the peer, with its port. `ClientHost`, and the first word of its text, is `X-Forwarded-For` as Traefik passes it on, if there is one: without trusted proxies (`forwardedHeaders.trustedIPs`), Traefik has removed it, and it is the peer; behind trusted ones, it is their whole list, and its last entry is whom the nearest of them saw. That is the client behind one proxy, and the first proxy behind two: let the nearest one replace the list. `ClientPort` is the peer's: it counts only if the peer is the client. If the last entry is no address, the client is the peer.",
  times:
    '`StartUTC` and `StartLocal` are when the request began; the time of its text is that, in seconds. `time` is when the line was written: less `Duration`, which is in nanoseconds, that is the start.',
  lost: 'Its text has neither host nor scheme nor port, and the peer only if no proxy is trusted. A line of it that has two beginnings, because a client put one into its query, is refused. The fragment of a target is encoded. A path that has bytes which a URL must encode is made again from what Traefik decoded, so that its `%2f` becomes `/`. A line feed in the name of a user ends a line of its text, and what follows may look like another line: where users have names (`basicAuth`), log JSON.',
  sources: [
    'https://doc.traefik.io/traefik/observability/access-logs/',
    'https://doc.traefik.io/traefik/routing/entrypoints/#forwarded-headers',
    'pkg/middlewares/accesslog/logger.go, logger_formatters.go, pkg/middlewares/forwardedheaders/forwarded_header.go',
  ],
}

/** Quotes within are escaped, so no text has a quote, a space and a quote; a backslash at the end is one. */
const quoted = (name: string): string => String.raw`"(?<${name}>(?:[^"]|(?<=\\)")*?)"`

const time = String.raw`\[\d\d/\w+/\d{4}:[^\][]*\]`
/** The text before a request: another one may be in a query that a client sent. */
const beginning = new RegExp(`${time} "`, 'g')

const form = new LineForm("a line of Traefik's default format", [
  {
    what: 'a time in brackets behind client and user',
    form: String.raw`(?<who>.*?) \[(?<time>\d\d/\w+/\d{4}:[^\][]*)\] `,
  },
  {
    what: 'method, path and protocol in quotes',
    form: String.raw`"(?<method>\S+) (?<uri>.*) (?<protocol>\S+)" `,
  },
  { what: 'a status and a number of bytes', form: String.raw`(?<status>\d{3}|0|-) (?<bytes>\d+|-) ` },
  { what: 'referrer and user agent in quotes', form: `${quoted('referer')} ${quoted('agent')}` },
  {
    what: 'a count, router, service, and a duration',
    form: String.raw`(?: (?:\d+|-) "[^"]*" "[^"]*" \d+ms)?`,
  },
])

/** Traefik's access log: JSON, or its default, which is like the Combined Log Format, but escaped in another way. */
export const traefik: Format = {
  name: 'traefik',
  about: "Traefik's access log, in JSON or its default, which needs --server-name",
  writers: [writer],
  read(line) {
    if (!line.startsWith('{')) return textLine(line)
    const parsed = jsonLine(line)
    return parsed.ok ? ok(loggedBy(parsed.value)) : parsed
  },
}

function textLine(line: string): Result<Logged> {
  // Looked at first: the form would be tried at each beginning, and a client can send thousands.
  const [, second] = line.matchAll(beginning)
  if (second !== undefined)
    return fail({
      msg: 'It has two beginnings, one of them sent by the client: log JSON.',
      column: second.index + 1,
    })
  const read = form.read(line)
  if (!read.ok) return read
  const { who = '', time = '', method, uri, status, bytes, agent } = read.value
  const end = who.indexOf(' - ')
  if (end === -1)
    return fail({
      msg: "It is not a line of Traefik's default format: client and user are missing.",
      column: who.length + 1,
    })
  const [client, username] = [who.slice(0, end), who.slice(end + 3)]
  return ok({
    client: lastForwarded(client) ?? client,
    username,
    start: logTime(time),
    method,
    uri,
    status,
    response_bytes: bytes,
    user_agent: agent?.replaceAll('\\"', '"'),
  })
}

function loggedBy(fields: Fields): Logged {
  return {
    ...clientIn(fields),
    host: fields.get('RequestAddr', 'RequestHost'),
    port: fields.get('RequestPort'),
    scheme: fields.get('RequestScheme'),
    start:
      (fields.get('StartUTC', 'StartLocal') as string | undefined) ??
      startOf(fields.get('time') as string | undefined, nanos(fields.number('Duration'))),
    method: fields.get('RequestMethod'),
    uri: fields.get('RequestPath'),
    user_agent: fields.get('request_User-Agent'),
    request_bytes: fields.get('RequestContentSize'),
    response_bytes: fields.get('DownstreamContentSize'),
    status: fields.get('DownstreamStatus', 'OriginStatus'),
    tls_version: tlsName(fields.get('TLSVersion')),
    tls_cipher: fields.get('TLSCipher'),
    client_cn: commonNameIn(fields.get('TLSClientSubject')),
    username: fields.get('ClientUsername'),
  }
}

/** A port belongs to the peer. */
function clientIn(fields: Fields): Logged {
  const [host, peer] = [fields.get('ClientHost'), fields.get('ClientAddr')]
  const port = fields.get('ClientPort')
  if (textOf(host) === undefined) return { client: peer, client_port: port }
  const last = lastForwarded(host)
  if (last === undefined) return { client: peer ?? host }
  const isPeer = peer === undefined ? !String(host).includes(',') : isSame(last, peer)
  return isPeer ? { client: last, client_port: port ?? splitAddress(peer)?.port } : { client: last }
}

const isSame = (one: Value, other: Value): boolean =>
  splitAddress(one)?.address === splitAddress(other)?.address

const nanos = (duration: number | undefined): number | undefined =>
  duration === undefined ? undefined : duration / 1e9

/** Traefik writes `1.3`. */
const tlsName = (version: Value): string | undefined =>
  textOf(version) === undefined ? undefined : `TLSv${version}`
