/**
 * Lets a client send back what it read: the answer of a GET, whole or in part, as the body of a request.
 *
 * - A member that is exactly as GET shows it is left out of the update. So read-only members may be repeated, and a
 *   reference to a resource that was deleted since may stay.
 * - A reference may be sent as responses show it (`backend: {id, uri}`) instead of its id (`backend_id`).
 */
import { isDeepStrictEqual } from 'node:util'
import { badRequest, shown, valueAt } from '../../../ground/core/errors.js'
import type { TSchema } from '../../../ground/core/schema.js'
import type { AnyResource, Field, Fields } from '../../../words/resource/kind/define.js'
import { resourceSchema } from '../../../words/resource/shown-schema.js'
import { checkOf, schemaRefusal } from './schema-faults.js'

type Values = Readonly<Record<string, unknown>>
export type AnyField = Field<never, null>

/** The body without members that equal those of the resource as GET shows it. */
export const changedMembers = (body: Values, present: Values): Values =>
  Object.fromEntries(
    Object.entries(body).filter(
      ([name, value]) => !Object.hasOwn(present, name) || !isDeepStrictEqual(value, present[name]),
    ),
  )

/** Throws for a read-only member with another value than GET shows. */
export function refuseReadOnly(resource: AnyResource, name: string, value: unknown, present: Values): void {
  const { properties } = resourceSchema(resource) as { properties?: Values }
  if (properties === undefined || !Object.hasOwn(properties, name)) return
  throw badRequest(`${valueAt(name, value)}, but can't be changed: it is ${shown(present[name] ?? null)}.`)
}

/** Every answer has them. */
const headOfAnswer = ['id', 'uri', 'created_at']

/**
 * The body of a new resource without the read-only members of an answer of GET: a copy gets its own. A body without the head
 * of an answer is none, so its read-only members stay, and are refused. Throws for a value that GET never shows.
 */
export function withoutReadOnly(resource: AnyResource, body: Values, prefix = ''): Values {
  if (!headOfAnswer.every((name) => Object.hasOwn(body, name))) return body
  const { properties = {} } = resourceSchema(resource) as { properties?: Readonly<Record<string, TSchema>> }
  const fields: Fields = resource.fields
  const isReadOnly = (name: string): boolean =>
    Object.hasOwn(properties, name) && (fields[name] === undefined || fields[name].setBy === 'weir')
  const members = Object.entries(withIds(fields, body, prefix))
  for (const [name, value] of members) {
    if (!isReadOnly(name) || value === null) continue
    if (checkOf(properties[name]!)(value, name) !== undefined)
      throw badRequest(
        `${valueAt(`${prefix}${name}`, value)}, but is set by Weir alone: omit it, or send what GET shows.`,
      )
  }
  return Object.fromEntries(members.filter(([name]) => !isReadOnly(name)))
}

/** Throws for a member with another value than GET shows. `prefix`: precedes names in messages. */
export function refuseChanged(members: Values, present: Values, prefix: string): void {
  for (const [name, value] of Object.entries(changedMembers(members, present)))
    throw badRequest(
      `${valueAt(`${prefix}${name}`, value)}, but can't be changed: it is ${shown(present[name] ?? null)}.`,
    )
}

/** Replaces references as responses show them by their ids. `prefix`: precedes names in messages. */
export function withIds(fields: Fields, body: Values, prefix = ''): Values {
  const byShownName = new Map(
    (Object.entries(fields) as unknown as [string, AnyField][]).flatMap(([name, field]) =>
      field.shownRefs === undefined || field.shown === 'hidden' || field.shown.name === undefined
        ? []
        : [[field.shown.name, [name, field.shownRefs] as const] as const],
    ),
  )
  // An assignment to "__proto__" would make no member, so it would be taken instead of refused.
  const sent = new Map<string, unknown>()
  for (const [name, value] of Object.entries(body)) {
    const [idName, schema] = byShownName.get(name) ?? [name, undefined]
    const given = schema === undefined ? value : idsOf(schema, `${prefix}${name}`, value)
    if (sent.has(idName) && !isDeepStrictEqual(sent.get(idName), given)) {
      const names = [...byShownName].find(([, [id]]) => id === idName)?.[0]
      throw badRequest(
        `"${prefix}${names}" and "${prefix}${idName}" name different resources: send only one of them.`,
      )
    }
    sent.set(idName, given)
  }
  return Object.fromEntries(sent)
}

type Ref = { readonly id: string }

function idsOf(schema: NonNullable<AnyField['shownRefs']>, name: string, value: unknown): unknown {
  if (value === null) return null
  const wrong = checkOf(schema)(value, name)
  if (wrong !== undefined) throw schemaRefusal(wrong, schema, value, name)
  return Array.isArray(value) ? value.map(({ id }: Ref) => id) : (value as Ref).id
}
