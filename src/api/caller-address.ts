/** Where a request comes from, in one spelling: what restrictions look at, what is logged and counted. */
import { compileCidr, parseCidr } from '../core/cidr.js'
import { AddressSlot, canonicalAddress, formatAddress, isAddress } from '../core/ip.js'

/** Of a connection that is gone already, and of what a trusted proxy calls no address: no rule allows it. */
const unknownAddress = 'unknown'

const inBrackets = /^\[([^\]]*:[^\]]*)\](?::\d{1,5})?$/
const withPort = /^(\d+\.\d+\.\d+\.\d+):\d{1,5}$/

/** An address as some proxies write it, with the port of the connection: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
const withoutPort = (text: string): string => (inBrackets.exec(text) ?? withPort.exec(text))?.[1] ?? text

/**
 * IPv4 addresses that a dual-stack socket shows as IPv6 are IPv4; a link-local address loses its zone. A proxy may
 * hand on whatever a client claims to be: nothing but an address gets past here.
 */
export function callerAddress(text: string | undefined): string {
  const address = withoutPort(text ?? '').replace(/%.*$/s, '')
  return isAddress(address) ? canonicalAddress(address) : unknownAddress
}

/** Is an entry of X-Forwarded-For one of the trusted proxies? It may carry a port, as any entry. */
export function trustOf(networks: readonly string[]): (entry: string) => boolean {
  const contain = networks.map((network) => {
    const parsed = parseCidr(network, { hostBits: 'allow', bareAddress: 'allow' })
    if (!parsed.ok) throw new Error(parsed.problem.msg)
    return compileCidr(parsed.value, slot)
  })
  return (entry) => {
    const address = callerAddress(entry)
    return contain.some((contains) => contains(address))
  }
}

/**
 * Whom failed logins are counted for. Whoever has one IPv6 address has 2^64 of them, as networks are given out
 * (RFC 6177): they count as one.
 */
export function loginSource(address: string): string {
  if (slot.read(address) !== 6) return address
  const [first, second] = slot.words
  return `${formatAddress(6, [first!, second!, 0, 0])}/64`
}

const slot = new AddressSlot()
