import { ok, problem } from '../../core/errors.js'
import { type Format, logTime } from '../format.js'

/** A text in quotes; nginx and Apache escape quotes in it. */
const quoted = (name: string): string => String.raw`"(?<${name}>(?:[^"\\]|\\.)*)"`
/** Traefik writes more behind it. */
const form = new RegExp(
  String.raw`^(?:(?<host>\S+:\d+) )?(?<client>\S+) \S+ (?<username>.+?) \[(?<time>[^\][]+)\] ${quoted('request')} (?<status>\d{3}|-) (?<bytes>\d+|-)(?: ${quoted('referer')} ${quoted('agent')})?(?: .*)?$`,
)

/** `192.0.2.1 - alice [10/Oct/2026:13:55:36 +0000] "GET /a HTTP/1.1" 200 2326 "https://example.com/" "curl/8"` */
export const combined: Format = {
  name: 'combined',
  about:
    'the Common or Combined Log Format of Apache and nginx, also with host:port before it; --server-name if it has none',
  read(line) {
    const match = form.exec(line)?.groups
    if (match === undefined) return problem('It is not a line of the Common or Combined Log Format.')
    const { host, client, username, time, request, status, bytes, agent } = match
    const [method, uri] = requestParts(request)
    return ok({
      ...{ client, host, username, start: logTime(time!), status, response_bytes: bytes },
      ...{ method, uri, user_agent: unescaped(agent) },
    })
  },
}

/** `GET /a?b HTTP/1.1`; what is no request, such as the first bytes of TLS, is left out. */
export function requestParts(request = ''): [method?: string, uri?: string] {
  const { 1: method, 2: uri } =
    /^([A-Z][A-Z_-]*) (\S+)(?: HTTP\/[\d.]+)?$/.exec(unescaped(request) ?? '') ?? []
  return method === undefined || uri === undefined ? [] : [method, uri]
}

/** `\"`, `\\`, and bytes as `\x1b` (nginx, Apache). */
const unescaped = (text: string | undefined): string | undefined =>
  text?.replace(/\\(?:x([0-9A-Fa-f]{2})|(.))/g, (_, hex: string | undefined, char: string) =>
    hex === undefined ? char : String.fromCharCode(Number.parseInt(hex, 16)),
  )
