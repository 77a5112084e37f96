/**
 * Requests of the web console: the cookie of a session, and the checks that stop other sites from using it.
 *
 * A browser sends the cookie to Weir whoever made the page. `SameSite=Strict` keeps it from other sites; a request that
 * changes something must also have a header that no form can send and that scripts of other origins may not, and come
 * from Weir's own origin as far as the browser says where it comes from.
 */
import type { FastifyRequest } from 'fastify'
import { isAddress } from '../../../ground/core/address/ip.js'
import { shown, WeirError } from '../../../ground/core/errors.js'
import { splitHost } from '../../../ground/core/text/request-target.js'
import { callerAddress, unauthenticated } from '../../access/caller.js'
import { headerLines, onlyHeader } from './headers.js'

export const sessionCookie = 'weir_console'
/** Over TLS. Browsers take a cookie of such a name only over TLS and from the host itself, so no neighbour can plant one. */
export const secureSessionCookie = `__Host-${sessionCookie}`
export const consoleHeader = 'Weir-Console'

/** The value of the session's cookie; undefined if the request has none. `baseUrl`: as for `checkConsoleRequest`. */
export function sessionTokenOf(request: FastifyRequest, baseUrl: string | undefined): string | undefined {
  const cookies = headerLines(request, 'Cookie').flatMap((line) => line.split(';').map(cookieIn))
  const isGiven = cookies.some(({ name }) => name === secureSessionCookie)
  const name = isGiven || isKnownSecure(request, baseUrl) ? secureSessionCookie : sessionCookie
  const values = cookies.filter((each) => each.name === name).map(({ value }) => value)
  // A neighbouring domain could add a cookie of its own, and make a person work in a foreign account.
  if (new Set(values).size > 1)
    throw unauthenticated(`The cookie "${name}" is given ${values.length} times: delete it.`)
  return values[0] === '' ? undefined : values[0]
}

function cookieIn(pair: string): { readonly name: string; readonly value: string } {
  const [name = '', ...value] = pair.trim().split('=')
  return { name, value: value.join('=') }
}

/** The header that sets the cookie; without a token, the one that deletes it. */
export const setCookie = (token: string, maxAgeSeconds: number, isSecure: boolean): string =>
  `${isSecure ? secureSessionCookie : sessionCookie}=${token}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${maxAgeSeconds}${isSecure ? '; Secure' : ''}`

const readMethods = new Set(['GET', 'HEAD'])

/** `baseUrl`: where people reach Weir, if that is set; a proxy in front may pass on another Host. */
export function checkConsoleRequest(request: FastifyRequest, baseUrl: string | undefined): void {
  const site = onlyHeader(request, 'Sec-Fetch-Site')
  if (site === 'cross-site') throw foreign('another site')
  if (readMethods.has(request.method)) return
  if (onlyHeader(request, consoleHeader) !== '1')
    throw new WeirError(
      'ERR_FORBIDDEN',
      `The header "${consoleHeader}: 1" is needed: a request with a session changes nothing without it.`,
    )
  if (site !== undefined && site !== 'same-origin') throw foreign('another origin')
  const origin = onlyHeader(request, 'Origin')
  if (origin === undefined) return
  const host = hostOf(origin)
  if (host === '') throw foreign(`the origin ${shown(origin)}`)
  const own = ownHosts(request, baseUrl)
  if (!own.includes(host)) throw foreign(`the origin ${shown(origin)}`, adviceFor(origin, own))
}

const foreign = (whence: string, advice = ''): WeirError =>
  new WeirError(
    'ERR_FORBIDDEN',
    `The request comes from ${whence}: a session may be used by pages of Weir's own origin only.${advice}`,
  )

/** A proxy in front of Weir may have passed on a Host of its own. */
const adviceFor = (origin: string, own: readonly string[]): string =>
  ` Here, that is ${
    own
      .filter(Boolean)
      .map((each) => shown(each))
      .join(' or ') || 'an address, or a name of loopback such as localhost'
  }. If people reach Weir at ${shown(origin)}, set WEIR_BASE_URL to it, or let the proxy pass on "Host".`

/**
 * With ports, as browsers send them; `X-Forwarded-Host` counts if a trusted proxy sends it. The name that the request was
 * sent to is our own only if it can't be one that its owner has made lead here (DNS rebinding), as far as that can be known.
 */
function ownHosts(request: FastifyRequest, baseUrl: string | undefined): string[] {
  const host = request.host.toLowerCase()
  return [
    ...(mayBeForeign(host, request, baseUrl) ? [] : [host]),
    ...(baseUrl === undefined ? [] : [hostOf(baseUrl)]),
  ]
}

/**
 * No one else can make loopback's own names or an address lead here. Any other name can be foreign if `WEIR_BASE_URL` says
 * what the own one is, or if the request came over loopback, where no name but loopback's own is needed.
 */
const mayBeForeign = (host: string, { socket }: FastifyRequest, baseUrl: string | undefined): boolean =>
  !isLoopbackName.test(host) &&
  !isAddress(splitHost(host).name) &&
  (baseUrl !== undefined || isLoopback(socket.localAddress))

/** Empty, which is no host, for `null`: the origin of sandboxed pages. */
const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : '')

const forwardingHeaders = [
  'Forwarded',
  'Via',
  'X-Forwarded-For',
  'X-Forwarded-Host',
  'X-Forwarded-Proto',
  'X-Real-IP',
]

/** How a request came if not from this machine, or from a proxy that says so; undefined: it came from here. */
export function detourOf(request: FastifyRequest): string | undefined {
  const address = request.socket.remoteAddress
  if (!isLoopback(address)) return `from the address ${callerAddress(address)}`
  const header = forwardingHeaders.find((name) => headerLines(request, name).length > 0)
  return header === undefined ? undefined : `through a proxy, which sent "${header}"`
}

/** Did the browser use TLS? It says so itself in `Origin`, which it sends whenever something changes. */
export function isSecure(request: FastifyRequest, baseUrl: string | undefined): boolean {
  const origin = onlyHeader(request, 'Origin')
  if (origin !== undefined && hostOf(origin) !== '') return origin.startsWith('https:')
  return isKnownSecure(request, baseUrl)
}

/** The same without its help: `WEIR_BASE_URL` tells it, except for a browser on the machine itself. */
const isKnownSecure = ({ protocol, host }: FastifyRequest, baseUrl: string | undefined): boolean =>
  protocol === 'https' || (baseUrl?.startsWith('https:') === true && !isLoopbackName.test(host))

const isLoopback = (address: string | undefined): boolean => /^(::ffff:)?127\.|^::1$/.test(address ?? '')

/** Browsers never look up names below `localhost`: https://www.rfc-editor.org/rfc/rfc6761#section-6.3 */
const isLoopbackName = /^(([a-z\d-]+\.)*localhost|127(\.\d+){3}|\[::1\])(:\d+)?$/i
