/** Where events go: one AWS target, and a role or a pair of keys to reach it with. */
import { badRequest, type Problem } from '../core/errors.js'
import { documented, objectOf, orNull, ruled, type Static, type TSchema, Type } from '../core/schema.js'
import { checkRoleArn } from '../deliver/arn.js'
import type { DestinationKindName } from '../deliver/destination.js'
import { destinationKinds } from '../deliver/kinds.js'
import { type DeriveTools, defineResource, type RowOf } from './define.js'
import { defaulted, described, hidden, required, sealed } from './fields.js'

/** The longest that AWS takes anywhere: https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html */
const arnText = (pattern: string) => Type.String({ maxLength: 2048, ...documented({ pattern }) })

const roleArn = ruled(arnText('^arn:(aws|aws-cn|aws-us-gov):iam::[0-9]{12}:role/.+$'), (arn) =>
  ruleOf(checkRoleArn(arn)),
)

/** AWS's own key ids have 16 to 128 characters; those of services that speak its protocol may be shorter. */
const accessKeyId = ruled(
  Type.String({ maxLength: 128, ...documented({ pattern: '^[0-9A-Za-z_]+$' }) }),
  (id) => (/^\w+$/.test(id) ? undefined : 'letters, digits and underscores are allowed'),
)

/** Rules are part of a sentence. */
const ruleOf = (found: Problem | undefined): string | undefined => found?.msg.replace(/\.$/, '')

const optional = <S extends TSchema>(schema: S) => Type.Optional(orNull(schema))

const role = objectOf({ role_arn: roleArn }, { title: 'AwsRole' })

/** Characters that come along when a key is copied: every request signed with them would be refused. */
const secretAccessKey = ruled(
  Type.String({
    minLength: 1,
    maxLength: 128,
    description: 'Kept sealed, and never shown.',
    ...documented({ pattern: '^\\S+$' }),
  }),
  (secret) => (/[\s\p{C}]/u.test(secret) ? 'white space and control characters are not allowed' : undefined),
)

const credsWith = <S extends TSchema>(secret: S, title: string) =>
  objectOf({ aws_access_key_id: accessKeyId, aws_secret_access_key: secret }, { title })

const auth = objectOf(
  { role: optional(role), creds: optional(credsWith(optional(secretAccessKey), 'AwsCredentialsInput')) },
  { title: 'AwsAuthInput', description: 'Exactly one of the two.' },
)

const wholeAuth = objectOf(
  { role: orNull(role), creds: orNull(credsWith(Type.Null(), 'AwsCredentials')) },
  { title: 'AwsAuth' },
)

const arnFields = {
  kinesis: 'stream_arn',
  firehose: 'delivery_stream_arn',
  cloudwatch_logs: 'log_group_arn',
} as const satisfies Record<DestinationKindName, string>

const kinds = Object.keys(arnFields) as DestinationKindName[]

const arnSchema = (kind: DestinationKindName) =>
  ruled(arnText('^arn:(aws|aws-cn|aws-us-gov):[a-z]+:[a-z0-9-]+:[0-9]{12}:.+$'), (arn) =>
    ruleOf(destinationKinds[kind].checkArn(arn)),
  )

const targetOf = <Kind extends DestinationKindName, A extends TSchema>(kind: Kind, auth: A) =>
  objectOf({ [arnFields[kind]]: arnSchema(kind), auth } as Record<
    (typeof arnFields)[Kind],
    ReturnType<typeof arnSchema>
  > & { auth: A })

const target = objectOf(
  {
    kinesis: optional(targetOf('kinesis', auth)),
    firehose: optional(targetOf('firehose', auth)),
    cloudwatch_logs: optional(targetOf('cloudwatch_logs', auth)),
  },
  { title: 'DestinationTargetInput', description: 'Exactly one of them.' },
)

const wholeTarget = objectOf(
  {
    kinesis: orNull(targetOf('kinesis', wholeAuth)),
    firehose: orNull(targetOf('firehose', wholeAuth)),
    cloudwatch_logs: orNull(targetOf('cloudwatch_logs', wholeAuth)),
  },
  { title: 'DestinationTarget' },
)

type Auth = Static<typeof auth>
type Target = Static<typeof target>

/** The one target that is set. */
export interface ChosenTarget {
  readonly kind: DestinationKindName
  readonly arn: string
  readonly auth: Auth
}

export function chosenTarget(given: Target): ChosenTarget {
  const set = kinds.filter((kind) => (given[kind] ?? null) !== null)
  if (set.length !== 1) {
    const said = set.length === 0 ? 'names no target' : `names ${set.length} targets (${set.join(', ')})`
    throw badRequest(`"target" ${said}: exactly one of ${kinds.join(', ')} is allowed.`)
  }
  const kind = set[0]!
  const value = given[kind] as unknown as Record<string, string> & { auth: Auth }
  return { kind, arn: value[arnFields[kind]]!, auth: value.auth }
}

const shownAuth = (given: Auth) => ({
  role: given.role ?? null,
  creds: given.creds
    ? { aws_access_key_id: given.creds.aws_access_key_id, aws_secret_access_key: null }
    : null,
})

/** All three targets listed, unset ones null, the secret never. */
function shownTarget(value: unknown): Record<string, unknown> {
  const chosen = chosenTarget(value as Target)
  return Object.fromEntries(
    kinds.map((kind) => [
      kind,
      kind === chosen.kind ? { [arnFields[kind]]: chosen.arn, auth: shownAuth(chosen.auth) } : null,
    ]),
  )
}

const targetField = () => ({
  ...required(target, { column: 'json' }),
  shown: { schema: wholeTarget, render: shownTarget },
})

const format = ruled(
  Type.String({ maxLength: 16, ...documented({ pattern: '^[Jj][Ss][Oo][Nn]$' }) }),
  (text) =>
    text.toLowerCase() === 'json' ? undefined : 'the one serialization format is "json", in any letter case',
)

const fields = {
  ...described,
  format: defaulted(format, 'json'),
  target: targetField(),
  /** The secret access key; where a role is assumed there is none. */
  sealed_secret: sealed(),
  /** A secret that is sent again is recognised by it, without being unsealed. */
  secret_digest: hidden(Type.String()),
}

export const eventDestination = defineResource({
  kind: 'event_destination',
  idPrefix: 'ed_',
  path: '/event_destinations',
  listName: 'event_destinations',
  title: 'event destination',
  about: 'A Kinesis stream, Firehose delivery stream or CloudWatch log group that events go to.',
  example: {
    description: 'the audit trail',
    format: 'json',
    target: {
      kinesis: {
        stream_arn: 'arn:aws:kinesis:eu-west-1:123456789012:stream/events',
        auth: { role: { role_arn: 'arn:aws:iam::123456789012:role/weir' } },
      },
    },
  },
  audit: 'event_destination',
  keptWhileNamed: true,
  fields,
  derive(draft, previous, tools) {
    const chosen = chosenTarget(draft.target)
    if (previous !== undefined && chosenTarget(previous.target).kind !== chosen.kind) {
      throw badRequest(
        `"target" is of the kind ${chosen.kind}, but the destination's is ${chosenTarget(previous.target).kind}: the kind of a destination can't be changed.`,
      )
    }
    checkAuth(chosen)
    return { ...draft, target: withoutSecret(chosen), ...secretOf(chosen, draft, previous, tools) }
  },
})

/** What a destination's sealed secret is bound to. */
export const secretBelongsTo = (row: { readonly account_id: string; readonly id: string }): string =>
  `${row.account_id}/${row.id}/aws_secret_access_key`

function checkAuth({ kind, auth: given }: ChosenTarget): void {
  const set = [given.role, given.creds].filter((value) => (value ?? null) !== null)
  if (set.length === 1) return
  throw badRequest(`"target.${kind}.auth" must have exactly one of role and creds, and has ${set.length}.`)
}

type Row = RowOf<typeof fields>
type Secret = Partial<Pick<Row, 'sealed_secret' | 'secret_digest'>>

/** The sealed secret; nothing where it stays what it was. */
function secretOf(
  { kind, auth: given }: ChosenTarget,
  draft: Row,
  previous: Row | undefined,
  tools: DeriveTools,
): Secret {
  if (!given.creds) return { sealed_secret: null, secret_digest: null }
  const { aws_access_key_id, aws_secret_access_key: secret } = given.creds
  if (secret) {
    const belongsTo = secretBelongsTo(draft)
    const digest = tools.digest(secret, belongsTo)
    if (digest === previous?.secret_digest) return {}
    return { sealed_secret: tools.seal(secret, belongsTo), secret_digest: digest }
  }
  // Clients can't read the secret back to send it again.
  const old = previous === undefined ? undefined : chosenTarget(previous.target).auth.creds
  if (old?.aws_access_key_id === aws_access_key_id) return {}
  throw badRequest(
    `"target.${kind}.auth.creds" lacks "aws_secret_access_key": it may be left out only beside the key id the destination has.`,
  )
}

function withoutSecret({ kind, arn, auth: given }: ChosenTarget): Target {
  const kept = given.creds
    ? { creds: { aws_access_key_id: given.creds.aws_access_key_id } }
    : { role: given.role ?? null }
  return { [kind]: { [arnFields[kind]]: arn, auth: kept } } as Target
}
