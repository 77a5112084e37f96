/** Secrets among the members of a field, by the marks in its schema. */
import { isObject, type JsonObject } from '../../ground/core/json-object.js'
import { secretMark } from '../../ground/core/schema.js'

interface SchemaNode {
  readonly [secretMark]?: boolean
  readonly anyOf?: readonly (SchemaNode & { readonly type?: string })[]
  readonly properties?: Readonly<Record<string, SchemaNode>>
  readonly additionalProperties?: SchemaNode | boolean
}

/** In place of a secret where it is compared. */
const masked = '(secret)'

/** In place of a secret that is to come: a text that the form of every secret allows. */
export const secretToCome = 'whsec_YSBzZWNyZXQgdGhhdCBpcyB0byBjb21l'

const notNull = (schema: SchemaNode): SchemaNode =>
  schema.anyOf?.find(({ type }) => type !== 'null') ?? schema

const memberOf = ({ properties, additionalProperties }: SchemaNode, name: string): SchemaNode | undefined =>
  properties?.[name] ?? (typeof additionalProperties === 'object' ? additionalProperties : undefined)

/**
 * A copy of a value in which each secret is replaced; undefined leaves it out. `secret` is null as the API shows it. `path`:
 * names of members.
 */
export function replaceSecrets(
  schema: object,
  value: unknown,
  replaced: (secret: unknown, path: readonly string[]) => unknown,
  path: readonly string[] = [],
): unknown {
  const node = notNull(schema)
  if (node[secretMark]) return replaced(value, path)
  if (!isObject(value)) return value
  const members = Object.entries(value).map(([name, member]) => {
    const declared = memberOf(node, name)
    const own = [...path, name]
    return [name, declared === undefined ? member : replaceSecrets(declared, member, replaced, own)] as const
  })
  return Object.fromEntries(members.filter(([, member]) => member !== undefined)) as JsonObject
}

export const maskedSecrets = (schema: object, value: unknown): unknown =>
  replaceSecrets(schema, value, () => masked)

/** All secrets in a value; null for one that is left out. */
export function secretsIn(schema: object, value: unknown): unknown[] {
  const found: unknown[] = []
  replaceSecrets(schema, value, (secret) => {
    found.push(secret)
    return secret
  })
  return found
}
