/** Sums of decisions over time, as the API shows them. */
import { objectOf, orNull, type Static, Type } from '../core/schema.js'
import { exampleId } from './examples.js'

const count = Type.Integer({ minimum: 0 })

const pointSchema = objectOf(
  {
    at: Type.String({ description: 'The start of the interval: RFC 3339 in UTC.' }),
    value: orNull(Type.String(), {
      description:
        'The edge, policy or country; null for records without one, or if all are counted together.',
    }),
    allow: count,
    block: count,
    deny: count,
    bytes_in: count,
    bytes_out: count,
  },
  { title: 'DecisionCount', description: 'How many records were decided in an interval, and how.' },
)

const statsExample = {
  by: 'edge',
  interval: 'hour',
  since: '2026-11-20T00:00:00Z',
  until: '2026-11-21T00:00:00Z',
  counts: [
    {
      at: '2026-11-20T10:00:00Z',
      value: exampleId('edgtcp_'),
      allow: 7200,
      block: 310,
      deny: 4,
      bytes_in: 24_700_000,
      bytes_out: 91_200_000,
    },
  ],
  values_left_out: 0,
}

export const dimensions = ['none', 'edge', 'policy', 'country'] as const
export const intervals = ['minute', 'hour', 'day'] as const

export const statsSchema = objectOf(
  {
    by: Type.Enum([...dimensions]),
    interval: Type.Enum([...intervals]),
    since: Type.String(),
    until: Type.String(),
    counts: Type.Array(pointSchema, { description: 'Oldest first; intervals without records are left out.' }),
    values_left_out: Type.Integer({
      minimum: 0,
      description: 'Edges, policies or countries with fewer records, which are not listed.',
    }),
  },
  { title: 'Stats', description: 'Sums of decisions over time.', examples: [statsExample] },
)

export type Stats = Static<typeof statsSchema>
