/** References to other resources in the values of a request. */
import type { Fields } from '../../words/resource/kind/define.js'

/** Maps the path of a field in the resource to its path in the request body. */
export type NameInBody = (path: string) => string

export const asInResource: NameInBody = (path) => path

/** For a body that is only a part of the resource: `part` matches the prefix of that part's fields. */
export const asInPart =
  (part: RegExp): NameInBody =>
  (path) =>
    path.replace(part, '')

type Values = Readonly<Record<string, unknown>>

/** A reference to another resource in some values. */
interface NamedReference {
  /** `ip_restriction.ip_policy_ids[0]` */
  readonly path: string
  /** `ip_restriction.ip_policy_ids` */
  readonly field: string
  readonly kind: string
  readonly id: string
}

/** Every reference to a resource of Weir in these values. */
export function* referencesIn(fields: Fields, values: Values, prefix = ''): Generator<NamedReference> {
  for (const [name, { fields: members, reference }] of Object.entries(fields)) {
    const value = values[name]
    if (value === undefined || value === null) continue
    const path = `${prefix}${name}`
    if (members !== undefined) yield* referencesIn(members, value as Values, `${path}.`)
    if (reference === undefined || reference.foreignPath !== undefined) continue
    const { kind, many } = reference
    if (!many) yield { path, field: path, kind, id: String(value) }
    else {
      for (const [index, id] of (value as string[]).entries())
        yield { path: `${path}[${index}]`, field: path, kind, id }
    }
  }
}
