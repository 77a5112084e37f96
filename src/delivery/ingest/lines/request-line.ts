/** The first line of a request (RFC 9112, section 3), and the target in it. */
import { splitUri } from '../../../ground/core/text/request-target.js'
import { textOf, type Value } from './values.js'

interface RequestLine {
  readonly method?: string
  readonly uri?: string
}

/** A token, as any method may be (RFC 9110, section 9.1), and what follows it. */
const methodForm = /^([\w!#$%&'*+.^`|~-]+) +(?=[^ ])/
const protocolForm = /^[A-Za-z]+\/\d+(?:\.\d+)?$/

/**
 * `GET /a?b HTTP/1.1`. A client may send spaces within the target: servers that refuse them log them. What is no request,
 * such as the first bytes of TLS, or `<BADREQ>`, has neither method nor target.
 */
export function requestParts(line = ''): RequestLine {
  const [start, method] = methodForm.exec(line) ?? []
  if (start === undefined || method === undefined) return {}
  const rest = line.slice(start.length).trimEnd()
  const end = rest.lastIndexOf(' ')
  const hasProtocol = end !== -1 && protocolForm.test(rest.slice(end + 1))
  return { method, uri: hasProtocol ? rest.slice(0, end).trimEnd() : rest }
}

export interface Url {
  readonly scheme?: string | undefined
  /** With its port. */
  readonly host?: string | undefined
  readonly path?: string
  readonly query?: string | null
}

interface Target {
  readonly method?: Value
  readonly uri?: Value
  readonly path?: Value
  readonly query?: Value
}

const urlForm = /^([a-zA-Z][\w+.-]*):\/\/([^/?#]*)(.*)$/s

/** The target of a request (RFC 9112, section 3.2): a path with a query, a whole URL, an authority, or `*`. */
export function targetOf({ method, uri, path, query }: Target): Url | undefined {
  const text = textOf(uri)
  if (text === undefined) return textOf(path) === undefined ? undefined : decodedTarget(path, query)
  if (textOf(method) === 'CONNECT') return { host: withoutUser(text) }
  const { 1: scheme, 2: authority, 3: rest } = urlForm.exec(text) ?? []
  const split = text === '*' ? { path: '*' } : splitUri(rest ?? text)
  return { scheme: scheme?.toLowerCase(), host: withoutUser(authority), ...split }
}

/** `user:password@example.com:8080`: host and port follow the last `@`, as URL parsers read it. */
const withoutUser = (authority: string | undefined): string | undefined =>
  authority?.slice(authority.lastIndexOf('@') + 1)

/** The server has decoded this path. It is read like others, so it is encoded first: it must not be decoded once more. */
function decodedTarget(path: Value, query: Value): Url {
  const encoded = String(path).replace(/[%?#]/g, encodeURIComponent)
  return { ...splitUri(encoded), query: textOf(query) ?? null }
}
