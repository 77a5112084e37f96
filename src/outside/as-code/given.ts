/** The forms of a resource: as the API shows it, as a client gives it, and as two of them are compared. */
import { isObject, type JsonObject } from '../../ground/core/json-object.js'
import { completed } from '../../words/resource/fields/fields.js'
import type { AnyResource, Field, Fields } from '../../words/resource/kind/define.js'
import type { Body, ManagedKind } from './managed-kinds.js'
import { hasPlaceholders } from './placeholders.js'
import { maskedSecrets } from './secret-members.js'

const isGiven = ([, { setBy }]: readonly [string, Field]): boolean => setBy !== 'weir'

/** The fields that clients set; `without`: those that a path names. */
export const givenFields = (
  { fields }: Pick<AnyResource, 'fields'>,
  without: readonly string[] = [],
): Fields =>
  Object.fromEntries(
    (Object.entries(fields) as [string, Field][]).filter(isGiven).filter(([name]) => !without.includes(name)),
  )

/** The body that would create what the API shows, with every member; what is never shown is null. */
export function givenOf(fields: Fields, shown: JsonObject): Body {
  const given: Record<string, unknown> = {}
  for (const [name, field] of Object.entries(fields) as [string, Field][]) {
    if (field.setBy === 'weir' || field.shown === 'hidden') continue
    const value = shown[field.shown.name ?? name]
    if (value === null || value === undefined) continue
    if (field.fields !== undefined) given[name] = givenOf(field.fields, value as JsonObject)
    else if (field.reference !== undefined) given[name] = Array.isArray(value) ? value.map(idIn) : idIn(value)
    else given[name] = withoutUris(value)
  }
  return completed(fields, given)
}

const idIn = (reference: unknown): string =>
  isObject(reference) ? String(reference['id']) : String(reference)

/** Parts of a resource may have addresses of their own, such as the sources of a subscription. */
const withoutUris = (value: unknown): unknown => {
  if (!Array.isArray(value)) return value
  return value.map((each) => {
    if (!isObject(each) || !('uri' in each)) return each
    const { uri: _shownOnly, ...given } = each
    return given
  })
}

/** A form in which equal ones are equal as JSON: secrets are hidden, and members are sorted that are not null. */
export function comparable(fields: Fields, body: Body): JsonObject {
  const values = Object.entries(body).map(([name, value]) => {
    const field = fields[name]
    return [name, field === undefined ? value : maskedSecrets(field.schema, value)] as const
  })
  return sorted(Object.fromEntries(values)) as JsonObject
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (!isObject(value)) return value
  const members = Object.entries(value).filter(([, member]) => (member ?? null) !== null)
  return Object.fromEntries(
    members.sort(([one], [other]) => (one < other ? -1 : 1)).map(([name, member]) => [name, sorted(member)]),
  )
}

export const isEqual = (one: unknown, other: unknown): boolean =>
  JSON.stringify(one) === JSON.stringify(other)

/** A member that differs, with names in place of ids; secrets are hidden. */
export interface FieldChange {
  readonly name: string
  readonly before: unknown
  readonly after: unknown
}

export function changesOf(kind: ManagedKind, fields: Fields, wanted: Body, present: Body): FieldChange[] {
  const [after, before] = [comparable(fields, wanted), comparable(fields, present)]
  return Object.entries(fields).flatMap(([name, field]) => {
    const isUnknown = (field as Field).shown === 'hidden' && before[name] === undefined
    if (isUnknown || kind.once.includes(name)) return []
    const isUnsaid = kind.filledIn.includes(name) && isEmpty(after[name])
    if (isUnsaid || isEqual(after[name], before[name])) return []
    return [{ name, before: before[name] ?? null, after: after[name] ?? null }]
  })
}

const isEmpty = (value: unknown): boolean =>
  (value ?? null) === null || (isObject(value) && Object.keys(value).length === 0) || isEqual(value, [])

/** The members with placeholders as they are written, with secrets hidden. */
export const writtenMembers = (fields: Fields, written: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(written)
      .filter(([name, value]) => name in fields && hasPlaceholders(value))
      .map(([name, value]) => [name, maskedSecrets(fields[name]!.schema, value)]),
  )
