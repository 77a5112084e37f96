/** A request body as values of a resource's fields, or an error that names the culprit. */
import { isDeepStrictEqual } from 'node:util'
import { badRequest, notFound, scalarShown, shown, valueAt } from '../core/errors.js'
import { isId } from '../core/ids.js'
import { getOrMakeWeak } from '../core/maps.js'
import { insteadOf, supported } from '../core/nearest.js'
import { type Check, compileCheck } from '../core/schema-check.js'
import type { AnyResource, Field, Fields, Row } from '../resource/define.js'
import { isNothing, withoutForeign, withoutNothing } from './empty-values.js'
import { changedMembers, refuseReadOnly, withIds } from './sent-back.js'

type Values = Record<string, unknown>
type AnyField = Field<never, null>

const checks = new WeakMap<object, Check>()

/** What is wrong with a value of this field; compiled once per field. */
const checkOf = ({ schema }: AnyField): Check => getOrMakeWeak(checks, schema, () => compileCheck(schema))

/** The body as an object; ids of the path may be repeated in it and have to agree. */
export function objectBody(body: unknown, pathIds: Readonly<Record<string, string>>): Values {
  if (body === undefined) return {}
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw badRequest(`The body is ${scalarShown(body)}, but must be a JSON object.`)
  }
  const isOfPath = (name: string): boolean => Object.hasOwn(pathIds, name)
  for (const [name, value] of Object.entries(body)) {
    if (!isOfPath(name) || value === pathIds[name]) continue
    throw badRequest(
      `${valueAt(name, value)}, but the path says ${shown(pathIds[name])}: leave it out, or let them agree.`,
    )
  }
  // Object.fromEntries makes an own property even of "__proto__", which is then refused as any unknown name is.
  return Object.fromEntries(Object.entries(body).filter(([name]) => !isOfPath(name)))
}

/** `at`: what stands before the names in messages. */
export function checkNames(values: Values, names: readonly string[], title: string, at = ''): void {
  for (const name of Object.keys(values)) {
    if (names.includes(name)) continue
    throw badRequest(`${shown(`${at}${name}`)} is no field of ${article(title)}: ${insteadOf(name, names)}.`)
  }
}

/** `an IP policy`, `a TCP edge`. */
export const article = (title: string): string =>
  `${/^[aeiou]|^(HTTPS|API|IP|SSH)\b/i.test(title) ? 'an' : 'a'} ${title}`

const fieldsOf = (resource: AnyResource): readonly (readonly [string, AnyField])[] =>
  Object.entries(resource.fields as Fields).filter(
    ([name, { setBy }]) => setBy !== 'weir' && name !== resource.parent?.field,
  ) as unknown as readonly (readonly [string, AnyField])[]

/** A value that is given, checked and completed. */
function given(field: AnyField, name: string, value: unknown): unknown {
  const whole = sent(field, name, value)
  const wrong = checkOf(field)(whole, name)
  if (wrong !== undefined) throw badRequest(wrong)
  return completed(field, whole)
}

/** The value as the field's schema has it: references by their ids, without members that say nothing. */
function sent({ schema, fields }: AnyField, name: string, value: unknown): unknown {
  const isModule =
    fields !== undefined && typeof value === 'object' && value !== null && !Array.isArray(value)
  const withoutRefs = isModule ? withIds(fields, value as Values, name === '' ? '' : `${name}.`) : value
  return withoutNothing(schema, withoutRefs)
}

const completed = ({ complete }: AnyField, value: unknown): unknown =>
  complete === undefined ? value : complete(value as never)

/** All fields of a new resource: what is given, and defaults for the rest. `at` stands before names in messages. */
export function createValues(resource: AnyResource, body: Values, at = ''): Values {
  const fields = fieldsOf(resource)
  const known = withoutForeign(resource.kind, body)
  checkNames(
    known,
    fields.map(([name]) => name),
    resource.title,
    at,
  )
  const values: Values = {}
  for (const [name, field] of fields) {
    const value = known[name] ?? null
    if (field.required && value === null) {
      throw badRequest(`"${at}${name}" is required for ${article(resource.title)}.`)
    }
    const isAbsent = !field.required && isNothing(field.schema, value)
    values[name] = isAbsent ? (field.fallback ?? null) : given(field, `${at}${name}`, value)
  }
  return values
}

/** A resource before an update: as it is stored, and as GET shows it. */
export interface Present {
  readonly row: Row
  readonly shown: Readonly<Values>
}

/** The fields that an update changes. */
export function updateValues(resource: AnyResource, body: Values, present: Present): Values {
  const fields = new Map(fieldsOf(resource))
  const changeable = [...fields].flatMap(([name, { setBy }]) => (setBy === 'client' ? [name] : []))
  const members = changedMembers(withoutForeign(resource.kind, body), present.shown)
  const changes: Values = {}
  for (const [name, value] of Object.entries(withIds(resource.fields, members))) {
    const field = fields.get(name)
    if (field === undefined) {
      refuseReadOnly(resource, name, value, present.shown)
      checkNames({ [name]: value }, changeable, resource.title)
    } else if (isUnchanged(field, value)) continue
    else if (field.setBy === 'client') changes[name] = updated(field, name, value)
    else if (!isPresent(field, name, value, present.row)) {
      throw badRequest(
        `${valueAt(name, value)}, but can't be changed after creation: ${supported(changeable)}.`,
      )
    }
  }
  return changes
}

/** Does the row have the value, in whichever spelling it is given? Sealed values can't be compared. */
function isPresent(field: AnyField, name: string, value: unknown, row: Row): boolean {
  if (field.sealed) return false
  if (value === null) return row[name] === null
  const whole = sent(field, name, value)
  return checkOf(field)(whole, name) === undefined && isDeepStrictEqual(completed(field, whole), row[name])
}

/** Does the empty value of an update leave the field as it is? Only optional fields can be cleared. */
const isUnchanged = ({ required, setBy, schema }: AnyField, value: unknown): boolean =>
  value !== null && (required || setBy !== 'client') && isNothing(schema, value)

function updated(field: AnyField, name: string, value: unknown): unknown {
  const isModule = field.fields !== undefined
  if (isModule && (value === null || value === '')) {
    throw badRequest(
      `"${name}" is ${shown(value)}: a module is removed by its own DELETE, or replaced by a whole one.`,
    )
  }
  if (value === null && field.required) throw badRequest(`"${name}" is required and can't be cleared.`)
  return isNothing(field.schema, value) ? (field.fallback ?? null) : given(field, name, value)
}

/** A module's own body: the module, whole. */
export function moduleValue(name: string, field: AnyField, body: Values): unknown {
  const fields = field.fields as Fields
  const title = `${name.replace('_', ' ')} module`
  const members = withIds(fields, body)
  checkNames(members, Object.keys(fields), title)
  for (const [member, { required }] of Object.entries(fields)) {
    if (required && (members[member] ?? null) === null)
      throw badRequest(`"${member}" is required for ${article(title)}.`)
  }
  return given(field, '', members)
}

/** How a body calls a field of the resource. */
export type NameInBody = (path: string) => string

export const asInResource: NameInBody = (path) => path

/** Of a body that is a part of the resource alone: `part` is what stands before the names of the part's fields. */
export const asInPart =
  (part: RegExp): NameInBody =>
  (path) =>
    path.replace(part, '')

/** Another resource that values name. */
export interface NamedReference {
  /** `ip_restriction.ip_policy_ids[0]` */
  readonly path: string
  /** `ip_restriction.ip_policy_ids` */
  readonly field: string
  readonly kind: string
  readonly id: string
}

/** Every reference to a resource of ours in these values. */
export function* referencesIn(
  fields: Fields,
  values: Readonly<Values>,
  prefix = '',
): Generator<NamedReference> {
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

/** An id of a path: another kind's prefix is an unknown id like any other. */
export function checkPathId(resource: AnyResource, id: string): void {
  if (!isId(resource.idPrefix, id)) throw unknownResource(resource, id)
}

export const unknownResource = (resource: AnyResource, id: string) =>
  notFound(`There is no ${resource.title} ${shown(id)}.`)
