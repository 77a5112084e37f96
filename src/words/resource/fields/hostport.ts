/** Endpoints of edges: `host:port` or a wildcard, unique in the deployment. */

import { parseServed } from '../../../ground/core/address/hostport.js'
import { complaintOf, valueOr } from '../../../ground/core/errors.js'
import { hostportCharsMax, hostportsPerEdgeMax } from '../../../ground/core/limits.js'
import { documented, ruled, Type } from '../../../ground/core/schema.js'
import { hostportClaim } from './claimed-names.js'
import { repeatedEntry, writable } from './fields.js'

/** For text that was checked before. */
const canonical = (text: string): string => valueOr(parseServed(text), text)

/** `host:port`, an IPv6 address in brackets. */
export const hostportSchema = Type.String({
  title: 'Hostport',
  maxLength: hostportCharsMax,
  description: 'host:port, an IPv6 address in brackets',
  ...documented({ pattern: '^(\\[[^\\]]*\\]|[^\\[\\]:\\s]+):[1-9][0-9]{0,4}$' }),
})

const servedSchema = Type.String({
  title: 'ServedHostport',
  maxLength: hostportCharsMax,
  description:
    'host:port, an IPv6 address in brackets; or a wildcard: `*.example.com` for every name below the domain, `*` for every host or port',
  ...documented({ pattern: '^(\\[[^\\]]*\\]|[^\\[\\]:\\s]+):([1-9][0-9]{0,4}|\\*)$' }),
})

const hostport = ruled(servedSchema, (text) => complaintOf(parseServed(text)))

const list = ruled(
  Type.Array(hostport, { maxItems: hostportsPerEdgeMax, ...documented({ uniqueItems: true }) }),
  (texts) => repeatedEntry(texts.map(canonical)),
)

/** The hostports of an edge; an empty list is stored as null. */
export const hostports = {
  ...writable(list, { unset: 'null' }),
  complete: (texts: readonly string[]) => (texts.length === 0 ? null : texts.map(canonical)),
}

export const hostportClaims = (row: { readonly hostports: readonly string[] | null }): readonly string[] =>
  (row.hostports ?? []).map((text) => `${hostportClaim}${text}`)

export const hostportTaken = (claim: string): string =>
  `"hostports" names ${JSON.stringify(claim.slice(hostportClaim.length))}, which another edge of this deployment serves: a hostport belongs to one edge.`

export const hostportOverlaps = (claim: string): string =>
  `"hostports" names ${JSON.stringify(claim.slice(hostportClaim.length))}, which overlaps with names of another account: it is at or below a wildcard or reserved domain of that account, or is a wildcard above names that it has already.`
