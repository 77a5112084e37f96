/** Who loses access and who gains it, as a trial of several resources shows it. */
import { objectOf, orNull, type Static, Type } from '../../../ground/core/schema.js'
import { decidedBySchema } from '../decisions/decision.js'

const count = Type.Integer({ minimum: 0 })
const nullable = orNull(Type.String())

const client = {
  client_ip: Type.String(),
  country: nullable,
  asn: orNull(Type.Integer()),
  edge_id: nullable,
  server_name: nullable,
  server_port: orNull(Type.Integer()),
  records: count,
}

const groups = (description: string) =>
  Type.Array(objectOf({ value: nullable, clients: count, records: count }, { title: 'TrialAccessGroup' }), {
    description: `${description}, those with the most clients first; null: unknown.`,
  })

const sums = {
  clients: Type.Integer({ minimum: 0, description: 'Addresses.' }),
  records: count,
  countries: groups('Countries of the clients'),
  systems: groups('Numbers of their autonomous systems'),
  left_out: Type.Integer({
    minimum: 0,
    description: 'Entries that are counted and not listed, because there are too many.',
  }),
  uncounted: Type.Integer({
    minimum: 0,
    description:
      'Records of further clients, which are neither in `clients` nor in the groups, because there are too many.',
  }),
}

const lostSchema = objectOf(
  {
    ...sums,
    unexpected: Type.Integer({
      minimum: 0,
      description: 'Records that no policy test of the draft expects; `uncounted` ones are among them.',
    }),
    listed: Type.Array(
      objectOf({
        ...client,
        decided_by: decidedBySchema,
        expected: Type.Boolean({
          description:
            'Does a policy test of the draft, which passes, expect that this address is not let in at this edge, and is it refused there by the same part?',
        }),
      }),
      { description: 'Unexpected ones first, then those with the most records.' },
    ),
  },
  {
    title: 'TrialAccessLost',
    description: 'Records that are allowed, and would not be: by client, edge and what would refuse them.',
  },
)

const gainedSchema = objectOf(
  {
    ...sums,
    listed: Type.Array(objectOf({ ...client, decided_by: decidedBySchema }), {
      description: 'Those with the most records first.',
    }),
  },
  {
    title: 'TrialAccessGained',
    description: 'Records that are not allowed, and would be: by client, edge and what refuses them.',
  },
)

export const accessSchema = objectOf(
  { lost: lostSchema, gained: gainedSchema },
  {
    title: 'TrialAccess',
    description:
      'A name that no edge serves is denied here, as for proxies, unless the account has the right `unserved_allowed`.',
  },
)

export type TrialAccess = Static<typeof accessSchema>
