/** Expressions without a result, as the API shows them: by policy or filter. */
import { objectOf, oneOf, orNull, type Static, Type } from '../../ground/core/schema.js'
import { exampleId } from '../resource/kind/examples.js'

const text = (description: string) => orNull(Type.String(), { description })

const placeSchema = objectOf({
  kind: oneOf(
    ['policy', 'filter'],
    'policy: it did not apply to these records. filter: the subscription got no event of them.',
  ),
  edge_id: text('The edge of the policy; null for a filter. It may be deleted.'),
  route_id: text('The route, if the policy is not that of the edge itself.'),
  policy: text(
    'The name of the traffic policy; with its place, such as `office (inbound[2])`, if several of the edge or of the route have the name; without a name, its place alone. Null for a filter.',
  ),
  subscription_id: text('The subscription of the filter; null for a policy. It may be deleted.'),
  event_kind: text('The source of the subscription that has the filter; null for a policy.'),
})

const time = (description: string) => Type.String({ format: 'date-time', description })

const failureSchema = objectOf(
  {
    place: placeSchema,
    count: Type.Integer({
      minimum: 1,
      description: 'Records, and questions about a connection, for which an expression had no result.',
    }),
    first_at: time('The first one that is counted.'),
    last_at: time('The last one.'),
    last_expression: text(
      'The expression of the policy that failed last, up to 300 characters; null for a filter.',
    ),
    last_message: Type.String({ description: 'Why it had no result, up to 300 characters.' }),
    example_record_id: text(
      'A record that failed: `GET /records/{record_id}` explains it. Null if it was a question without an id.',
    ),
  },
  { title: 'ExpressionFailure', description: 'A policy or a filter whose expression had no result.' },
)

const failuresExample = {
  expression_failures: [
    {
      place: {
        kind: 'policy',
        edge_id: exampleId('edghts_'),
        route_id: null,
        policy: 'only our office',
        subscription_id: null,
        event_kind: null,
      },
      count: 812,
      first_at: '2026-11-20T09:14:03.117Z',
      last_at: '2026-11-20T10:02:41.530Z',
      last_expression: "http.request.headers['x-office'][0] == 'yes'",
      last_message: 'An undefined value has no member 0.',
      example_record_id: '01KAJ5T2Q8XN4RB6TZ5CDEFGHJ',
    },
  ],
  since: '2026-11-19T10:03:00.000Z',
  left_out: 0,
}

export const expressionFailuresSchema = objectOf(
  {
    expression_failures: Type.Array(failureSchema, { description: 'Those that failed most often first.' }),
    since: time('What is counted began here: at a whole minute.'),
    left_out: Type.Integer({ minimum: 0, description: 'Policies and filters that are not listed.' }),
  },
  {
    title: 'ExpressionFailures',
    description: 'Policies and filters whose expressions had no result.',
    examples: [failuresExample],
  },
)

export type ExpressionFailures = Static<typeof expressionFailuresSchema>
export type ExpressionFailure = Static<typeof failureSchema>
