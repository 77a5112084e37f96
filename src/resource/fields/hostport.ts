/** Endpoints of edges: `host:port` or a wildcard, unique in the deployment. */

import { parseServed } from '../../core/address/hostport.js'
import { complaintOf, valueOr } from '../../core/errors.js'
import { hostportCharsMax, hostportsPerEdgeMax } from '../../core/limits.js'
import { documented, ruled, Type } from '../../core/schema.js'
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

const claimPrefix = 'hostport.'

export const hostportClaims = (row: { readonly hostports: readonly string[] | null }): readonly string[] =>
  (row.hostports ?? []).map((text) => `${claimPrefix}${text}`)

export const hostportTaken = (claim: string): string =>
  `"hostports" names ${JSON.stringify(claim.slice(claimPrefix.length))}, which another edge of this deployment serves: a hostport belongs to one edge.`
