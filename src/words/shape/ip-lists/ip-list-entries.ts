/** Entries of IP lists, as requests and responses have them. */
import { commentCharsMax } from '../../../ground/core/address/list-entry.js'
import { ipListBodyBytesMax, ipListEntriesMax } from '../../../ground/core/limits.js'
import { documented, objectOf, orNull, type Static, Type } from '../../../ground/core/schema.js'

const cidr = Type.String({
  maxLength: 64,
  description: 'An address, or a range in CIDR notation; bits after its prefix are cleared.',
})
const comment = Type.String({
  description: `Why it is there; cut to ${commentCharsMax} characters.`,
})
const expires_at = Type.String({
  maxLength: 64,
  description: 'When the entry ends: RFC 3339.',
  ...documented({ format: 'date-time' }),
})

const newEntrySchema = objectOf(
  { cidr, comment: Type.Optional(orNull(comment)), expires_at: Type.Optional(orNull(expires_at)) },
  { title: 'IpListEntryInput' },
)

export const entriesBodySchema = objectOf(
  { entries: Type.Array(newEntrySchema, { maxItems: ipListEntriesMax }) },
  {
    title: 'IpListEntriesReplace',
    description: `At most ${ipListEntriesMax} entries, and ${ipListBodyBytesMax} bytes.`,
    examples: [{ entries: [{ cidr: '203.0.113.0/24', comment: 'guests' }, { cidr: '2001:db8::/48' }] }],
  },
)

export const entrySchema = objectOf(
  { cidr, comment: orNull(comment), expires_at: orNull(expires_at) },
  { title: 'IpListEntry', description: 'A range of addresses in an IP list.' },
)

export const entryExample = { cidr: '203.0.113.0/24', comment: 'guests', expires_at: null }

export type NewIpListEntry = Static<typeof newEntrySchema>
export type IpListEntry = Static<typeof entrySchema>
