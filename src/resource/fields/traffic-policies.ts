/** The traffic policy module of edges and routes: its shape. What a schema can't say is in `traffic-policy-check.ts`. */
import { boundedBytes, mapOf, objectOf, oneOf, orNull, type Static, Type } from '../../core/schema.js'
import { expressionSchema } from './expression-schema.js'
import { asIs, defaulted, moduleField } from './fields.js'
import {
  actionsPerPolicyMax,
  expressionsPerPolicyMax,
  policiesPerDirectionMax,
} from './traffic-policy-check.js'

const policyNameBytesMax = 255

const configDescription = 'For log: `{"Metadata": {…}}`, a map that the event will contain. deny has none.'

const action = objectOf(
  {
    type: oneOf(['deny', 'log'], 'deny refuses the connection or request; log emits a log.v0 event.'),
    config: Type.Optional(orNull(mapOf(Type.Unknown()), { description: configDescription })),
  },
  { title: 'PolicyActionInput' },
)

const policy = objectOf(
  {
    name: Type.Optional(orNull(boundedBytes(policyNameBytesMax))),
    expressions: Type.Optional(
      orNull(Type.Array(expressionSchema, { maxItems: expressionsPerPolicyMax }), {
        description: 'All must be true; without any, the policy always applies.',
      }),
    ),
    actions: Type.Array(action, { minItems: 1, maxItems: actionsPerPolicyMax }),
  },
  { title: 'TrafficPolicyInput' },
)

const policies = Type.Array(policy, { maxItems: policiesPerDirectionMax })

/** A policy with its omitted parts filled in; a missing name is omitted in responses, too. */
const wholePolicy = objectOf(
  {
    name: Type.Optional(Type.String()),
    expressions: Type.Array(expressionSchema),
    actions: Type.Array(
      objectOf(
        {
          type: action.properties.type,
          config: orNull(mapOf(Type.Unknown()), { description: configDescription }),
        },
        { title: 'PolicyAction' },
      ),
    ),
  },
  { title: 'TrafficPolicy' },
)

type Policy = Static<typeof policy>
type WholePolicy = Static<typeof wholePolicy>

/** Fills in omitted parts; an empty name counts as missing. */
const completePolicy = ({ name, expressions, actions }: Policy): WholePolicy => ({
  ...(typeof name === 'string' && name !== '' ? { name } : {}),
  expressions: expressions ?? [],
  actions: actions.map(({ type, config }) => ({ type, config: config ?? null })),
})

const direction = () => ({
  ...defaulted(policies, [], { column: 'json' }),
  fallback: [] as WholePolicy[],
  complete: (list: readonly Policy[]) => list.map(completePolicy),
  shown: asIs(Type.Array(wholePolicy)),
})

export const trafficPoliciesModule = moduleField('TrafficPolicies', {
  inbound: direction(),
  outbound: direction(),
})
