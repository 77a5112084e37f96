/**
 * Reserved addresses: `<n>.tcp.<region>.<domain>:<port>`. They are drawn at random, and a claim makes each unique in the
 * deployment. Only the account that reserved an address can serve it.
 */

import { isUnder } from '../../../ground/core/address/host-name.js'
import { randomFraction } from '../../../ground/core/clock.js'
import { badRequest, conflict, shown } from '../../../ground/core/errors.js'
import type { Lookups, Row } from '../kind/define.js'

export const regions = ['au', 'eu', 'ap', 'us', 'jp', 'in', 'sa'] as const

/** The space that addresses are drawn from. */
export interface TcpAddressSpace {
  readonly domain: string
  readonly hostsPerRegion: number
  readonly portMin: number
  readonly portMax: number
}

/** Ports above the well-known ones, below those that systems use for outgoing connections. */
export const tcpAddressSpace = (domain: string): TcpAddressSpace => ({
  domain,
  hostsPerRegion: 10,
  portMin: 10_000,
  portMax: 29_999,
})

/** A random address of the region; it may be taken. */
export function drawTcpAddress(
  { domain, hostsPerRegion, portMin, portMax }: TcpAddressSpace,
  region: string,
): string {
  const host = 1 + Math.floor(randomFraction() * hostsPerRegion)
  const port = portMin + Math.floor(randomFraction() * (portMax - portMin + 1))
  return `${host}.tcp.${region}.${domain}:${port}`
}

interface Edge {
  readonly hostports: readonly string[] | null
}

/** Refuses new hostports under the domain that the account did not reserve. */
export function checkReserved(edge: Edge, previous: Edge | undefined, lookups: Lookups): void {
  const served = previous?.hostports ?? []
  for (const [index, hostport] of (edge.hostports ?? []).entries()) {
    if (served.includes(hostport) || !isUnder(lookups.tcpDomain, hostOf(hostport))) continue
    if (isReserved(hostport, lookups)) continue
    throw badRequest(
      `"hostports[${index}]" is ${shown(hostport)}: under ${lookups.tcpDomain} an edge can serve only addresses that its account reserved (POST /reserved_addrs).`,
    )
  }
}

const hostOf = (hostport: string): string => hostport.slice(0, hostport.lastIndexOf(':'))

function isReserved(hostport: string, lookups: Lookups): boolean {
  for (const address of lookups.all('reserved_addr')) if (address['addr'] === hostport) return true
  return false
}

/**
 * An address that an edge serves can't be deleted: the edge would still serve it after another account has drawn it.
 */
export function checkUnserved(addr: string, lookups: Lookups): void {
  for (const kind of ['tcp_edge', 'https_edge']) {
    for (const edge of lookups.all(kind)) {
      if (!(edge as Row & Edge).hostports?.includes(addr)) continue
      throw conflict(
        `The reserved address ${addr} can't be deleted: the edge ${edge.id} names it in "hostports".`,
      )
    }
  }
}
