/** The target of an event destination: its forms in requests and responses, which derive from the declarations of kinds. */

import { type Packing, type PackingTarget, packings } from '../../delivery/deliver/aws/packing.js'
import { optional, type TargetOptions, withoutSecrets } from '../../delivery/deliver/kind/target-options.js'
import {
  type DeclaredKind,
  destinationKinds,
  kindNamed,
  type ListedKind,
} from '../../delivery/deliver/kinds.js'
import { badRequest } from '../../ground/core/errors.js'
import { objectOf, orNull, ruled, type Static, type TSchema, Type } from '../../ground/core/schema.js'
import {
  addressText,
  type GivenAuth,
  givenAuth,
  ruleOf,
  shownAuth,
  type WholeAuth,
  wholeAuth,
} from './aws-auth.js'

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

/** The member of `target` for a kind: its address, how Weir authenticates to AWS, its packing, and its own options. */
const memberOf = ({ about, address, aws, options }: ListedKind, forms: MemberForms, name: string): TSchema =>
  objectOf(
    {
      [address.field]: ruled(addressText(address.pattern, address.example), (text) =>
        ruleOf(address.check(text)),
      ),
      ...(aws !== undefined && { auth: forms.auth }),
      ...(aws?.packing !== undefined && { packing: forms.packing }),
      ...options?.schema.properties,
    },
    { description: about, ...(options !== undefined && { title: name }) },
  )

/** The words and tiles of a kind, for forms that are made from the API's document. */
const setupOf = ({ name, title, about, setup }: ListedKind) => ({
  'x-setup': {
    words: setup?.words ?? {},
    forms: setup?.forms.map(({ steps: _, ...form }) => form) ?? [
      { id: name, name: title, purpose: about, needs: '', mark: '' },
    ],
  },
})

type OptionsOf<K extends DeclaredKind> =
  NonNullable<K['options']> extends TargetOptions<infer S> ? (S extends TSchema ? Static<S> : object) : object

type MemberOf<K extends DeclaredKind, A> = {
  [Field in K['address']['field']]: string
} & (K extends { aws: { packing?: infer P } }
  ? { auth: A } & (P extends PackingTarget ? { packing?: Packing | null } : object)
  : object) &
  OptionsOf<K>

type Targets<A> = { [K in DeclaredKind as K['name']]: MemberOf<K, A> | null }

const givenForms: MemberForms = { auth: givenAuth, packing: optional(packing) }
const wholeForms: MemberForms = { auth: wholeAuth, packing: wholePacking }

/** `HttpTarget` for `http`. */
const titleOf = ({ name }: ListedKind): string =>
  `${name.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())}Target`

export const target = Type.Unsafe<Partial<Targets<GivenAuth>>>(
  objectOf(
    Object.fromEntries(
      destinationKinds.map((kind) => [
        kind.name,
        optional({ ...memberOf(kind, givenForms, `${titleOf(kind)}Input`), ...setupOf(kind) }),
      ]),
    ),
    { title: 'DestinationTargetInput', description: 'Exactly one of them.' },
  ),
)

export const wholeTarget = Type.Unsafe<Targets<WholeAuth>>(
  objectOf(
    Object.fromEntries(
      destinationKinds.map((kind) => [kind.name, orNull(memberOf(kind, wholeForms, titleOf(kind)))]),
    ),
    { title: 'DestinationTarget' },
  ),
)

export type Target = Static<typeof target>

/** The one target that is set. */
export interface ChosenTarget {
  readonly kind: string
  readonly address: string
  /** Undefined if the kind needs none. */
  readonly auth: GivenAuth | undefined
  readonly packing: Packing
  /** The members that the kind declares as its options; null and missing ones are left out. */
  readonly options: Readonly<Record<string, unknown>>
}

export function chosenTarget(given: Target): ChosenTarget {
  const members = given as Readonly<Record<string, unknown>>
  const set = destinationKinds.filter(({ name }) => (members[name] ?? null) !== null)
  if (set.length !== 1) {
    const names = (kinds: readonly ListedKind[]): string => kinds.map(({ name }) => name).join(', ')
    const said = set.length === 0 ? 'names no target' : `names ${set.length} targets (${names(set)})`
    throw badRequest(`"target" ${said}: exactly one of ${names(destinationKinds)} is allowed.`)
  }
  const { name, address, aws, options } = set[0]!
  const member = members[name] as Readonly<Record<string, unknown>>
  const isSet = ([option]: [string, unknown]): boolean => (member[option] ?? null) !== null
  const declared = Object.entries(options?.schema.properties ?? {}).filter(isSet)
  return {
    kind: name,
    address: member[address.field] as string,
    // A kind that does not use AWS may have a member of this name among its options.
    auth: aws !== undefined ? (member['auth'] as GivenAuth | undefined) : undefined,
    packing: (member['packing'] as Packing | null | undefined) ?? 'none',
    options: Object.fromEntries(declared.map(([option]) => [option, member[option]])),
  }
}

/** The member of `target` for a chosen target, with its auth in another form, and with null for its own secrets. */
export function memberFor(
  { kind, address, auth, packing: chosen, options: given }: ChosenTarget,
  authForm: (auth: GivenAuth) => object,
): object {
  const { address: declared, options } = kindNamed(kind)
  return {
    [declared.field]: address,
    ...(auth !== undefined && { auth: authForm(auth) }),
    ...(chosen !== 'none' && { packing: chosen }),
    ...(options !== undefined && withoutSecrets(options, given)),
  }
}

/** Responses list all kinds, unset ones as null. No secret is ever shown. */
export function shownTarget(value: unknown): Record<string, unknown> {
  const chosen = chosenTarget(value as Target)
  return Object.fromEntries(
    destinationKinds.map(({ name }) => [name, name === chosen.kind ? memberFor(chosen, shownAuth) : null]),
  )
}
