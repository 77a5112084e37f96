/** Endpoints: `host:port`, or a wildcard. */
import { ok, problem, type Result } from '../errors.js'
import { parseHost } from './host-name.js'
import { familyOf } from './ip.js'

const portMax = 65_535

/**
 * The canonical spelling, so that equal hostports are equal texts: names lower-case and in the ASCII form of IDNA
 * (RFC 5891), IPv6 addresses in brackets.
 */
export function parseHostport(text: string): Result<string> {
  const match = /^(\[[^\]]*\]|[^[\]:\s]+):(\d{1,5})$/.exec(text)
  if (match === null) return problem('"host:port" is needed, an IPv6 address in brackets')
  const [, host = '', port = ''] = match
  if (Number(port) < 1 || Number(port) > portMax) return problem(`the port must be 1 to ${portMax}`)
  if (port.startsWith('0')) return problem('the port must be written without leading zeros')
  const name = parseHost(host)
  return name.ok ? ok(`${name.value}:${port}`) : name
}

const anyHost = '*'
const anyPort = '*'
const wildcard = '*.'

/** A hostport, or a wildcard: `*.<domain>` for every name below the domain, `*` for every host or for every port. */
export function parseServed(text: string): Result<string> {
  const colon = text.lastIndexOf(':')
  const [host, port] = [text.slice(0, colon), text.slice(colon + 1)]
  const domain = host.startsWith(wildcard) ? host.slice(wildcard.length) : host
  // Every name and port that a wildcard stands for is valid, so a valid example is checked in its place.
  const parsed = parseHostport(`${host === anyHost ? 'any' : domain}:${port === anyPort ? '1' : port}`)
  if (!parsed.ok) return parsed
  const name = parsed.value.slice(0, parsed.value.lastIndexOf(':'))
  if (host === anyHost) return ok(`${anyHost}:${port}`)
  if (host === domain) return ok(`${name}:${port}`)
  const isAddress = name.startsWith('[') || familyOf(name) !== undefined
  return isAddress ? problem('an address has no names below it') : ok(`${wildcard}${name}:${port}`)
}
