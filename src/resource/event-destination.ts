/** Event destinations: one target of a kind that `deliver/kinds.ts` lists and, for AWS, a role or a pair of keys. */
import { badRequest, type Problem } from '../core/errors.js'
import {
  documented,
  objectOf,
  oneOf,
  orNull,
  ruled,
  type Static,
  type TSchema,
  Type,
} from '../core/schema.js'
import { listed } from '../core/text/plural.js'
import { checkRoleArn } from '../deliver/aws/arn.js'
import { type Packing, packings } from '../deliver/aws/packing.js'
import type { DestinationKind } from '../deliver/destination.js'
import { type DeclaredKind, destinationKinds, kindNamed } from '../deliver/kinds.js'
import { type DeriveTools, defineResource, type RowOf } from './define.js'
import { defaulted, derived, described, hidden, required, sealed, writable } from './fields/fields.js'
import { idSchema } from './fields/id-schema.js'

/** AWS's own limit: https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html */
const addressText = (pattern: string) => Type.String({ maxLength: 2048, ...documented({ pattern }) })

const roleArn = ruled(addressText('^arn:(aws|aws-cn|aws-us-gov):iam::[0-9]{12}:role/.+$'), (arn) =>
  ruleOf(checkRoleArn(arn)),
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
const ruleOf = (found: Problem | undefined): string | undefined => found?.msg.replace(/\.$/, '')

const optional = <S extends TSchema>(schema: S) => Type.Optional(orNull(schema))

const role = objectOf({ role_arn: roleArn }, { title: 'AwsRole' })

/** White space is often copied with a key; AWS would refuse every request signed with it. */
const secretAccessKey = ruled(
  Type.String({
    minLength: 1,
    maxLength: 128,
    description: 'Stored encrypted, and never shown.',
    ...documented({ pattern: '^\\S+$' }),
  }),
  (secret) => {
    if (idForm.test(secret)) return swapped('an access key id')
    return /[\s\p{C}]/u.test(secret) ? 'white space and control characters are not allowed' : undefined
  },
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

type Input = Static<typeof auth>
type Whole = Static<typeof wholeAuth>

const packing = Type.Enum([...packings], {
  description:
    'How events become records. none, the default: a record is an event. ndjson: a record holds several events, a line each.',
})

/** Left out of responses if it is the default, as an empty text is. */
const wholePacking = Type.Optional(Type.Enum(packings.filter((each) => each !== 'none')))

interface MemberForms {
  readonly auth: TSchema
  readonly packing: TSchema
}

/** The member of `target` for a kind: its address, how Weir authenticates if the kind needs it, and its packing. */
const memberOf = ({ address, auth: needed, packing: packs }: DestinationKind, forms: MemberForms): TSchema =>
  objectOf({
    [address.field]: ruled(addressText(address.pattern), (text) => ruleOf(address.check(text))),
    ...(needed === 'aws' && { auth: forms.auth }),
    ...(packs !== undefined && { packing: forms.packing }),
  })

type MemberOf<K extends DeclaredKind, A> = {
  [Field in K['address']['field']]: string
} & (K['auth'] extends 'aws' ? { auth: A } : object) &
  (K['packing'] extends undefined ? object : { packing?: Packing | null })

type Targets<A> = { [K in DeclaredKind as K['name']]: MemberOf<K, A> | null }

const givenForms: MemberForms = { auth, packing: optional(packing) }
const wholeForms: MemberForms = { auth: wholeAuth, packing: wholePacking }

const target = Type.Unsafe<Partial<Targets<Input>>>(
  objectOf(
    Object.fromEntries(destinationKinds.map((kind) => [kind.name, optional(memberOf(kind, givenForms))])),
    { title: 'DestinationTargetInput', description: 'Exactly one of them.' },
  ),
)

const wholeTarget = Type.Unsafe<Targets<Whole>>(
  objectOf(
    Object.fromEntries(destinationKinds.map((kind) => [kind.name, orNull(memberOf(kind, wholeForms))])),
    { title: 'DestinationTarget' },
  ),
)

type Target = Static<typeof target>

/** The one target that is set. */
interface ChosenTarget {
  readonly kind: string
  readonly address: string
  /** Undefined if the kind needs none. */
  readonly auth: Input | undefined
  readonly packing: Packing
}

export function chosenTarget(given: Target): ChosenTarget {
  const members = given as Readonly<Record<string, unknown>>
  const set = destinationKinds.filter(({ name }) => (members[name] ?? null) !== null)
  if (set.length !== 1) {
    const names = (kinds: readonly DestinationKind[]): string => kinds.map(({ name }) => name).join(', ')
    const said = set.length === 0 ? 'names no target' : `names ${set.length} targets (${names(set)})`
    throw badRequest(`"target" ${said}: exactly one of ${names(destinationKinds)} is allowed.`)
  }
  const { name, address } = set[0]!
  const member = members[name] as Record<string, string> & { auth?: Input; packing?: Packing | null }
  return { kind: name, address: member[address.field]!, auth: member.auth, packing: member.packing ?? 'none' }
}

/** The member of `target` for a chosen target, with its auth in another form. */
const memberFor = (
  { kind, address, auth: given, packing: chosen }: ChosenTarget,
  authForm: (auth: Input) => object,
): object => ({
  [kindNamed(kind).address.field]: address,
  ...(given !== undefined && { auth: authForm(given) }),
  ...(chosen !== 'none' && { packing: chosen }),
})

const shownAuth = (given: Input) => ({
  role: given.role ?? null,
  creds: given.creds
    ? { aws_access_key_id: given.creds.aws_access_key_id, aws_secret_access_key: null }
    : null,
})

/** Responses list all kinds, unset ones as null. The secret is never shown. */
function shownTarget(value: unknown): Record<string, unknown> {
  const chosen = chosenTarget(value as Target)
  return Object.fromEntries(
    destinationKinds.map(({ name }) => [name, name === chosen.kind ? memberFor(chosen, shownAuth) : null]),
  )
}

const targetField = () => ({
  ...required(target, { column: 'json' }),
  shown: { schema: wholeTarget, render: shownTarget },
})

const format = ruled(
  Type.String({ maxLength: 16, ...documented({ pattern: '^[Jj][Ss][Oo][Nn]$' }) }),
  (text) =>
    text.toLowerCase() === 'json' ? undefined : 'the only serialization format is "json", in any letter case',
)

const pause = objectOf(
  {
    at: Type.String({
      description: 'RFC 3339 in UTC, with milliseconds.',
      ...documented({ format: 'date-time' }),
    }),
    source: oneOf(['API', 'CLI', 'NATS'], 'How the request came.'),
    api_key_id: orNull(idSchema('api_key', 'ak_'), { description: 'The API key that paused it.' }),
  },
  { title: 'DestinationPause', description: 'Since when nothing is sent, and who asked for it.' },
)

/** Delivery is paused by hand until someone resumes it. */
export type DestinationPause = Static<typeof pause>

const onExpiry = oneOf(
  ['drop', 'block'],
  'What happens when records that wait for the destination, because it is behind, are about to be removed. drop, the default: it loses their events, which is counted. block: they are kept, and when their stream is full, publishes are refused.',
)

const fields = {
  ...described,
  format: defaulted(format, 'json'),
  target: targetField(),
  on_expiry: writable(onExpiry),
  paused: derived(pause, { column: 'json' }),
  /** The secret access key; null if a role is assumed. */
  sealed_secret: sealed(),
  /** Detects that the same secret is sent again, without unsealing the stored one. */
  secret_digest: hidden(Type.String()),
}

export const eventDestination = defineResource({
  kind: 'event_destination',
  idPrefix: 'ed_',
  path: '/event_destinations',
  listName: 'event_destinations',
  title: 'event destination',
  about: `A ${listed(destinationKinds.map(({ title }) => title))} that events go to.`,
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
  keptWhileReferenced: true,
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

/** Are records kept for as long as it needs them, even if publishes are refused? */
export const keepsRecords = (row: Readonly<Record<string, unknown>> | undefined): boolean =>
  row?.['on_expiry'] === 'block'

/** The context that a destination's sealed secret is bound to. */
export const secretBelongsTo = (row: { readonly account_id: string; readonly id: string }): string =>
  `${row.account_id}/${row.id}/aws_secret_access_key`

function checkAuth({ kind, auth: given }: ChosenTarget): void {
  if (given === undefined) return
  const set = [given.role, given.creds].filter((value) => (value ?? null) !== null)
  if (set.length === 1) return
  throw badRequest(`"target.${kind}.auth" must have exactly one of role and creds, and has ${set.length}.`)
}

type Row = RowOf<typeof fields>
type Secret = Partial<Pick<Row, 'sealed_secret' | 'secret_digest'>>

/** The fields of the secret; none if it stays the same. */
function secretOf(
  { kind, auth: given }: ChosenTarget,
  draft: Row,
  previous: Row | undefined,
  tools: DeriveTools,
): Secret {
  if (!given?.creds) return { sealed_secret: null, secret_digest: null }
  const { aws_access_key_id, aws_secret_access_key: secret } = given.creds
  if (secret) {
    const belongsTo = secretBelongsTo(draft)
    const digest = tools.digest(secret, belongsTo)
    if (digest === previous?.secret_digest) return {}
    return { sealed_secret: tools.seal(secret, belongsTo), secret_digest: digest }
  }
  // Clients can't read the secret back to send it again.
  const old = previous === undefined ? undefined : chosenTarget(previous.target).auth?.creds
  if (old?.aws_access_key_id === aws_access_key_id) return {}
  throw badRequest(
    `"target.${kind}.auth.creds" lacks "aws_secret_access_key": it may be left out only if the key id stays the same.`,
  )
}

const storedAuth = (given: Input): object =>
  given.creds ? { creds: { aws_access_key_id: given.creds.aws_access_key_id } } : { role: given.role ?? null }

const withoutSecret = (chosen: ChosenTarget): Target =>
  ({ [chosen.kind]: memberFor(chosen, storedAuth) }) as Target
