/**
 * Start here: the shapes of answers that are no resources, a file each: a schema, an example, a type. The API documents
 * them, the typed client reads them. This one is the answer to a decision request.
 */
import { objectOf, oneOf, orNull, type Static, Type } from '../../../ground/core/schema.js'
import { exampleId } from '../../resource/kind/examples.js'
import { targetSchema, valuesSchema } from '../explanation/readings.js'
import { additionSchema, lastChange } from './change-schema.js'

export const decisionWord = oneOf(
  ['allow', 'block', 'deny'],
  'block: an IP policy or restriction said no. deny: a traffic policy said no, or a question over HTTP was about a name that no edge of the account serves.',
)

const ipDecision = oneOf(['allow', 'block'])

const reason = Type.String({ description: 'For people: one sentence or two.' })

const enforcedPart = Type.Boolean({ description: 'If not, it decides nothing: see `shadow`.' })

const explainedRule = objectOf(
  {
    ip_policy_id: Type.String(),
    rule_id: Type.String(),
    cidr: orNull(Type.String(), {
      description:
        'Of a rule with a list: the range of the entry that contains the address; null if none does.',
    }),
    list_id: orNull(Type.String(), { description: 'The list of the rule; null if it has a range.' }),
    comment: orNull(Type.String(), { description: 'Of the entry of the list that contains the address.' }),
    action: oneOf(['allow', 'deny']),
    description: orNull(Type.String()),
    expires_at: orNull(Type.String({ format: 'date-time' }), {
      description: 'From then on the rule has no effect; null: it never expires.',
    }),
    enforced: enforcedPart,
    matches: Type.Boolean({ description: 'Does the range contain the address?' }),
    won: Type.Boolean({ description: 'Did this rule decide?' }),
    reason,
    added: Type.Optional(
      orNull(additionSchema, {
        description: 'If it won: when it was added, and by whom; null if that is not known.',
      }),
    ),
  },
  { title: 'ExplainedRule' },
)

const explainedGroup = objectOf(
  {
    source: Type.String({
      description: 'What refers to the policies: a module, or a restriction by its id.',
    }),
    enforced: Type.Boolean(),
    decision: ipDecision,
    reason,
    rules: Type.Array(explainedRule, { description: 'Rules that match come first.' }),
    rules_left_out: Type.Integer({
      minimum: 0,
      description: 'Rules that do not match and are left out, because there are too many to list.',
    }),
  },
  { title: 'ExplainedIpPolicies' },
)

const direction = oneOf(['inbound', 'outbound'])

const source = Type.String({
  description: 'The module that has it, by the edge or route: `policies of edghts_…`.',
})

const explainedPolicy = objectOf(
  {
    source,
    policy: Type.String({ description: 'Its name, else its place, such as `inbound[2]`.' }),
    direction,
    enforced: enforcedPart,
    applied: Type.Boolean({
      description: 'Never if it is not enforced: its `reason` says what it would do.',
    }),
    reason,
    expressions: Type.Array(
      objectOf({
        expression: Type.String(),
        value: Type.Unknown({ description: 'Null if there is none; the beginning of a long one.' }),
        failure: Type.Optional(Type.String({ description: 'Why there is no value.' })),
        decisive: orNull(Type.String(), {
          description: 'The part that alone made it true or false; null if it took the whole expression.',
        }),
        names: Type.Array(objectOf({ name: Type.String(), value: Type.Unknown() }), {
          description:
            'What it read, as it was judged: null if there is no value, the beginning of a long one. Secrets, such as `Authorization`, session cookies and tokens in a query, are cut.',
        }),
        names_left_out: Type.Integer({ minimum: 0, description: 'Names for which there was no room.' }),
      }),
    ),
    actions: Type.Array(Type.String()),
  },
  { title: 'ExplainedPolicy' },
)

const nullable = orNull(Type.String())

export const decidedBySchema = objectOf(
  {
    type: oneOf(
      ['restriction', 'ip_restriction', 'traffic_policy', 'unserved', 'none'],
      'The restriction of the account, the `ip_restriction` module or a traffic policy; unserved: no edge of the account serves the name; none if nothing said no.',
    ),
    id: orNull(Type.String(), { description: 'The restriction, edge or route.' }),
    name: orNull(Type.String(), {
      description: 'The traffic policy, or the description of the restriction.',
    }),
    ip_policy_id: nullable,
    rule_id: orNull(Type.String(), { description: 'The deny rule; null if no allow rule matched.' }),
    cidr: nullable,
    added: Type.Optional(
      orNull(additionSchema, {
        description:
          'Of the rule; else of the traffic policy, as it is, of the restriction or of the module, in which no allow rule matched. Null if it is not known.',
      }),
    ),
    last_change: Type.Optional(
      orNull(lastChange, {
        description: 'Of the rule, else of the restriction, edge or route; null if it is not known.',
      }),
    ),
  },
  { title: 'DecidedBy' },
)

const shadowSchema = objectOf(
  { decision: decisionWord, decided_by: decidedBySchema, reason },
  { title: 'ExplainedShadow' },
)

export const explanationSchema = objectOf(
  {
    target: Type.Optional(targetSchema),
    values: Type.Optional(valuesSchema),
    hostport: orNull(Type.String(), {
      description:
        'The hostport by which the edge was found, such as `*.example.com:443`; null if the request names the edge, or no edge serves it.',
    }),
    ip_policies: Type.Array(explainedGroup),
    policies: Type.Array(explainedPolicy, { description: 'Traffic policies that were evaluated, in order.' }),
    policies_not_reached: Type.Array(
      objectOf({ source, policy: Type.String(), direction, enforced: enforcedPart, reason }),
      {
        description: 'Traffic policies that were not evaluated.',
      },
    ),
    decided_by: decidedBySchema,
    shadow: orNull(shadowSchema, {
      description:
        'What would have been decided if every rule, traffic policy and restriction that is not enforced were; null if all that applied is enforced.',
    }),
  },
  { title: 'Explanation', description: 'Every rule and expression that was looked at, and what decided.' },
)

const keyId = exampleId('ak_')
const [edgeId, policyId, ruleId] = [exampleId('edgtcp_'), exampleId('ipp_'), exampleId('ipr_')]

const additionExample = {
  at: '2026-11-02T09:30:00.456Z',
  by: keyId,
  by_description: 'deployments',
  version: 12,
  earlier: false,
}

export const decisionSchema = objectOf(
  {
    decision: decisionWord,
    ip_policy: orNull(objectOf({ decision: ipDecision, policy_ids: Type.Array(Type.String()) }), {
      description: 'What IP policies decided; null if none applied.',
    }),
    policy: orNull(Type.String(), { description: 'The traffic policy that denied.' }),
    served: Type.Boolean({
      description:
        'Does an edge serve the name, or is it named? If not, questions over HTTP are denied, unless they or the account allow it.',
    }),
    revision: Type.Integer({ minimum: 0, description: 'Of the configuration that was used.' }),
    warnings: Type.Array(Type.String()),
    explanation: Type.Optional(explanationSchema),
  },
  {
    title: 'Decision',
    description: 'What Weir decides about a connection or request, and why.',
    examples: [
      {
        decision: 'block',
        ip_policy: { decision: 'block', policy_ids: [policyId] },
        policy: null,
        served: true,
        revision: 42,
        warnings: [],
        explanation: {
          hostport: 'ssh.example.com:22',
          ip_policies: [
            {
              source: `ip_restriction of ${edgeId}`,
              enforced: true,
              decision: 'block',
              reason: `The deny rule ${ruleId} contains the address.`,
              rules: [
                {
                  ip_policy_id: policyId,
                  rule_id: ruleId,
                  cidr: '203.0.113.66/32',
                  list_id: null,
                  comment: null,
                  action: 'deny',
                  description: 'scanner',
                  expires_at: '2026-11-21T10:00:00Z',
                  enforced: true,
                  matches: true,
                  won: true,
                  reason: 'It contains the address, and a deny rule wins over allow rules of any policy.',
                  added: additionExample,
                },
              ],
              rules_left_out: 0,
            },
          ],
          policies: [],
          policies_not_reached: [],
          decided_by: {
            type: 'ip_restriction',
            id: edgeId,
            name: null,
            ip_policy_id: policyId,
            rule_id: ruleId,
            cidr: '203.0.113.66/32',
            added: additionExample,
            last_change: {
              at: '2026-11-20T10:00:00.123Z',
              by: keyId,
              by_description: 'deployments',
              version: 17,
            },
          },
          shadow: null,
        },
      },
    ],
  },
)

type Shown = Static<typeof decisionSchema>
type ShownIpPolicy = NonNullable<Shown['ip_policy']>

export type Decision = Omit<Shown, 'ip_policy'> & {
  readonly ip_policy: Readonly<Omit<ShownIpPolicy, 'policy_ids'> & { policy_ids: readonly string[] }> | null
}
export type Explanation = Static<typeof explanationSchema>
export type ExplainedRule = Static<typeof explainedRule>
export type ExplainedGroup = Static<typeof explainedGroup>
export type ExplainedPolicy = Static<typeof explainedPolicy>
