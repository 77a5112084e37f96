/** The traffic policy module of edges and routes: its shape. What a schema can't say is in `traffic-policy-check.ts`. */
import {
  actionsPerPolicyMax,
  expressionsPerPolicyMax,
  policiesPerDirectionMax,
} from '../../../ground/core/limits.js'
import {
  boundedBytes,
  mapOf,
  objectOf,
  oneOf,
  orNull,
  type Static,
  Type,
} from '../../../ground/core/schema.js'
import { expressionSchema } from './expression-schema.js'
import { defaulted, moduleField } from './fields.js'

const policyNameBytesMax = 255

const configDescription = 'For log: `{"Metadata": {…}}`, a map that the event will contain. deny has none.'

const action = objectOf(
  {
    type: oneOf(['deny', 'log'], 'deny refuses the connection or request; log emits a log.v0 event.'),
    config: Type.Optional(orNull(mapOf(Type.Unknown()), { description: configDescription })),
  },
  { title: 'PolicyActionInput' },
)

const enforcedDescription =
  'false: the policy denies and logs nothing; what it would change is the shadow of decisions. Default: true.'

const policy = objectOf(
  {
    name: Type.Optional(orNull(boundedBytes(policyNameBytesMax))),
    expressions: Type.Optional(
      orNull(Type.Array(expressionSchema, { maxItems: expressionsPerPolicyMax }), {
        description: 'All must be true; without any, the policy always applies.',
      }),
    ),
    actions: Type.Array(action, { minItems: 1, maxItems: actionsPerPolicyMax }),
    enforced: Type.Optional(orNull(Type.Boolean(), { description: enforcedDescription })),
  },
  { title: 'TrafficPolicyInput' },
)

const policies = Type.Array(policy, { maxItems: policiesPerDirectionMax })

const wholeAction = objectOf(
  {
    type: action.properties.type,
    config: orNull(mapOf(Type.Unknown()), { description: configDescription }),
  },
  { title: 'PolicyAction' },
)

/** A policy with its omitted parts filled in; a missing name is omitted in responses, too. */
const wholePolicy = objectOf(
  {
    name: Type.Optional(Type.String()),
    expressions: Type.Array(expressionSchema),
    actions: Type.Array(wholeAction),
    enforced: Type.Boolean({ description: enforcedDescription }),
  },
  { title: 'TrafficPolicy' },
)

type Policy = Static<typeof policy>
type WholePolicy = Static<typeof wholePolicy>
/** Only a policy that is not enforced says so: then those that earlier versions of Weir stored are equal to later ones. */
type StoredPolicy = Omit<WholePolicy, 'enforced'> & { enforced?: false }

/** Fills in omitted parts; an empty name counts as missing. */
const completePolicy = ({ name, expressions, actions, enforced }: Policy): StoredPolicy => ({
  ...(typeof name === 'string' && name !== '' ? { name } : {}),
  expressions: expressions ?? [],
  actions: actions.map(({ type, config }) => ({ type, config: config ?? null })),
  ...(enforced === false ? { enforced } : {}),
})

const shownPolicy = (policy: StoredPolicy): WholePolicy => ({ ...policy, enforced: policy.enforced ?? true })

const direction = () => ({
  ...defaulted(policies, [], { column: 'json' }),
  fallback: [] as StoredPolicy[],
  complete: (list: readonly Policy[]) => list.map(completePolicy),
  shown: {
    schema: Type.Array(wholePolicy),
    render: (list: unknown) => (list as readonly StoredPolicy[]).map(shownPolicy),
  },
})

export const trafficPoliciesModule = moduleField('TrafficPolicies', {
  inbound: direction(),
  outbound: direction(),
})
