/** What a request names: a host with a port, a path with a query. */

const portsByScheme: ReadonlyMap<string, number> = new Map([
  ['http', 80],
  ['ws', 80],
  ['https', 443],
  ['wss', 443],
])

/** The port of a scheme in small letters; undefined if it has none of its own. */
export const portOfScheme = (scheme: string): number | undefined => portsByScheme.get(scheme)

interface HostAndPort {
  /** IPv6 without brackets. */
  readonly name: string
  readonly port: number | undefined
}

/** `example.com:443`, `[2001:db8::1]:443`, with or without the port. Another text is a name as a whole. */
export function splitHost(host: string): HostAndPort {
  const { 1: name, 2: port } = /^(\[[^\]]*\]|[^:]*)(?::(\d{1,5}))?$/.exec(host) ?? []
  if (name === undefined) return { name: host, port: undefined }
  return { name: name.replace(/^\[|\]$/g, ''), port: port === undefined ? undefined : Number(port) }
}

interface Target {
  readonly path: string
  readonly query: string | null
}

/** Scheme and host of a URL; a path never begins like this. */
const origin = /^[a-z][\w+.-]*:\/\/[^/?#]*/i

/**
 * Path and query of a URI or URL. The path is decoded and cleaned of empty and dot segments, as servers do before they choose what to
 * serve: otherwise `//admin` or `/%61dmin` would miss the route of `/admin`.
 */
export function splitUri(uri: string): Target {
  const { 1: sent = '', 2: query } = /^([^?#]*)(?:\?([^#]*))?/.exec(uri.replace(origin, '')) ?? []
  const segments: string[] = []
  for (const segment of decoded(sent).split(/[/\\]/)) {
    if (segment === '..') segments.pop()
    else if (segment !== '' && segment !== '.') segments.push(segment)
  }
  const isFolder = segments.length > 0 && /[/\\]$/.test(sent)
  return { path: `/${segments.join('/')}${isFolder ? '/' : ''}`, query: query ?? null }
}

/**
 * Servers take any bytes in a path, so this reads any: bytes that are not UTF-8 become U+FFFD, and a `%` without two
 * digits stays.
 */
const decoded = (path: string): string =>
  path.replace(/(?:%[\da-f]{2})+/gi, (bytes) => Buffer.from(bytes.replaceAll('%', ''), 'hex').toString())
