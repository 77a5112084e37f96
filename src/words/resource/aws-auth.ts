/** How Weir authenticates to AWS for a destination: a role, or a pair of keys, each checked for being in its place. */

import { checkRoleArn } from '../../delivery/deliver/aws/arn.js'
import { optional } from '../../delivery/deliver/kind/target-options.js'
import { badRequest, type Problem } from '../../ground/core/errors.js'
import {
  documented,
  objectOf,
  orNull,
  ruled,
  type Static,
  secretMark,
  type TSchema,
  Type,
} from '../../ground/core/schema.js'

/** AWS's own limit: https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html */
export const addressText = (pattern: string, example: string) =>
  Type.String({ maxLength: 2048, ...documented({ pattern, examples: [example] }) })

const roleArn = ruled(
  addressText('^arn:(aws|aws-cn|aws-us-gov):iam::[0-9]{12}:role/.+$', 'arn:aws:iam::123456789012:role/weir'),
  (arn) => ruleOf(checkRoleArn(arn)),
)

/** A secret key of AWS has 40 characters of base64. Others of this length have both cases, which ids of AWS never have. */
const secretForm = /^(?:[A-Za-z0-9+/]{40}|(?=.*[a-z])(?=.*[A-Z]).{30,})$/
const idForm = /^(AKIA|ASIA)[A-Z0-9]{12,}$/
const swapped = (form: string): string => `the form is that of ${form}: the two may have been swapped`

function wrongKeyId(id: string): string | undefined {
  if (secretForm.test(id)) return swapped('a secret access key, which would be stored and shown in clear')
  return /^\w+$/.test(id) ? undefined : 'letters, digits and underscores are allowed'
}

/**
 * AWS's own key ids have 16 to 128 characters (https://docs.aws.amazon.com/IAM/latest/APIReference/API_AccessKey.html);
 * those of services that speak its protocol may be shorter.
 */
const accessKeyId = ruled(
  Type.String({ maxLength: 128, ...documented({ pattern: '^[0-9A-Za-z_]+$' }) }),
  wrongKeyId,
)

/** A rule's message becomes part of a sentence. */
export const ruleOf = (found: Problem | undefined): string | undefined => found?.msg.replace(/\.$/, '')

const role = objectOf({ role_arn: roleArn }, { title: 'AwsRole' })

/** White space is often copied with a key; AWS would refuse every request signed with it. */
const secretAccessKey = ruled(
  Type.String({
    minLength: 1,
    maxLength: 128,
    description: 'Stored encrypted, and never shown.',
    [secretMark]: true,
    ...documented({ pattern: '^\\S+$' }),
  }),
  (secret) => {
    if (idForm.test(secret)) return swapped('an access key id')
    return /[\s\p{C}]/u.test(secret) ? 'white space and control characters are not allowed' : undefined
  },
)

const credsWith = <S extends TSchema>(secret: S, title: string) =>
  objectOf({ aws_access_key_id: accessKeyId, aws_secret_access_key: secret }, { title })

export const givenAuth = objectOf(
  { role: optional(role), creds: optional(credsWith(optional(secretAccessKey), 'AwsCredentialsInput')) },
  { title: 'AwsAuthInput', description: 'Exactly one of the two.' },
)

export const wholeAuth = objectOf(
  { role: orNull(role), creds: orNull(credsWith(Type.Null(), 'AwsCredentials')) },
  { title: 'AwsAuth' },
)

export type GivenAuth = Static<typeof givenAuth>
export type WholeAuth = Static<typeof wholeAuth>

export const shownAuth = (given: GivenAuth) => ({
  role: given.role ?? null,
  creds: given.creds
    ? { aws_access_key_id: given.creds.aws_access_key_id, aws_secret_access_key: null }
    : null,
})

export const storedAuth = (given: GivenAuth): object =>
  given.creds ? { creds: { aws_access_key_id: given.creds.aws_access_key_id } } : { role: given.role ?? null }

/** Throws unless exactly one of role and keys is given. */
export function checkAuth(kind: string, given: GivenAuth | undefined): void {
  if (given === undefined) return
  const set = [given.role, given.creds].filter((value) => (value ?? null) !== null)
  if (set.length === 1) return
  throw badRequest(`"target.${kind}.auth" must have exactly one of role and creds, and has ${set.length}.`)
}
