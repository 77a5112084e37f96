/** Start here: parses a request body into values of a resource's fields, or throws an error that names the culprit. */
import { isDeepStrictEqual } from 'node:util'
import { badRequest, scalarShown, shown, valueAt } from '../../../ground/core/errors.js'
import { insteadOf, supported } from '../../../ground/core/nearest.js'
import type { AnyResource, Fields, Row } from '../../../words/resource/kind/define.js'
import { isEmptyOf, isNothing, withoutForeign, withoutNothing } from './empty-values.js'
import { checkOf, schemaRefusal } from './schema-faults.js'
import { type AnyField, changedMembers, refuseReadOnly, withIds, withoutReadOnly } from './sent-back.js'

type Values = Record<string, unknown>

/** The body as an object without ids of the path: it may repeat them, but not contradict them. */
export function objectBody(body: unknown, pathIds: Readonly<Record<string, string>>): Values {
  if (body === undefined) return {}
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    // A text alone may be a token.
    const found = typeof body === 'string' ? 'a text' : scalarShown(body)
    throw badRequest(`The body is ${found}, but must be a JSON object.`)
  }
  const isPathId = (name: string): boolean => Object.hasOwn(pathIds, name)
  for (const [name, value] of Object.entries(body)) {
    if (!isPathId(name) || value === pathIds[name]) continue
    throw badRequest(
      `${valueAt(name, value)}, but the path says ${shown(pathIds[name])}: omit it or send the same value.`,
    )
  }
  // Object.fromEntries creates an own property even for "__proto__", which is then refused like any unknown name.
  return Object.fromEntries(Object.entries(body).filter(([name]) => !isPathId(name)))
}

/** Throws for a name that is not among `names`. `prefix`: precedes names in messages. */
export function checkNames(values: Values, names: readonly string[], title: string, prefix = ''): void {
  for (const name of Object.keys(values)) {
    if (names.includes(name)) continue
    const owner = capitalized(article(title))
    throw badRequest(`${owner} has no field ${shown(`${prefix}${name}`)}: ${insteadOf(name, names)}.`)
  }
}

const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

/** `an IP policy`, `a TCP edge`. */
export const article = (title: string): string =>
  `${/^[aeiou]|^(HTTPS|API|IP|SSH)\b/i.test(title) ? 'an' : 'a'} ${title}`

const fieldsOf = (resource: AnyResource): readonly (readonly [string, AnyField])[] =>
  Object.entries(resource.fields as Fields).filter(
    ([name, { setBy }]) => setBy !== 'weir' && name !== resource.parent?.field,
  ) as unknown as readonly (readonly [string, AnyField])[]

/** Checks a value and completes it with defaults. */
function checkedValue(field: AnyField, name: string, value: unknown): unknown {
  const whole = normalized(field, name, value)
  const wrong = checkOf(field.schema)(whole, name)
  if (wrong !== undefined) throw schemaRefusal(wrong, field.schema, whole, name)
  return completed(field, whole)
}

/** The value in the form of the field's schema: references as ids, no empty optional members. */
function normalized({ schema, fields }: AnyField, name: string, value: unknown): unknown {
  const isModule =
    fields !== undefined && typeof value === 'object' && value !== null && !Array.isArray(value)
  const withoutRefs = isModule ? withIds(fields, value as Values, name === '' ? '' : `${name}.`) : value
  return withoutNothing(schema, withoutRefs)
}

const completed = ({ complete }: AnyField, value: unknown): unknown =>
  complete === undefined ? value : complete(value as never)

/** All fields of a new resource, with defaults for those that the body omits. `prefix`: precedes names in messages. */
export function createValues(resource: AnyResource, body: Values, prefix = ''): Values {
  const fields = fieldsOf(resource)
  const known = withoutReadOnly(resource, withoutForeign(resource.kind, body), prefix)
  checkNames(
    known,
    fields.map(([name]) => name),
    resource.title,
    prefix,
  )
  const values: Values = {}
  for (const [name, field] of fields) {
    const value = known[name]
    if (field.required && (value ?? null) === null) {
      throw badRequest(`"${prefix}${name}" is required for ${article(resource.title)}.`)
    }
    const isAbsent = !field.required && isNothing(field.schema, value)
    values[name] = isAbsent ? (field.fallback ?? null) : checkedValue(field, `${prefix}${name}`, value)
  }
  return values
}

/** A resource before an update: as it is stored, and as GET shows it. */
interface CurrentResource {
  readonly row: Row
  readonly shown: Readonly<Values>
}

/** The fields that an update changes. */
export function updateValues(resource: AnyResource, body: Values, present: CurrentResource): Values {
  const fields = new Map(fieldsOf(resource))
  const changeable = [...fields].flatMap(([name, { setBy }]) => (setBy === 'client' ? [name] : []))
  const members = changedMembers(withoutForeign(resource.kind, body), present.shown)
  const changes: Values = {}
  for (const [name, value] of Object.entries(withIds(resource.fields, members))) {
    const field = fields.get(name)
    if (mayHaveBeenShown(resource.fields[name], name, value)) continue
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

/** An observed value changes by itself between the GET that showed it and the request that sends it back. */
const mayHaveBeenShown = (field: Fields[string] | undefined, name: string, value: unknown): boolean =>
  field?.column === 'none' && (value === null || checkOf(field.schema)(value, name) === undefined)

/** Does the row have this value, possibly in another spelling? Sealed values can't be compared. */
function isPresent(field: AnyField, name: string, value: unknown, row: Row): boolean {
  if (field.sealed) return false
  if (value === null) return row[name] === null
  const whole = normalized(field, name, value)
  return (
    checkOf(field.schema)(whole, name) === undefined && isDeepStrictEqual(completed(field, whole), row[name])
  )
}

/** Does this empty value leave the field unchanged? Only optional fields can be cleared. */
const isUnchanged = ({ required, isChoice, setBy, schema }: AnyField, value: unknown): boolean =>
  value !== null &&
  (required || isChoice ? isEmptyOf(schema, value) : setBy !== 'client' && isNothing(schema, value))

function updated(field: AnyField, name: string, value: unknown): unknown {
  const isModule = field.fields !== undefined
  if (isModule && (value === null || value === '')) {
    throw badRequest(
      `"${name}" is ${shown(value)}: remove a module by its own DELETE, or send a complete one.`,
    )
  }
  if (value === null && field.required) throw badRequest(`"${name}" is required and can't be cleared.`)
  return isNothing(field.schema, value) ? (field.fallback ?? null) : checkedValue(field, name, value)
}

/** The value of a module from the body of its own PUT. */
export function moduleValue(name: string, field: AnyField, body: Values): unknown {
  const fields = field.fields as Fields
  const title = `${name.replace('_', ' ')} module`
  const members = withIds(fields, body)
  checkNames(members, Object.keys(fields), title)
  for (const [member, { required }] of Object.entries(fields)) {
    if (required && (members[member] ?? null) === null)
      throw badRequest(`"${member}" is required for ${article(title)}.`)
  }
  return checkedValue(field, '', members)
}
