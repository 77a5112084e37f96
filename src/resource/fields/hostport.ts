/** Endpoints of edges: `host:port`, unique in the deployment. */

import { parseHost } from '../../core/address/host-name.js'
import { complaintOf, ok, problem, type Result, valueOr } from '../../core/errors.js'
import { hostportCharsMax } from '../../core/limits.js'
import { documented, ruled, Type } from '../../core/schema.js'
import { repeatedEntry, writable } from './fields.js'

const hostportsPerEdgeMax = 100

const portMax = 65_535

/**
 * The canonical spelling, so that equal hostports are equal texts: names lower-case and in the ASCII form of IDNA
 * (RFC 5891), IPv6 addresses in brackets.
 */
export function parseHostport(text: string): Result<string> {
  const match = /^(\[[^\]]*\]|[^[\]:\s]+):(\d{1,5})$/.exec(text)
  if (match === null) return problem('"host:port" is needed, an IPv6 address in brackets')
  const [, host = '', port = ''] = match
  if (Number(port) < 1 || Number(port) > portMax) return problem(`the port must be 1 to ${portMax}`)
  if (port.startsWith('0')) return problem('the port must be written without leading zeros')
  const name = parseHost(host)
  return name.ok ? ok(`${name.value}:${port}`) : name
}

/** For text that was checked before. */
const canonical = (text: string): string => valueOr(parseHostport(text), text)

/** `host:port`, an IPv6 address in brackets. */
export const hostportSchema = Type.String({
  title: 'Hostport',
  maxLength: hostportCharsMax,
  description: 'host:port, an IPv6 address in brackets',
  ...documented({ pattern: '^(\\[[^\\]]*\\]|[^\\[\\]:\\s]+):[1-9][0-9]{0,4}$' }),
})

const hostport = ruled(hostportSchema, (text) => complaintOf(parseHostport(text)))

const list = ruled(
  Type.Array(hostport, { maxItems: hostportsPerEdgeMax, ...documented({ uniqueItems: true }) }),
  (texts) => repeatedEntry(texts.map(canonical)),
)

/** The hostports of an edge; an empty list is stored as null. */
export const hostports = {
  ...writable(list, { unset: 'null' }),
  complete: (texts: readonly string[]) => (texts.length === 0 ? null : texts.map(canonical)),
}

const claimPrefix = 'hostport.'

export const hostportClaims = (row: { readonly hostports: readonly string[] | null }): readonly string[] =>
  (row.hostports ?? []).map((text) => `${claimPrefix}${text}`)

export const hostportTaken = (claim: string): string =>
  `"hostports" names ${JSON.stringify(claim.slice(claimPrefix.length))}, which another edge of this deployment serves: a hostport belongs to one edge.`
