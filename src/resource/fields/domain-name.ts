/** Names of reserved domains: `app.example.com`, or `*.example.com` for all names one level below. */

import { disguiseIn, parseHost } from '../../core/address/host-name.js'
import { familyOf } from '../../core/address/ip.js'
import { ok, problem, type Result, valueOr } from '../../core/errors.js'

export const wildcard = '*.'

/** The name lower-cased, in the ASCII form of IDNA (RFC 5891), so that equal names are equal text. */
export function parseDomainName(text: string): Result<string> {
  const head = text.startsWith(wildcard) ? wildcard : ''
  const name = text.slice(head.length)
  const disguise = disguiseIn(name)
  if (disguise !== undefined) return problem(`the name ${disguise}`)
  const host = parseHost(name)
  if (!host.ok || !host.value.includes('.')) return problem(allowed)
  if (familyOf(host.value) !== undefined) return problem('an address is not a domain name')
  return ok(`${head}${host.value}`)
}

const allowed = 'a domain name such as "app.example.com" or "*.example.com" is needed'

/** For text that was checked before. */
export const canonicalDomainName = (text: string): string => valueOr(parseDomainName(text), text)

/**
 * Does a name of a certificate cover the domain? A wildcard stands for exactly one label, the first (RFC 6125, 6.4.3);
 * a wildcard domain needs the same wildcard, as clients ask for any name below it.
 */
export function isCovered(domain: string, certified: string): boolean {
  const name = certified.toLowerCase()
  return name === domain || name === `${wildcard}${domain.slice(domain.indexOf('.') + 1)}`
}
