import { ok, problem, type Result, shown } from '../../../ground/core/errors.js'
import { isTimestamp } from '../../../ground/core/text/timestamp.js'
import type { DurationUnit } from '../lines/duration-unit.js'
import type { Format, Logged, Writer } from '../lines/format.js'
import { logTime, startOf, type Time } from '../lines/log-time.js'
import { type Fields, jsonLine, textOf, type Value } from '../lines/values.js'

const writer: Writer = {
  program: 'Caddy',
  escapes: 'JSON. Bytes that are no UTF-8 become U+FFFD.',
  nothing: 'An empty text, or no member.',
  client:
    '`client_ip` (from 2.7 on) is the peer, or whom `trusted_proxies` of the server found in `X-Forwarded-For`: the first address, which clients may make up, or with `trusted_proxies_strict`, the last one that is not trusted. Before 2.7 there is only `remote_ip`, and before 2.5 `remote_addr`: the peer. `remote_port` belongs to the peer, so it counts only if that is the client.',
  times:
    '`ts` is when the request ended, in any `time_format` that Caddy names; less `duration`, that is the start. Times without a zone (`wall`, `wall_milli`, `wall_nano`) are UTC, so they are wrong with `time_local`. Another layout is refused. A `duration` is a text of Go, or a number, which does not say its `duration_format`: one with a fraction is in seconds, the default. With `ms` (from 2.8 on) or `nano`, numbers are whole: give `--caddy-duration ms` or `nano` to `weir publish`. Without it, a whole number below 100 is taken for seconds, another one for nanoseconds, so that milliseconds are misread, and `weir publish` says how many lines this may concern.',
  lost: 'Ports of the server. `Authorization` and cookies. Of a cipher suite there is only the number, which is left out. Lines of other loggers than `http.log.access` are refused: they speak of the same request once more.',
  sources: [
    'https://caddyserver.com/docs/caddyfile/directives/log',
    'https://caddyserver.com/docs/caddyfile/options#trusted-proxies',
    'modules/logging/encoders.go (LogEncoderConfig), modules/caddyhttp/marshalers.go, modules/caddyhttp/server.go (logRequest)',
  ],
}

/** Numbers of RFC 8446, section 4.1.2, as Go's crypto/tls writes them. */
const tlsVersions: ReadonlyMap<unknown, string> = new Map([
  [0x0301, 'TLSv1'],
  [0x0302, 'TLSv1.1'],
  [0x0303, 'TLSv1.2'],
  [0x0304, 'TLSv1.3'],
])

/** Caddy's own access log. It writes the line at the end of the request. */
export const caddy: Format = {
  name: 'caddy',
  about: "Caddy's access log in JSON, its default if the output is not a terminal",
  writers: [writer],
  read(line, given) {
    const parsed = jsonLine(line)
    if (!parsed.ok) return parsed
    const entry = parsed.value
    const request = entry.within('request')
    if (request.get('method', 'uri') === undefined)
      return problem('It is not a line of the access log: it has no request.')
    const logger = textOf(entry.get('logger')) ?? accessLogger
    if (!/^http\.log\.access(?:\.|$)/.test(logger))
      return problem(`The logger is ${shown(logger)}: it is a line of another logger, not of the access log.`)
    const start = startIn(entry, given?.caddyDuration)
    if (!start.ok) return start
    const doubt = isUnitUnknown(entry.get('duration'), given?.caddyDuration) ? unknownUnit : undefined
    return ok({ ...requestOf(entry, request, start.value), doubt })
  },
}

/** If `name_key` has another name, or none. */
const accessLogger = 'http.log.access'

function requestOf(entry: Fields, request: Fields, start: Time): Logged {
  const [headers, tls] = [request.within('headers'), request.within('tls')]
  return {
    client: request.get('client_ip', 'remote_ip', 'remote_addr'),
    // The port of a proxy is not the client's.
    client_port: [undefined, request.get('remote_ip')].includes(request.get('client_ip'))
      ? request.get('remote_port')
      : undefined,
    host: request.get('host'),
    scheme: tls.get('version', 'cipher_suite', 'ciphersuite') === undefined ? 'http' : 'https',
    start,
    method: request.get('method'),
    uri: request.get('uri'),
    user_agent: headers.within('User-Agent').get('0'),
    request_bytes: entry.get('bytes_read'),
    response_bytes: entry.get('size'),
    status: entry.get('status'),
    tls_version: tlsVersions.get(tls.get('version')),
    client_cn: tls.get('client_common_name'),
    username: entry.get('user_id'),
  }
}

// --- times ---

function startIn(entry: Fields, unit: DurationUnit | undefined): Result<Time> {
  const end = endOf(entry.get('ts', 'time', 'timestamp', '@timestamp'))
  if (!end.ok) return end
  const duration = entry.get('duration')
  const seconds = secondsOf(duration, unit)
  return seconds === undefined && duration !== undefined
    ? problem(`The duration is ${shown(duration)}, which no duration_format of Caddy writes.`)
    : ok(startOf(end.value, seconds))
}

/**
 * The formats that Caddy names, all but `common_log`: RFC 3339, `iso8601` (without a colon in the zone) and `wall` (UTC).
 */
const textForm = /^(\d{4})[-/](\d\d)[-/](\d\d)[T ]([\d:.]+)(?:Z|([+-]\d\d):?(\d\d))?$/

function endOf(time: ReturnType<Fields['get']>): Result<Time> {
  if (time === undefined || time === null) return ok(undefined)
  const number = Number(time)
  if (Number.isFinite(number)) return ok(number * (number < 1e11 ? 1_000 : number < 1e14 ? 1 : 1e-6))
  const { 1: year, 2: month, 3: day, 4: clock, 5: hours, 6: minutes } = textForm.exec(String(time)) ?? []
  const zone = hours === undefined ? 'Z' : `${hours}:${minutes}`
  const text = year === undefined ? logTime(String(time)) : `${year}-${month}-${day}T${clock}${zone}`
  return typeof text === 'string' && isTimestamp(text)
    ? ok(text)
    : problem(
        `The time is ${shown(time)}, which has a layout of its own: set time_format to one that Caddy names, such as rfc3339_nano.`,
      )
}

/**
 * Below this, a whole number is one of seconds, unless it is known better. The quickest requests take some 900 nanoseconds,
 * and no request takes minutes to the nanosecond.
 */
const nanosMin = 100

/** A duration in seconds, the default, is hardly ever a whole number. */
const isUnitUnknown = (duration: Value, unit: DurationUnit | undefined): boolean =>
  unit === undefined && /^[1-9]\d*$/.test(textOf(duration) ?? '')

const unknownUnit =
  'Its duration is a whole number, which may be seconds, milliseconds or nanoseconds, so its start may be wrong: give --caddy-duration.'

/** Seconds in one of them. */
const unitSeconds: Readonly<Record<DurationUnit, number>> = { seconds: 1, ms: 1e-3, nano: 1e-9 }

const goUnits: Readonly<Record<string, number>> = {
  h: 3_600,
  m: 60,
  s: 1,
  ms: 1e-3,
  us: 1e-6,
  ns: 1e-9,
  // Go writes the micro sign, and reads the Greek letter as well.
  '\u00b5s': 1e-6,
  '\u03bcs': 1e-6,
}
const goPart = /(\d+(?:\.\d+)?)(h|ms|m|s|us|\u00b5s|\u03bcs|ns)/g
const goForm = new RegExp(`^(?:${goPart.source})+$`)

/** A number, or a text of Go, such as `1m32.05s`. Only seconds have a fraction. */
function secondsOf(duration: ReturnType<Fields['get']>, unit: DurationUnit | undefined): number | undefined {
  if (duration === undefined || duration === null) return undefined
  const number = Number(duration)
  if (Number.isFinite(number)) {
    const likely = number < nanosMin ? 'seconds' : 'nano'
    return number * (Number.isInteger(number) ? unitSeconds[unit ?? likely] : 1)
  }
  const text = String(duration)
  if (!goForm.test(text)) return undefined
  return [...text.matchAll(goPart)].reduce(
    (sum, [, count, unit]) => sum + Number(count) * (goUnits[unit ?? ''] ?? 0),
    0,
  )
}
