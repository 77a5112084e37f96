/** The target of a request: a host with a port, a path with a query. */
import { isDisputed, type Readings, readingsOf, rfcPath } from './target-readings.js'

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

/**
 * `example.com:443`, `[2001:db8::1]:443`, with or without the port, which may be empty. Another text is a name as a whole.
 */
export function splitHost(host: string): HostAndPort {
  const { 1: name, 2: port } = /^(\[[^\]]*\]|[^:]*)(?::(\d{0,9}))?$/.exec(host) ?? []
  if (name === undefined) return { name: host, port: undefined }
  return { name: name.replace(/^\[|\]$/g, ''), port: port ? Number(port) : undefined }
}

interface Target {
  /** As RFC 3986 reads it, and decoded: what events and logs show. */
  readonly path: string
  readonly query: string | null
}

/** Scheme and host of a URL; a path never begins like this. */
const origin = /^[a-z][\w+.-]*:\/\/[^/?#]*/i

/** Path and query of a URI or URL. Servers may read the path in other ways, too: see `target-readings.ts`. */
export function splitUri(uri: string): Target {
  const { 1: sent = '', 2: query } = /^([^?#]*)(?:\?([^#]*))?/.exec(uri.replace(origin, '')) ?? []
  const path = rfcPath(sent)
  return { path: path.startsWith('/') ? path : `/${path}`, query: query ?? null }
}

/** Parsers of URLs also end the host at a backslash, or at any sign that no host has, and skip slashes before it. */
const endOfHost =
  /^[a-z][\w+.-]*:\/\/(?:\/+[^/#\\]*|(?:[^/#\\]*@)?[^/#@\\\t\n\r "%';<>^`{|}]*(?=[\\\t\n\r "%';<>^`{|}]))(.*)/is

/** The path of a URI or URL in all readings. */
export function readingsOfUri(uri: string): Readings {
  const end = uri.indexOf('?')
  const target = end === -1 ? uri : uri.slice(0, end)
  const path = target.replace(origin, '')
  const { 1: afterHost } = endOfHost.exec(target) ?? []
  return readingsOf(path === '' ? '/' : path, afterHost)
}

/** Does the URI name this path, and do all servers read it so? For most it is seen without another text. */
export function namesPath(uri: string, path: string): boolean {
  if (uri.length === path.length) return uri === path && !isDisputed(path)
  // `startsWith` takes three times as long.
  return uri[path.length] === '?' && uri.slice(0, path.length) === path && !isDisputed(path)
}
