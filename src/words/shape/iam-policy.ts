/** The IAM policy of an event destination, to copy. */
import { objectOf, orNull, type Static, Type } from '../../ground/core/schema.js'

const texts = (description: string) => Type.Array(Type.String(), { description })

const document = <S extends Parameters<typeof Type.Array>[0]>(statement: S, title: string) =>
  objectOf({ Version: Type.Literal('2012-10-17'), Statement: Type.Array(statement) }, { title })

const condition = Type.Record(Type.String(), Type.Record(Type.String(), Type.String()))

const rights = objectOf(
  {
    Sid: Type.String(),
    Effect: Type.Literal('Allow'),
    Action: texts('The rights.'),
    Resource: texts('ARNs.'),
    Condition: Type.Optional(condition),
  },
  { title: 'IamStatement' },
)

const trust = objectOf(
  {
    Effect: Type.Literal('Allow'),
    Principal: objectOf({ AWS: Type.String({ description: 'To be replaced by the identity of Weir.' }) }),
    Action: Type.Literal('sts:AssumeRole'),
    Condition: condition,
  },
  { title: 'IamTrustStatement' },
)

export const weirPrincipal = 'arn:aws:iam::<account>:role/<role of Weir>'

export const principalNote =
  'Replace the principal of the trust policy by the identity of Weir, which `aws sts get-caller-identity` shows on its machine, and allow that identity sts:AssumeRole on the role.'

export const iamPolicySchema = objectOf(
  {
    policy: document(rights, 'IamPolicy'),
    trust_policy: orNull(document(trust, 'IamTrustPolicy'), {
      description: 'Of the role, if there is one: only Weir may assume it, and only for this account.',
    }),
    notes: texts('Rights that the target does not tell, and what to replace.'),
  },
  {
    title: 'DestinationIamPolicy',
    description: 'The rights that an event destination needs at AWS.',
    examples: [
      {
        policy: {
          Version: '2012-10-17',
          Statement: [
            {
              Sid: 'WeirDelivers',
              Effect: 'Allow',
              Action: ['events:PutEvents'],
              Resource: ['arn:aws:events:eu-west-1:123456789012:event-bus/traffic'],
            },
          ],
        },
        trust_policy: {
          Version: '2012-10-17',
          Statement: [
            {
              Effect: 'Allow',
              Principal: { AWS: weirPrincipal },
              Action: 'sts:AssumeRole',
              Condition: { StringEquals: { 'sts:ExternalId': 'ac_01M80GQ50VKQ2V1YAN3EVRGJ06' } },
            },
          ],
        },
        notes: [principalNote],
      },
    ],
  },
)

export type IamPolicy = Static<typeof iamPolicySchema>
