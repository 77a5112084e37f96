/** Coverage: the parts of the configuration that policy tests reach, and those that traffic reached. */
import { objectOf, oneOf, orNull, type Static, Type } from '../../ground/core/schema.js'
import { exampleId } from '../resource/kind/examples.js'

/** Parts that are listed; the others are counted. */
export const partsListedMax = 1_000
/** Traffic of this time is looked at, as far as the decision log has it. */
export const coveredTrafficDays = 30

export const coveredKinds = [
  'tcp_edge',
  'https_edge',
  'https_edge_route',
  'traffic_policy',
  'ip_policy_rule',
  'ip_restriction',
] as const

const count = Type.Integer({ minimum: 0 })

const partSchema = objectOf(
  {
    kind: oneOf(coveredKinds),
    id: Type.String({
      description: 'The edge, route, rule or restriction; of a traffic policy, its edge or route.',
    }),
    name: orNull(Type.String(), {
      description:
        'Of a traffic policy its name, else its place, such as `inbound[2]`; of an edge its first hostport; of a route its path; of a rule its range.',
    }),
    tests: Type.Boolean({
      description:
        'Does a test reach it: is an edge or route that of a test, applies a traffic policy, contains the range of a rule the client?',
    }),
    traffic: orNull(Type.Boolean(), {
      description: `Did traffic of the last ${coveredTrafficDays} days reach it: did an edge have decisions, did a policy of this name or a rule that denies decide? Null where that is not known.`,
    }),
  },
  { title: 'CoveredPart' },
)

export const policyTestCoverageSchema = objectOf(
  {
    tests: Type.Integer({ minimum: 0, description: 'The policy tests of the account.' }),
    kinds: Type.Array(
      objectOf({
        kind: oneOf(coveredKinds),
        parts: count,
        reached_by_tests: count,
        reached_by_traffic: orNull(count, { description: 'Null where that is not known.' }),
      }),
    ),
    unreached: Type.Array(partSchema, {
      description: `What no test or no traffic reaches, in the order of the kinds: at most ${partsListedMax}.`,
    }),
    unreached_left_out: Type.Integer({ minimum: 0, description: 'How many more there are.' }),
  },
  {
    title: 'PolicyTestCoverage',
    description: 'What policy tests reach of the configuration, and what traffic reached.',
    examples: [
      {
        tests: 12,
        kinds: [{ kind: 'tcp_edge', parts: 3, reached_by_tests: 2, reached_by_traffic: 3 }],
        unreached: [
          {
            kind: 'tcp_edge',
            id: exampleId('edgtcp_'),
            name: 'db.example.com:5432',
            tests: false,
            traffic: true,
          },
        ],
        unreached_left_out: 0,
      },
    ],
  },
)

export type PolicyTestCoverage = Static<typeof policyTestCoverageSchema>
export type CoveredPart = Static<typeof partSchema>
