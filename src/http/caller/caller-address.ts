/** The address of a request in one canonical spelling, for restrictions, logs and rate limits. */
import { compileCidr, parseCidr } from '../../core/address/cidr.js'
import { canonicalAddress, formatAddress, isPeerAddress, parseAddress } from '../../core/address/ip.js'

/** The address of a closed connection, or of a value from a trusted proxy that is not an address. No rule allows it. */
export const unknownAddress = 'unknown'

const inBrackets = /^\[([^\]]*:[^\]]*)\](?::\d{1,5})?$/
const withPort = /^(\d+\.\d+\.\d+\.\d+):\d{1,5}$/

/** An address as some proxies write it, with the port of the connection: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
const withoutPort = (text: string): string => (inBrackets.exec(text) ?? withPort.exec(text))?.[1] ?? text

/**
 * An IPv4-mapped IPv6 address becomes IPv4; a link-local address loses its zone. A proxy may pass on anything that a
 * client claims: only addresses pass this function.
 */
export function callerAddress(text: string | undefined): string {
  const address = withoutPort(text ?? '')
  return isPeerAddress(address) ? canonicalAddress(address) : unknownAddress
}

/** Is an entry of X-Forwarded-For a trusted proxy? Entries may have a port. */
export function trustOf(networks: readonly string[]): (entry: string) => boolean {
  const contain = networks.map((network) => {
    const parsed = parseCidr(network, { hostBits: 'allow' })
    if (!parsed.ok) throw new Error(parsed.problem.msg)
    return compileCidr(parsed.value)
  })
  return (entry) => {
    const address = callerAddress(entry)
    return contain.some((contains) => contains(address))
  }
}

/**
 * The key that failed logins are counted under. A client with one IPv6 address usually has a whole /64 (RFC 6177), so
 * the network counts as one.
 */
export function loginSource(address: string): string {
  const { family, words } = parseAddress(address)
  return family === 6 ? `${formatAddress(6, [words[0], words[1], 0, 0])}/64` : address
}
