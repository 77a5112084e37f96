/**
 * Requests of the web console: the cookie of a session, and the checks that stop other sites from using it.
 *
 * A browser sends the cookie to Weir whoever made the page. `SameSite=Strict` keeps it from other sites; a request that
 * changes something must also have a header that no form can send and that scripts of other origins may not, and come
 * from Weir's own origin as far as the browser says where it comes from.
 */
import type { FastifyRequest } from 'fastify'
import { shown, WeirError } from '../../core/errors.js'
import { headerLines, onlyHeader } from '../headers.js'
import { unauthenticated } from './caller.js'

export const sessionCookie = 'weir_console'
export const consoleHeader = 'Weir-Console'

/** The value of the session's cookie; undefined if the request has none. */
export function sessionTokenOf(request: FastifyRequest): string | undefined {
  const values = headerLines(request, 'Cookie').flatMap((line) =>
    line.split(';').flatMap((pair) => {
      const [name = '', ...value] = pair.trim().split('=')
      return name === sessionCookie ? [value.join('=')] : []
    }),
  )
  // A neighbouring domain could add a cookie of its own, and make a person work in a foreign account.
  if (new Set(values).size > 1)
    throw unauthenticated(`The cookie "${sessionCookie}" is given ${values.length} times: delete it.`)
  return values[0] === '' ? undefined : values[0]
}

/** The header that sets the cookie; without a token, the one that deletes it. */
export const setCookie = (token: string, maxAgeSeconds: number, isSecure: boolean): string =>
  `${sessionCookie}=${token}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${maxAgeSeconds}${isSecure ? '; Secure' : ''}`

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
  if (origin !== undefined && !ownHosts(request, baseUrl).includes(hostOf(origin)))
    throw foreign(`the origin ${shown(origin)}`)
}

const foreign = (whence: string): WeirError =>
  new WeirError(
    'ERR_FORBIDDEN',
    `The request comes from ${whence}: a session may be used by pages of Weir's own origin only.`,
  )

/** With ports, as browsers send them; `X-Forwarded-Host` counts if a trusted proxy sends it. */
function ownHosts({ host }: FastifyRequest, baseUrl: string | undefined): string[] {
  return [host.toLowerCase(), ...(baseUrl === undefined ? [] : [hostOf(baseUrl)])]
}

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

/** Does the request come from this machine, and from no proxy that says so? */
export const isLocal = (request: FastifyRequest): boolean =>
  /^(::ffff:)?127\.|^::1$/.test(request.socket.remoteAddress ?? '') &&
  forwardingHeaders.every((name) => headerLines(request, name).length === 0)

/** Did the browser use TLS, as far as Weir knows? */
export const isSecure = ({ protocol }: FastifyRequest, baseUrl: string | undefined): boolean =>
  protocol === 'https' || baseUrl?.startsWith('https:') === true
