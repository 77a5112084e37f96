/**
 * Normal forms of values that a sender may spell in several ways. Addresses are normalized when a record is read, so that
 * events and expressions see the same text; times (`core/text/timestamp.ts`) where they are written or compared, because
 * most are written once, and a normalized text of each would be made for it. Server names are chosen by clients: events show
 * them as reported, and decisions use `serverHost` of them.
 */
import { parseHost } from '../../ground/core/address/host-name.js'
import { canonicalAddress } from '../../ground/core/address/ip.js'
import { valueOr } from '../../ground/core/errors.js'
import type { Spelling } from '../../ground/expr/scope.js'
import { type Headers, type RecordType, recordTypeOf, type TrafficRecord } from './traffic-record.js'

/** The addresses of a connection. */
interface SpelledMembers {
  client_ip: string
  server_ip?: string | null | undefined
}

/** Changes a checked record in place: no one else has it. */
export function spellAlike<R extends TrafficRecord>(record: R): R {
  const typed: { type: RecordType } = record
  typed.type = recordTypeOf(record.type)!
  const conn: SpelledMembers = record.conn
  const { client_ip, server_ip } = conn
  conn.client_ip = canonicalAddress(client_ip)
  if (server_ip) conn.server_ip = canonicalAddress(server_ip)
  return record
}

/**
 * A server name in lower case and without a final dot, which both name the same host (RFC 4343, RFC 1034 section 3.1), and
 * in the ASCII form of IDNA; an address in its normal form, without brackets. A client must not get past a policy by the
 * way it spells a name.
 */
export function serverHost(name: string): string {
  const relative = withoutFinalDot(name)
  if (isPlain.test(relative)) return relative.toLowerCase()
  if (!relative.includes(':')) return asciiHost(relative)
  const address = relative.replace(/^\[(.*)\]$/, '$1')
  return canonicalAddress(address).toLowerCase()
}

const withoutFinalDot = (text: string): string =>
  text.length > 1 && text.endsWith('.') ? text.slice(0, -1) : text

/** The host of a server name as hostports write it: IPv6 in brackets. */
export function hostOf(serverName: string): string {
  const host = serverHost(serverName)
  return host.includes(':') ? `[${host}]` : host
}

/** Most names: ASCII, and no IPv6 address. */
const isPlain = /^[^:\u0080-\uffff]*$/

/** In small letters, a name that no host has may be one: those of signs that look like a letter are that letter. */
function asciiHost(name: string): string {
  const small = name.toLowerCase()
  return valueOr(parseHost(name), valueOr(parseHost(small), small))
}

/** A part of a server name: its labels in their ASCII form. */
const serverPart = (text: string): string =>
  isPlain.test(text) ? text.toLowerCase() : text.split('.').map(asciiHost).join('.')

/** The end of a server name, which has no final dot either. */
const serverEnd = (text: string): string => serverPart(withoutFinalDot(text))

const lowerCase = (text: string): string => text.toLowerCase()

/** Server names and addresses in expressions and filters. */
export const serverSpelling: Spelling = { whole: serverHost, part: serverPart, end: serverEnd }
export const addressSpelling: Spelling = { whole: canonicalAddress, part: lowerCase }
/** Events show HTTP methods in lower case. */
export const methodSpelling: Spelling = { whole: lowerCase, part: lowerCase }
/** Categories of IP lists are in lower case. */
export const categorySpelling: Spelling = methodSpelling

export const normalizeMethod = (method: string | null | undefined): string | undefined =>
  method?.toLowerCase()

/**
 * `user-agent` and `USER-AGENT` become `User-Agent`, values lower-cased; values of names that differ by case are
 * joined in order. A map, because a header may be called `__proto__`.
 */
export function normalizeHeaders(headers: Headers): Map<string, readonly string[]> {
  const normal = new Map<string, readonly string[]>()
  for (const [name, values] of Object.entries(headers)) {
    const key = capitalized(name)
    const lower = values.map((value) => value.toLowerCase())
    normal.set(key, [...(normal.get(key) ?? []), ...lower])
  }
  return normal
}

const capitalized = (name: string): string =>
  name
    .split('-')
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1).toLowerCase())
    .join('-')
