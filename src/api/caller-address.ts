/** Where a request comes from, in one spelling: what restrictions look at, what is logged and counted. */
import { AddressSlot, canonicalAddress, formatAddress, isAddress } from '../core/ip.js'

/** Of a connection that is gone already, and of what a trusted proxy calls no address: no rule allows it. */
const unknownAddress = 'unknown'

/**
 * IPv4 addresses that a dual-stack socket shows as IPv6 are IPv4; a link-local address loses its zone. A proxy may
 * hand on whatever a client claims to be: nothing but an address gets past here.
 */
export function callerAddress(text: string | undefined): string {
  const address = (text ?? '').replace(/%.*$/s, '')
  return isAddress(address) ? canonicalAddress(address) : unknownAddress
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
