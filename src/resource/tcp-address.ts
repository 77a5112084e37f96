/**
 * Reserved addresses: `<n>.tcp.<region>.<domain>:<port>`. They are drawn, and a claim makes each the deployment's only
 * one; what stands under the domain is served by those alone who reserved it.
 */
import { randomFraction } from '../core/clock.js'
import { badRequest, conflict, shown } from '../core/errors.js'
import type { Lookups, Row } from './define.js'

export const regions = ['au', 'eu', 'ap', 'us', 'jp', 'in', 'sa'] as const

/** What addresses are drawn from. */
export interface TcpAddressSpace {
  readonly domain: string
  readonly hostsPerRegion: number
  readonly portMin: number
  readonly portMax: number
}

/** Ports above the well-known services', below those that systems give to outgoing connections. */
export const tcpAddressSpace = (domain: string): TcpAddressSpace => ({
  domain,
  hostsPerRegion: 10,
  portMin: 10_000,
  portMax: 29_999,
})

/** One of the region's addresses; somebody else may have it. */
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
  for (const [at, hostport] of (edge.hostports ?? []).entries()) {
    if (served.includes(hostport) || !isUnder(lookups.tcpDomain, hostOf(hostport))) continue
    if (addressAt(hostport, lookups) !== undefined) continue
    throw badRequest(
      `"hostports[${at}]" is ${shown(hostport)}: under ${lookups.tcpDomain} an edge serves addresses that its account reserved (POST /reserved_addrs).`,
    )
  }
}

const hostOf = (hostport: string): string => hostport.slice(0, hostport.lastIndexOf(':'))

/** Is the name the domain, or below it? */
export const isUnder = (domain: string, name: string): boolean =>
  name === domain || name.endsWith(`.${domain}`)

function addressAt(hostport: string, lookups: Lookups): Row | undefined {
  for (const address of lookups.all('reserved_addr')) if (address['addr'] === hostport) return address
  return undefined
}

/**
 * An address that an edge serves is not given up: it would go on serving what the next account to draw the address
 * takes for its own.
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
