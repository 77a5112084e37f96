/** Start here: the caller of a request: its key, which is checked again when a change is planned, and its address. */
import { compileCidr, parseCidr } from '../../ground/core/address/cidr.js'
import { canonicalAddress, formatAddress, isPeerAddress, parseAddress } from '../../ground/core/address/ip.js'
import { WeirError } from '../../ground/core/errors.js'
import { hashToken } from '../../ground/core/ids.js'
import { getOrMake } from '../../ground/core/maps.js'
import type { KeyRight } from '../../words/resource/api-key.js'
import type { Row } from '../../words/resource/kind/define.js'
import type { View } from '../../words/view/view.js'
import type { ViewState } from '../../words/view/view-state.js'
import type { Principal } from '../store/change/change.js'

export interface Caller {
  readonly accountId: string
  readonly principal: Principal
  /** The API key's rights; without any, the caller may do everything. */
  readonly rights?: readonly KeyRight[] | null
  /** Set while the account is being created and no view knows it yet. */
  readonly accountName?: string
  /** The address of the request; undefined for the command line, which can't lock itself out. */
  readonly address: string | undefined
  /** Set if the request came with a session of the web console, and not with a key's token. */
  readonly session?: CallerSession
  /**
   * Has it lost its access since the request began: key or session have ended, or a restriction refuses its address? For
   * answers that last.
   */
  readonly isShutOut?: () => boolean
}

interface CallerSession {
  /** In milliseconds since the epoch. */
  readonly expiresMs: number
}

export const unauthenticated = (message: string): WeirError => new WeirError('ERR_UNAUTHENTICATED', message)

/** No key has this token, or the key was deleted or has expired: a token that is not valid says nothing about any key. */
export const invalidKey = (): WeirError => unauthenticated('The API key is not valid.')

/**
 * Refuses the plan if the caller's key is missing from the state that it is made against. Checking when the request
 * arrives is not enough: two keys that delete each other at the same time would leave the account without a key.
 */
export const whileKeyLasts =
  <Planning extends readonly unknown[], Planned>(
    { principal: { credentialId } }: Pick<Caller, 'principal'>,
    plan: (state: ViewState, ...planning: Planning) => Planned,
  ) =>
  (state: ViewState, ...planning: Planning): Planned => {
    if (credentialId !== null && state.rows.get('api_key')?.has(credentialId) !== true) throw invalidKey()
    return plan(state, ...planning)
  }

export type KeyFinder = (token: string) => readonly Row[]

/** Finds rows by a token. Only its hash is stored. */
export function keyFinder(view: View, tokenKind = 'api_key'): KeyFinder {
  const find = hashFinder(view, tokenKind)
  return (token) => find(hashToken(token))
}

/**
 * Finds rows by the hash of a token: one, unless the bucket contains a forged row. How long it takes may depend on the
 * hash, but no one can choose that, and it does not lead to the token.
 */
export function hashFinder(view: View, tokenKind = 'api_key'): (hash: string) => readonly Row[] {
  /** Rebuilt when a key changes. */
  let byHash: Map<string, Row[]> | undefined
  view.onChange((kind) => {
    if (kind === tokenKind || kind === '*') byHash = undefined
  })
  return (hash) => {
    if (byHash === undefined) {
      byHash = new Map()
      for (const row of view.state.rows.get(tokenKind)?.values() ?? [])
        getOrMake(byHash, String(row['token_hash']), () => []).push(row)
    }
    return byHash.get(hash) ?? []
  }
}

/** The address of a closed connection, or of a value from a trusted proxy that is not an address. No rule allows it. */
export const unknownAddress = 'unknown'

/** The first colon ends the first part: each could, and a header of 16 KiB would take a third of a second. */
const inBrackets = /^\[([^\]:]*:[^\]]*)\](?::\d{1,5})?$/
const withPort = /^(\d+\.\d+\.\d+\.\d+):\d{1,5}$/

/** An address as some proxies write it, with the port of the connection: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
const withoutPort = (text: string): string => (inBrackets.exec(text) ?? withPort.exec(text))?.[1] ?? text

/**
 * The address in one canonical spelling, for restrictions, logs and rate limits. An IPv4-mapped IPv6 address becomes IPv4; a
 * link-local address loses its zone. A proxy may pass on anything that a client claims: only addresses pass this function.
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
