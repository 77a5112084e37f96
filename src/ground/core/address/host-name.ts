/** Names and addresses of hosts: one spelling for hostports, domains, bind rules and the names that clients ask for. */
import { ok, problem, type Result } from '../errors.js'
import { formatAddress, parseAddress } from './ip.js'

export const hostCharsMax = 253
/** A label of a host name: https://www.rfc-editor.org/rfc/rfc1123#page-13, plus the underscore, which many names have. */
const label = /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/

/**
 * The canonical spelling of a name or address: names lower-case and in the ASCII form of IDNA (RFC 5891), IPv6 addresses in
 * brackets.
 */
export function parseHost(text: string): Result<string> {
  const [, inBrackets] = /^\[(.*)\]$/.exec(text) ?? []
  if (inBrackets !== undefined) return bracketed(inBrackets)
  const name = asciiName(text)
  return name.ok ? hostName(name.value) : name
}

const isAscii = (text: string): boolean => /^\p{ASCII}*$/u.test(text)
/** Full stops of Chinese, Japanese and Korean keyboards, which IDNA replaces by a dot. NFKC leaves them. */
const ideographicStop = /^[\u3002\uff61]$/
/** A name is converted as the host of a URL, which ends at a slash and loses its tabs. */
const convertible = /^(?!.*-(\.|$))(?!-|.*\.-)[\w.\u0080-\u{10ffff}-]*$/u
/** Invisible characters, which IDNA drops, except joiners: some scripts need them. */
const invisible = /^(?![\u200c\u200d])\p{Default_Ignorable_Code_Point}$/u

/** IDNA replaces it by ASCII (U+212A by a k) or drops it, so the name would only look like the stored one. */
const isDisguise = (character: string): boolean =>
  !isAscii(character) &&
  (invisible.test(character) ||
    ideographicStop.test(character) ||
    isAscii(character.normalize('NFKC').toLowerCase()))

/** A message about the first such character. */
export function disguiseIn(name: string): string | undefined {
  const disguise = [...name].find(isDisguise)
  return (
    disguise && `contains U+${codePointOf(disguise)}, which would be replaced by another character or dropped`
  )
}

/** Names in ASCII are not converted: a URL would turn "0x7f.1" into an address. */
function asciiName(name: string): Result<string> {
  if (isAscii(name)) return ok(name.toLowerCase())
  const disguise = disguiseIn(name)
  if (disguise !== undefined) return problem(`the host ${disguise}`)
  const converted = convertible.test(name) ? domainToAscii(name) : ''
  return converted === '' ? noHostName : ok(converted)
}

/** As the host of a URL is written (WHATWG URL); empty if it is none. Browsers have no other function for it. */
function domainToAscii(name: string): string {
  const url = `ws://${name}`
  return URL.canParse(url) ? new URL(url).hostname : ''
}

const codePointOf = (character: string): string =>
  character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')

function bracketed(text: string): Result<string> {
  const { family, words } = parseAddress(text)
  if (!text.includes(':') || family === 0) return problem('the text in brackets is not an IPv6 address')
  const canonical = formatAddress(family, words)
  return ok(family === 4 ? canonical : `[${canonical}]`)
}

function hostName(name: string): Result<string> {
  const labels = name.split('.')
  // A name that ends in a number is an IPv4 address or invalid (WHATWG URL, "ends in a number").
  if (/^\d+$/.test(labels.at(-1) ?? '')) {
    return parseAddress(name).family === 4 ? ok(name) : problem('the host is not a valid IPv4 address')
  }
  return name.length <= hostCharsMax && labels.every((part) => label.test(part)) ? ok(name) : noHostName
}

const noHostName = problem('the host is not a valid host name')

/** Is the name the domain, or below it? */
export const isUnder = (domain: string, name: string): boolean =>
  name === domain || name.endsWith(`.${domain}`)
