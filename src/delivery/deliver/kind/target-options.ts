/**
 * Members of a target besides its address, as a kind declares them: a schema, in which some texts are secrets. A secret is
 * stored sealed and never shown. It is always a member of an object or a value of a map that can be present or not, so
 * that a response, in which every secret is null, still says which secrets there are.
 */
import { isObject, type JsonObject } from '../../../ground/core/json-object.js'
import {
  documented,
  objectOf,
  orNull,
  ruled,
  type Static,
  secretMark,
  type TObject,
  type TSchema,
  Type,
} from '../../../ground/core/schema.js'
import type { GivenOptions } from './destination.js'

interface SecretForm {
  readonly charsMax?: number
  /** It may have several lines, such as a key in PEM. */
  readonly hasLines?: boolean
  /** The problem with it; the sentence must not repeat the secret. */
  readonly broken?: (secret: string) => string | undefined
  readonly description?: string
}

/** A secret. It may be left out if it was given before, see `isSameRecipient`. */
export const secretText = ({
  charsMax = 4_096,
  hasLines = false,
  broken,
  description = '',
}: SecretForm = {}) => {
  const refused = hasLines ? /[^\P{Cc}\t\r\n]/u : /\p{Cc}/u
  return Type.Optional(
    orNull(
      ruled(
        Type.String({
          minLength: 1,
          maxLength: charsMax,
          description: `${description} Stored encrypted, and never shown.`.trimStart(),
          [secretMark]: true,
          ...(!hasLines && documented({ pattern: '^[^\\p{Cc}]+$' })),
        }),
        (secret) => (refused.test(secret) ? 'control characters are not allowed' : broken?.(secret)),
      ),
    ),
  )
}

/** A member that may be left out, or null. */
export const optional = <S extends TSchema>(schema: S) => Type.Optional(orNull(schema))

/** The options of a kind, all of which are given in a target as members next to the address. */
export interface TargetOptions<S extends TObject = TObject> {
  readonly schema: S
  /** The problem with the target as a whole; the sentence continues after its name. */
  broken?(address: string, options: Static<S>): string | undefined
  /** Names who gets the secrets: they are kept only while it stays the same. Default: the address. */
  recipient?(address: string, options: Static<S>): string
}

/** Options as delivery has them: a member that is null is left out. */
type Given<T> = T extends readonly (infer E)[]
  ? readonly Given<E>[]
  : T extends object
    ? { readonly [K in keyof T]: Given<NonNullable<T[K]>> }
    : T

/** The type of a kind's options, by what it declares. */
export type OptionsOf<O extends TargetOptions | undefined> =
  O extends TargetOptions<infer S> ? Given<Static<S>> : GivenOptions

/** Identity, so that `broken` and `recipient` know the options. */
export const targetOptions = <P extends Parameters<typeof objectOf>[0]>(
  members: P,
  rules: Omit<TargetOptions<TObject<P>>, 'schema'> = {},
): TargetOptions<TObject<P>> => ({ schema: objectOf(members) as TObject<P>, ...rules })

interface SchemaNode extends JsonObject {
  readonly anyOf?: readonly SchemaNode[]
  readonly properties?: Readonly<Record<string, SchemaNode>>
  readonly additionalProperties?: SchemaNode | boolean
}

/** The schema of a member that may be null. */
const notNull = (schema: SchemaNode): SchemaNode =>
  schema.anyOf?.find(({ type }) => type !== 'null') ?? schema

const memberSchema = ({ properties, additionalProperties }: SchemaNode, name: string) =>
  properties?.[name] ?? (typeof additionalProperties === 'object' ? additionalProperties : undefined)

const pathOf = (parent: string, name: string): string => (parent === '' ? name : `${parent}.${name}`)

/** A copy of a value in which each secret is replaced by the result of `replaced`; undefined leaves it out. */
function mapSecrets(
  schema: SchemaNode,
  value: JsonObject,
  replaced: (path: string, secret: unknown) => unknown,
  parent = '',
): JsonObject {
  const names = new Set([...Object.keys(schema.properties ?? {}), ...Object.keys(value)])
  const copied: Record<string, unknown> = {}
  for (const name of names) {
    const declared = memberSchema(schema, name)
    if (declared === undefined) continue
    const [of, path, given] = [notNull(declared), pathOf(parent, name), value[name]]
    const member = of[secretMark]
      ? replaced(path, given)
      : isObject(given)
        ? mapSecrets(of, given, replaced, path)
        : given
    if (member !== undefined) copied[name] = member
  }
  return copied
}

/** By its path, such as `auth.bearer.token`: each secret of a target, null if it is not given. */
export type Secrets = Readonly<Record<string, string | null>>

/** The secrets that there are in a target, given or not. */
export function secretsIn({ schema }: TargetOptions, options: JsonObject): Secrets {
  const secrets: Record<string, string | null> = {}
  mapSecrets(schema as unknown as SchemaNode, options, (path, secret) => {
    secrets[path] = typeof secret === 'string' ? secret : null
  })
  return secrets
}

/** The options with null for each secret, as they are stored and shown. */
export const withoutSecrets = ({ schema }: TargetOptions, options: JsonObject): JsonObject =>
  mapSecrets(schema as unknown as SchemaNode, options, () => null)

/** The options as delivery needs them. */
export const withSecrets = ({ schema }: TargetOptions, options: JsonObject, secrets: Secrets): JsonObject =>
  withoutNulls(mapSecrets(schema as unknown as SchemaNode, options, (path) => secrets[path]))

const withoutNulls = (value: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) =>
      (member ?? null) === null ? [] : [[name, isObject(member) ? withoutNulls(member) : member]],
    ),
  )
