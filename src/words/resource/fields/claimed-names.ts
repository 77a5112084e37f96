/**
 * The names that a claim speaks for. A wildcard of an edge and a reserved domain keep a domain and all names below it for
 * their account: another account that names one of them more exactly would take the requests from their policies.
 */

import { isUnder } from '../../../ground/core/address/host-name.js'

export interface ClaimedNames {
  readonly domain: string
  /** Are all names below the domain meant, too? */
  readonly below: boolean
  /** One port, or `*` for all. */
  readonly port: string
}

const wildcard = '*.'
const anyPort = '*'
/** Prefixes of claims. */
export const hostportClaim = 'hostport.'
export const domainClaim = 'domain.'

/** The hostport that a claim is for; undefined if it is for something else. */
export const claimedHostport = (claim: string): string | undefined =>
  claim.startsWith(hostportClaim) ? claim.slice(hostportClaim.length) : undefined

const hostAndPort = (hostport: string): [host: string, port: string] => {
  const colon = hostport.lastIndexOf(':')
  return [hostport.slice(0, colon), hostport.slice(colon + 1)]
}

/**
 * Does the hostport stand for names of everybody: `*`, or all names below a domain of one label, such as `*.com`? It needs
 * a right, and keeps nothing from others.
 */
export function isCatchAll(hostport: string): boolean {
  const [host] = hostAndPort(hostport)
  return host === '*' || (host.startsWith(wildcard) && !host.slice(wildcard.length).includes('.'))
}

/** Undefined if the claim is for something else, a catch-all, or a name of the deployment's own domain. */
export function namesOfClaim(claim: string, tcpDomain: string): ClaimedNames | undefined {
  const names = claim.startsWith(domainClaim)
    ? namesOfDomain(claim.slice(domainClaim.length))
    : ofHostport(claimedHostport(claim))
  return names === undefined || isUnder(tcpDomain, names.domain) ? undefined : names
}

/** The names that a reserved domain claims. */
export const namesOfDomain = (domain: string): ClaimedNames => ({
  ...withoutWildcard(domain),
  below: true,
  port: anyPort,
})

const ofHostport = (hostport: string | undefined): ClaimedNames | undefined =>
  hostport === undefined ? undefined : namesOfHostport(hostport)

/** Undefined for a catch-all. */
export function namesOfHostport(hostport: string): ClaimedNames | undefined {
  if (isCatchAll(hostport)) return undefined
  const [host, port] = hostAndPort(hostport)
  return { ...withoutWildcard(host), port }
}

const withoutWildcard = (name: string) =>
  name.startsWith(wildcard)
    ? { domain: name.slice(wildcard.length), below: true }
    : { domain: name, below: false }

/** Are the names, on a port of it, among those that the other keeps? */
export function isWithin(names: ClaimedNames, { domain, below, port }: ClaimedNames): boolean {
  const sharesPort = port === anyPort || names.port === anyPort || port === names.port
  return sharesPort && (names.domain === domain || (below && isUnder(domain, names.domain)))
}

/** May two accounts not have both? */
export const overlap = (one: ClaimedNames, other: ClaimedNames): boolean =>
  isWithin(one, other) || isWithin(other, one)
