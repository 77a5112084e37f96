/** Where events go: one AWS target, and a role or a pair of keys to reach it with. */
import { badRequest } from '../core/errors.js'
import { ruled, type Static, type TSchema, Type } from '../core/schema.js'
import type { DestinationKindName } from '../deliver/destination.js'
import { destinationKinds } from '../deliver/kinds.js'
import { defineResource, type Field, type RowOf } from './define.js'
import { described, required, sealed, writable } from './fields.js'

/** A role's ARN: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference-arns.html */
const roleArnPattern = /^arn:(aws|aws-cn|aws-us-gov):iam::\d{12}:role\/[\w+=,.@/-]{1,512}$/

const roleArn = ruled(Type.String({ maxLength: 2048 }), (arn) =>
  roleArnPattern.test(arn) ? undefined : 'a role ARN such as "arn:aws:iam::123456789012:role/name" is needed',
)

const orNull = <S extends TSchema>(schema: S) => Type.Optional(Type.Union([schema, Type.Null()]))

const auth = Type.Object(
  {
    role: orNull(Type.Object({ role_arn: roleArn }, { additionalProperties: false })),
    creds: orNull(
      Type.Object(
        {
          aws_access_key_id: Type.String({ minLength: 16, maxLength: 128, pattern: '^\\w+$' }),
          aws_secret_access_key: orNull(Type.String({ minLength: 1, maxLength: 128 })),
        },
        { additionalProperties: false },
      ),
    ),
  },
  { additionalProperties: false },
)

const arnFields = {
  kinesis: 'stream_arn',
  firehose: 'delivery_stream_arn',
  cloudwatch_logs: 'log_group_arn',
} as const satisfies Record<DestinationKindName, string>

const kinds = Object.keys(arnFields) as DestinationKindName[]

const arnSchema = (kind: DestinationKindName) =>
  ruled(Type.String({ maxLength: 2048 }), (arn) =>
    destinationKinds[kind].checkArn(arn)?.msg.replace(/\.$/, ''),
  )

const targetOf = <Name extends string>(kind: DestinationKindName, arnField: Name) =>
  orNull(
    Type.Object(
      { [arnField]: arnSchema(kind), auth } as Record<Name, ReturnType<typeof arnSchema>> & {
        auth: typeof auth
      },
      {
        additionalProperties: false,
      },
    ),
  )

const target = Type.Object(
  {
    kinesis: targetOf('kinesis', arnFields.kinesis),
    firehose: targetOf('firehose', arnFields.firehose),
    cloudwatch_logs: targetOf('cloudwatch_logs', arnFields.cloudwatch_logs),
  },
  { additionalProperties: false },
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

const targetField = (): Field<typeof target, never> => ({
  ...required(target, { column: 'json' }),
  shown: { schema: target, render: shownTarget },
})

const fields = {
  ...described,
  format: {
    ...writable(Type.String({ maxLength: 16, pattern: '^[Jj][Ss][Oo][Nn]$' })),
    fallback: 'json' as string | null,
  },
  target: targetField(),
  /** The secret access key; where a role is assumed there is none. */
  sealed_secret: sealed(),
}

export const eventDestination = defineResource({
  kind: 'event_destination',
  idPrefix: 'ed_',
  path: '/event_destinations',
  listName: 'event_destinations',
  title: 'event destination',
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
    const secret = chosen.auth.creds?.aws_secret_access_key ?? null
    const sealedSecret =
      secret === null ? keptSecret(chosen, previous) : tools.seal(secret, secretBelongsTo(draft))
    return { ...draft, target: withoutSecret(chosen), sealed_secret: sealedSecret }
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

/** A missing secret beside the same key id keeps the old one: clients can't read it back to send it again. */
function keptSecret(
  { kind, auth: given }: ChosenTarget,
  previous: RowOf<typeof fields> | undefined,
): string | null {
  if (!given.creds) return null
  const old = previous === undefined ? undefined : chosenTarget(previous.target).auth.creds
  if (previous?.sealed_secret && old?.aws_access_key_id === given.creds.aws_access_key_id)
    return previous.sealed_secret
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
