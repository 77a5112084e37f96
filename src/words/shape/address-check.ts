/** The check of an address by all IP policies and everything that refers to them. */
import { objectOf, oneOf, orNull, type Static, Type } from '../../ground/core/schema.js'
import { exampleId } from '../resource/kind/examples.js'
import { additionSchema } from './decisions/change-schema.js'
import { ipPolicyUseSchema, ipPolicyUsesExample } from './ip-policy-rules.js'

const action = oneOf(['allow', 'deny'])
const time = Type.String({ format: 'date-time' })

const checkedRule = objectOf(
  {
    ip_policy_id: Type.String(),
    ip_policy_description: orNull(Type.String()),
    rule_id: Type.String(),
    cidr: Type.String({
      description: 'Of a rule with a list: the range of the entry that contains the address.',
    }),
    list_id: orNull(Type.String(), { description: 'The list of the rule; null if it has a range.' }),
    list_name: orNull(Type.String(), {
      description: 'What the list is called: its description, else its name.',
    }),
    action,
    enforced: Type.Boolean({ description: 'If not, it decides nothing.' }),
    description: orNull(Type.String()),
    expires_at: orNull(time, {
      description: 'From then on the rule has no effect; null: it never expires.',
    }),
    added: orNull(additionSchema, { description: 'Null if it is not known.' }),
  },
  { title: 'CheckedRule', description: 'A rule whose range contains the address.' },
)

const checkedUse = objectOf(
  {
    ...ipPolicyUseSchema.properties,
    decision: oneOf(
      ['allow', 'block'],
      'By the IP policies and lists that it names, whether it applies or not.',
    ),
    rule_id: orNull(Type.String(), {
      description:
        'A deny rule that blocks, else an allow rule that lets in; null: no rule contains the address.',
    }),
    list_id: orNull(Type.String(), {
      description: 'An IP list of a bouncer that bans the address, if no rule does; else null.',
    }),
    list_name: orNull(Type.String(), {
      description: 'What this list is called: its description, else its name.',
    }),
  },
  {
    title: 'CheckedIpPolicyUse',
    description: 'An edge, a route, a restriction or a bouncer that names IP policies or lists.',
  },
)

const ruleId = exampleId('ipr_')

export const addressCheckSchema = objectOf(
  {
    ip: Type.String({ description: 'The address in its canonical spelling.' }),
    rules: Type.Array(checkedRule, { description: 'By policy; deny rules first.' }),
    rules_left_out: Type.Integer({ minimum: 0, description: 'How many more there are.' }),
    uses: Type.Array(checkedUse, { description: 'Those that block first.' }),
    uses_left_out: Type.Integer({ minimum: 0, description: 'How many more there are.' }),
  },
  {
    title: 'AddressCheck',
    description: 'The rules that contain an address, and who would allow or refuse it because of them.',
    examples: [
      {
        ip: '203.0.113.66',
        rules: [
          {
            ip_policy_id: exampleId('ipp_'),
            ip_policy_description: 'the office',
            rule_id: ruleId,
            cidr: '203.0.113.66/32',
            list_id: null,
            list_name: null,
            action: 'deny',
            enforced: true,
            description: 'scanner',
            expires_at: '2026-11-21T10:00:00Z',
            added: {
              at: '2026-11-20T10:00:00.456Z',
              by: exampleId('ak_'),
              by_description: 'deployments',
              version: 12,
              earlier: false,
            },
          },
        ],
        rules_left_out: 0,
        uses: [
          { ...ipPolicyUsesExample, decision: 'block', rule_id: ruleId, list_id: null, list_name: null },
        ],
        uses_left_out: 0,
      },
    ],
  },
)

export type AddressCheck = Static<typeof addressCheckSchema>
export type CheckedUse = Static<typeof checkedUse>
export type CheckedRule = Static<typeof checkedRule>
