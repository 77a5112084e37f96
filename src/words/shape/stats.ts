/** Sums of decisions over time, as the API shows them. */
import { objectOf, orNull, type Static, Type } from '../../ground/core/schema.js'
import { exampleId } from '../resource/kind/examples.js'

const count = Type.Integer({ minimum: 0 })

const pointSchema = objectOf(
  {
    at: Type.String({ description: 'The start of the interval: RFC 3339 in UTC.' }),
    value: orNull(Type.String(), {
      description:
        'The edge, policy, deny rule, country, autonomous system, server name, client or shadow decision; null for records without one, or if all are counted together.',
    }),
    allow: count,
    block: count,
    deny: count,
    bytes_in: count,
    bytes_out: count,
    asked: Type.Integer({
      minimum: 0,
      description:
        'Decisions that ingress nodes and proxies asked for in the interval, whatever `source` is.',
    }),
  },
  {
    title: 'DecisionCount',
    description: 'How many records, or questions, were decided in an interval, and how.',
  },
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
      asked: 0,
    },
  ],
  values_left_out: 0,
  reached_at: null,
  names: {},
}

/** The dimensions by which decisions are counted. */
const decisionDimensions = [
  'none',
  'edge',
  'policy',
  'rule',
  'country',
  'asn',
  'server_name',
  'client_ip',
  'shadow_decision',
] as const
export const dimensions = [...decisionDimensions, 'destination'] as const

const range = {
  interval: Type.String({ description: 'As it was asked for.' }),
  since: Type.String(),
  until: Type.String(),
}

const leftOut = (what: string) => Type.Integer({ minimum: 0, description: `${what}, which are not listed.` })

const decisionStatsSchema = objectOf(
  {
    by: Type.Enum([...decisionDimensions]),
    ...range,
    counts: Type.Array(pointSchema, { description: 'Oldest first; intervals without records are left out.' }),
    values_left_out: leftOut('Values with fewer records'),
    reached_at: orNull(Type.String({ format: 'date-time' }), {
      description:
        'Null: everything in the range is counted. Else what came before this time is not, because there was no time for it.',
    }),
    names: Type.Record(Type.String(), Type.String(), {
      description:
        'Names of the autonomous systems among the values, as far as the geo database has them; empty for other dimensions.',
    }),
  },
  { title: 'Stats', description: 'Sums of decisions over time.' },
)

const percentiles = (what: string) =>
  orNull(objectOf({ p50: count, p95: count, p99: count }, { title: 'Percentiles' }), {
    description: `${what}, in milliseconds; null if the log has no such request in the interval.`,
  })

const deliveryPointSchema = objectOf(
  {
    at: Type.String({ description: 'The start of the interval: RFC 3339 in UTC.' }),
    value: Type.String({ description: 'The destination.' }),
    delivered: Type.Integer({ minimum: 0, description: 'Events that requests delivered, repeats included.' }),
    failed: Type.Integer({
      minimum: 0,
      description: 'Events that requests did not deliver, for each time; they were sent again or given up.',
    }),
    dead_lettered: Type.Integer({ minimum: 0, description: 'Events that were given up.' }),
    requests: count,
    took_ms: percentiles('How long requests took'),
    age_ms: percentiles(
      'How old the oldest event of a request was when it was accepted: since its record was stored',
    ),
  },
  { title: 'DeliveryCount', description: 'What was sent to a destination in an interval.' },
)

const deliveryStatsSchema = objectOf(
  {
    by: Type.Enum(['destination']),
    ...range,
    counts: Type.Array(deliveryPointSchema, {
      description: 'Oldest first; intervals without requests are left out.',
    }),
    values_left_out: leftOut('Destinations with fewer events'),
  },
  {
    title: 'DeliveryStats',
    description: 'Sums of attempts to deliver over time.',
    examples: [
      {
        by: 'destination',
        interval: 'hour',
        since: '2026-11-20T00:00:00Z',
        until: '2026-11-21T00:00:00Z',
        counts: [
          {
            at: '2026-11-20T10:00:00Z',
            value: exampleId('ed_'),
            delivered: 7514,
            failed: 500,
            dead_lettered: 0,
            requests: 61,
            took_ms: { p50: 18, p95: 41, p99: 77 },
            age_ms: { p50: 480, p95: 690, p99: 1204 },
          },
        ],
        values_left_out: 0,
      },
    ],
  },
)

export const statsSchema = Type.Union([decisionStatsSchema, deliveryStatsSchema], {
  description: 'Sums over time.',
  examples: [statsExample],
})

export type Stats = Static<typeof decisionStatsSchema>
export type DeliveryStats = Static<typeof deliveryStatsSchema>
