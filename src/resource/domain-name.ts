/** Names of domains as they are reserved: `app.example.com`, or `*.example.com` for all names one level below. */
import { ok, problem, type Result } from '../core/errors.js'
import { familyOf } from '../core/ip.js'
import { parseHost } from './hostport.js'

const wildcard = '*.'

/** The name lower-cased, in the ASCII form of IDNA (RFC 5891), so that equal names are equal text. */
export function parseDomainName(text: string): Result<string> {
  const head = text.startsWith(wildcard) ? wildcard : ''
  const name = text.slice(head.length)
  const host = parseHost(name)
  if (!host.ok || !host.value.includes('.')) return problem(allowed)
  if (familyOf(host.value) !== undefined) return problem('an address is no domain name')
  return ok(`${head}${host.value}`)
}

const allowed = 'a domain name such as "app.example.com" or "*.example.com" is needed'

/** Of text that was checked. */
export function canonicalDomainName(text: string): string {
  const parsed = parseDomainName(text)
  return parsed.ok ? parsed.value : text
}
