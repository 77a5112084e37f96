/** A request body as values of a resource's fields, or an error that names the culprit. */
import { badRequest, notFound, shown } from '../core/errors.js'
import { isId } from '../core/ids.js'
import { nearestNames } from '../core/nearest.js'
import { type Check, compileCheck } from '../core/schema.js'
import type { AnyResource, Field, Fields } from '../resource/define.js'

type Values = Record<string, unknown>
type AnyField = Field<never, null>

const checks = new WeakMap<object, Check>()

/** What is wrong with a value of this field; compiled once per field. */
function checkOf(field: AnyField): Check {
  let check = checks.get(field.schema)
  if (check === undefined) checks.set(field.schema, (check = compileCheck(field.schema)))
  return check
}

export const supported = (names: readonly string[]): string =>
  names.length === 0 ? 'none are supported' : `supported are ${names.map((name) => `"${name}"`).join(', ')}`

/** The body as an object; ids of the path may be repeated in it and have to agree. */
export function objectBody(body: unknown, pathIds: Readonly<Record<string, string>>): Values {
  if (body === undefined) return {}
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw badRequest(`The body is ${shown(body)}, but must be a JSON object.`)
  }
  const values: Values = {}
  for (const [name, value] of Object.entries(body)) {
    const inPath = Object.hasOwn(pathIds, name) ? pathIds[name] : undefined
    if (inPath === undefined) values[name] = value
    else if (value !== inPath) {
      throw badRequest(
        `"${name}" is ${shown(value)}, but the path says ${shown(inPath)}: leave it out, or let them agree.`,
      )
    }
  }
  return values
}

export function checkNames(values: Values, names: readonly string[], title: string): void {
  for (const name of Object.keys(values)) {
    if (names.includes(name)) continue
    const near = nearestNames(name, names)
    const hint = near.length > 0 ? `did you mean "${near[0]}"? ` : ''
    throw badRequest(`"${name}" is no field of ${article(title)}: ${hint}${supported(names)}.`)
  }
}

const article = (title: string): string =>
  `${/^[aeiou]|^(HTTPS|API|IP|SSH)/i.test(title) ? 'an' : 'a'} ${title}`

const fieldsOf = (resource: AnyResource): readonly (readonly [string, AnyField])[] =>
  Object.entries(resource.fields as Fields).filter(
    ([name, { setBy }]) => setBy !== 'weir' && name !== resource.parent?.field,
  ) as unknown as readonly (readonly [string, AnyField])[]

/** A value that is given, checked and completed. */
function given(field: AnyField, name: string, value: unknown): unknown {
  const wrong = checkOf(field)(value, name)
  if (wrong !== undefined) throw badRequest(wrong)
  return field.complete === undefined ? value : field.complete(value as never)
}

/** All fields of a new resource: what is given, and defaults for the rest. */
export function createValues(resource: AnyResource, body: Values): Values {
  const fields = fieldsOf(resource)
  checkNames(
    body,
    fields.map(([name]) => name),
    resource.title,
  )
  const values: Values = {}
  for (const [name, field] of fields) {
    const value = body[name]
    const absent = value === undefined || value === null || (value === '' && !field.required)
    if (!absent) values[name] = given(field, name, value)
    else if (field.required) throw badRequest(`"${name}" is required for ${article(resource.title)}.`)
    else values[name] = field.fallback ?? null
  }
  return values
}

/** The fields that an update changes. */
export function updateValues(resource: AnyResource, body: Values): Values {
  const fields = fieldsOf(resource)
  const changeable = fields.filter(([, { setBy }]) => setBy === 'client')
  for (const [name, { setBy }] of fields) {
    if (setBy !== 'client' && Object.hasOwn(body, name)) {
      throw badRequest(
        `"${name}" can't be changed after creation: ${supported(changeable.map(([other]) => other))}.`,
      )
    }
  }
  checkNames(
    body,
    changeable.map(([name]) => name),
    resource.title,
  )
  const values: Values = {}
  for (const [name, field] of changeable) {
    if (!Object.hasOwn(body, name)) continue
    const value = body[name]
    values[name] = value === null || value === '' ? cleared(field, name, value) : given(field, name, value)
  }
  return values
}

/** What an empty value leaves behind. */
function cleared(field: AnyField, name: string, value: unknown): unknown {
  if (field.fields !== undefined) {
    throw badRequest(
      `"${name}" is ${shown(value)}: a module is removed by its own DELETE, or replaced by a whole one.`,
    )
  }
  if (field.required) throw badRequest(`"${name}" is required and can't be cleared.`)
  if (value === '' && field.column !== 'text') return given(field, name, value)
  return field.fallback ?? null
}

/** A module's own body: the module, whole. */
export function moduleValue(name: string, field: AnyField, body: Values): unknown {
  const fields = field.fields as Fields
  checkNames(body, Object.keys(fields), `${name.replace('_', ' ')} module`)
  const values = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null))
  for (const [member, { required }] of Object.entries(fields)) {
    if (required && !Object.hasOwn(values, member))
      throw badRequest(`"${member}" is required for the module.`)
  }
  const wrong = checkOf(field)(values, '')
  if (wrong !== undefined) throw badRequest(wrong)
  return field.complete === undefined ? values : field.complete(values as never)
}

/** Another resource that values name. */
export interface NamedReference {
  /** `ip_restriction.ip_policy_ids[0]` */
  readonly path: string
  readonly kind: string
  readonly id: string
}

/** Every reference to a resource of ours in these values. */
export function* referencesIn(
  fields: Fields,
  values: Readonly<Values>,
  prefix = '',
): Generator<NamedReference> {
  for (const [name, field] of Object.entries(fields)) {
    const value = values[name]
    if (value === undefined || value === null) continue
    if (field.fields !== undefined) yield* referencesIn(field.fields, value as Values, `${prefix}${name}.`)
    const { reference } = field
    if (reference === undefined || reference.foreign) continue
    if (!reference.many) yield { path: `${prefix}${name}`, kind: reference.kind, id: String(value) }
    else
      for (const [at, id] of (value as string[]).entries())
        yield { path: `${prefix}${name}[${at}]`, kind: reference.kind, id }
  }
}

/** An id of a path: another kind's prefix is an unknown id like any other. */
export function checkPathId(resource: AnyResource, id: string): void {
  if (!isId(resource.idPrefix, id)) throw unknownResource(resource, id)
}

export const unknownResource = (resource: AnyResource, id: string) =>
  notFound(`There is no ${resource.title} ${shown(id)}.`)
