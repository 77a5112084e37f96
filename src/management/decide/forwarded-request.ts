/**
 * The record of a request that a proxy asks about: from the headers in which nginx, Traefik, Caddy and Envoy describe
 * it. Only trusted proxies may describe another request than the one they send.
 */
import { isUtf8 } from 'node:buffer'
import { isAddress } from '../../ground/core/address/ip.js'
import { fail, ok, type Result, shown } from '../../ground/core/errors.js'
import { recordIdCharsMax } from '../../ground/core/limits.js'
import { portOfScheme, readingsOfUri, splitHost, splitUri } from '../../ground/core/text/request-target.js'
import { unknownAddress } from '../access/caller.js'

/** The values of each header in their order, by its name in small letters. */
type HeaderValues = Readonly<Record<string, readonly string[] | undefined>>

/** `headersDistinct` without its fault: before Node 20.20.2, it throws an error for a header named `constructor`. */
export function headersIn(rawHeaders: readonly string[]): HeaderValues {
  const headers = new Map<string, string[]>()
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!.toLowerCase()
    const value = rawHeaders[index + 1]!
    const values = headers.get(name)
    if (values === undefined) headers.set(name, [value])
    else values.push(value)
  }
  return Object.fromEntries(headers)
}

/** The request of a proxy. */
interface ProxyRequest {
  readonly method: string
  readonly headers: HeaderValues
  /** Headers that hold the key of Weir: no policy sees them. */
  readonly keyHeaders: readonly string[]
  /** Path and query of the request itself, if the proxy appends them to the path of the decision port. */
  readonly appendedUri: string
  /** The address of the proxy. */
  readonly peer: string
  /** Parameters of the query, which the proxy's own configuration sets. */
  readonly type: string | undefined
  readonly edgeId: string | undefined
}

type IsTrusted = (address: string) => boolean

/** The record as an ingress node would send it. The problem names the header. */
export function recordOfProxy(
  request: ProxyRequest,
  accountId: string,
  isTrusted: IsTrusted,
  addressOf: (text: string | undefined) => string,
): Result<object> {
  const { headers, type = 'http_request', edgeId } = request
  const isProxy = isTrusted(request.peer)
  const contradiction = contradictionIn(request, isProxy)
  if (contradiction !== undefined) return fail({ msg: contradiction })
  const client = clientOf(request, isProxy, isTrusted, addressOf)
  if (!client.ok) return client
  const forwarded = (name: string): string | undefined => (isProxy ? first(headers[name]) : undefined)
  const named = forwarded('x-forwarded-host') ?? headers['host']?.[0] ?? ''
  const host = splitHost(named)
  if (!isHost(host.name)) return fail({ msg: `The request is for the host ${shown(named)}, which is none.` })
  const scheme = forwarded('x-forwarded-proto')?.toLowerCase()
  const port = host.port ?? portOfScheme(scheme ?? '')
  const uri = uriOf(request, isProxy)
  if (!uri.ok) return uri
  const method = forwarded('x-forwarded-method') ?? forwarded('x-original-method') ?? request.method
  return ok({
    ...recordIdOf(forwarded('weir-record-id') ?? forwarded('x-request-id')),
    type,
    account_id: accountId,
    edge_id: edgeId ?? null,
    conn: {
      client_ip: client.value,
      server_name: host.name,
      server_port: port ?? null,
    },
    http: {
      request: {
        method,
        user_agent: headers['user-agent']?.[0] || null,
        headers: headersFor(request),
        url: { scheme: scheme ?? null, host: host.name, ...splitUri(uri.value), raw: uri.value },
      },
    },
  })
}

/** Applications find different names in what is none, such as `a.example:1:2` or `a.example,b.example`. */
const isHost = (name: string): boolean =>
  (/^[\w.\u0080-\uffff-]*$/.test(name) && !name.includes('..')) || isAddress(name)

/** The last one is no proxy's, but applications take it for the URI. */
const uriHeaders = ['X-Forwarded-Uri', 'X-Original-URI', 'X-Original-URL', 'X-Rewrite-URL']
/** Headers that say what request a question is about. */
const describing = ['X-Forwarded-Host', 'X-Forwarded-Method', 'X-Original-Method', ...uriHeaders]

/**
 * Why it is not known which request is meant. A proxy that passes on method, host and URI as they are does not replace
 * headers that a client made up, and one that appends to such a header leaves the client's value in front.
 */
function contradictionIn({ headers, appendedUri, peer }: ProxyRequest, isProxy: boolean): string | undefined {
  const present = describing.find((name) => headers[name.toLowerCase()] !== undefined)
  if (present !== undefined && appendedUri !== '')
    return `The proxy appends the path of the request, and sends the header ${present} as well: they may describe different requests. It must send one of them, and remove ${present} if it comes from the client.`
  if (present !== undefined && !isProxy) return untrusted(present, peer)
  const manifold = ['Host', 'X-Forwarded-Proto', ...describing].find(
    (name) => valuesOf(name, headers[name.toLowerCase()]).size > 1,
  )
  return manifold && `The header ${manifold} has several values: the proxy must replace what a client sends.`
}

/** A comma is part of a URI, and of a host that is none. Proxies append theirs to the others. */
const valuesOf = (name: string, values: readonly string[] = []): ReadonlySet<string> =>
  new Set(name === 'Host' || uriHeaders.includes(name) ? values : all(values))

const untrusted = (header: string, peer: string): string =>
  `The header ${header} comes from ${peer}, which is not a trusted proxy: add it to WEIR_TRUST_PROXY.`

/**
 * The URI of the request: appended to the path of the decision port, or in a header. Traefik and Caddy send X-Forwarded-Uri,
 * the manual of nginx has X-Original-URI, and ingress-nginx X-Original-URL. A proxy replaces the one that it sends, so that
 * a client can only add another one.
 */
function uriOf({ headers, appendedUri }: ProxyRequest, isProxy: boolean): Result<string> {
  if (appendedUri !== '' || !isProxy) return ok(asSent(appendedUri))
  const uris = uriHeaders.flatMap((name) => headers[name.toLowerCase()]?.[0] ?? [])
  return new Set(uris.map(targetOf)).size <= 1
    ? ok(asSent(uris[0] ?? ''))
    : fail({
        msg: `The headers ${listed(uriHeaders)} name different requests: the proxy must remove those that it does not send itself.`,
      })
}

const listed = (names: readonly string[]): string => `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`

/** The same for a path and for the whole URL with it, which readings of the target would not tell apart. */
const targetOf = (uri: string): string =>
  JSON.stringify([readingsOfUri(uri).all.map(({ path }) => path), splitUri(uri).query])

/** HTTP carries bytes, and Node makes a character of each. Those that are not UTF-8 are shown percent-encoded. */
function asSent(uri: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the range of ASCII.
  if (/^[\x00-\x7f]*$/.test(uri)) return uri
  const bytes = Buffer.from(uri, 'latin1')
  return isUtf8(bytes)
    ? bytes.toString()
    : uri.replace(/[\x80-\xff]/g, (byte) => `%${byte.charCodeAt(0).toString(16)}`)
}

/** The headers that policies may look at: those of the client, if the proxy passes them on, and the proxy's own. */
const headersFor = ({ headers, keyHeaders }: ProxyRequest): object =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !keyHeaders.includes(name)))

/** Joins the question with the record that the proxy publishes later. A decision never depends on it. */
const recordIdOf = (id: string | undefined): { readonly record_id?: string } =>
  id === undefined || [...id].length > recordIdCharsMax ? {} : { record_id: id }

/** The last address in X-Forwarded-For that is not a trusted proxy; else the peer. */
function clientOf(
  { headers, peer }: ProxyRequest,
  isProxy: boolean,
  isTrusted: IsTrusted,
  addressOf: (text: string | undefined) => string,
): Result<string> {
  const entries = all(headers['x-forwarded-for'])
  if (!isProxy && entries.length === 0) return ok(peer)
  if (!isProxy) return fail({ msg: untrusted('X-Forwarded-For', peer) })
  if (entries.length === 0)
    return fail({ msg: `The trusted proxy ${peer} must send the client's address as X-Forwarded-For.` })
  const entry = entries.findLast((each) => !isTrusted(each)) ?? entries[0]
  const address = addressOf(entry)
  if (address !== unknownAddress) return ok(address)
  return fail({ msg: `The header X-Forwarded-For has the entry ${shown(entry)}, which is not an address.` })
}

const all = (values: readonly string[] = []): string[] =>
  values
    .flatMap((value) => value.split(','))
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')

/** The first entry: proxies append theirs. */
const first = (values: readonly string[] | undefined): string | undefined => all(values)[0]
