/**
 * Lists of addresses that proxies pass on: each adds the one that it saw at the end, so what is before that may be made up.
 */
import { splitAddress, textOf, type Value } from './values.js'

/** The last entry of `X-Forwarded-For`; undefined if it is no address. */
export function lastForwarded(list: Value): string | undefined {
  const text = textOf(list)?.trim()
  const last = text?.slice(text.lastIndexOf(',') + 1).trim()
  return splitAddress(last) === undefined ? undefined : last
}

/** Envoy writes port 0 for an address that it took from a list, which has none. */
export const withoutPortZero = (address: Value): Value =>
  typeof address === 'string' && address.endsWith(':0') && splitAddress(address)?.port === 0
    ? splitAddress(address)?.address
    : address
