/**
 * Answers of GET as bodies of requests: what a client read, it may send back, whole or in part.
 *
 * - A member that is exactly as GET shows it is left out of the update, so read-only members may be repeated, and a
 *   reference to something that was deleted since stays as it is.
 * - A reference may be given as responses show it (`backend: {id, uri}`) in place of its id (`backend_id`).
 */
import { isDeepStrictEqual } from 'node:util'
import { badRequest, shown, valueAt } from '../core/errors.js'
import { getOrMakeWeak } from '../core/maps.js'
import { type Check, compileCheck } from '../core/schema-check.js'
import type { AnyResource, Field, Fields } from '../resource/define.js'
import { resourceSchema } from '../resource/shown-schema.js'

type Values = Readonly<Record<string, unknown>>
type AnyField = Field<never, null>

/** The body without members that are as the resource is shown. */
export const changedMembers = (body: Values, present: Values): Values =>
  Object.fromEntries(
    Object.entries(body).filter(
      ([name, value]) => !Object.hasOwn(present, name) || !isDeepStrictEqual(value, present[name]),
    ),
  )

/** Throws for a member that is shown, but can't be set under its name, and differs from what is shown. */
export function refuseReadOnly(resource: AnyResource, name: string, value: unknown, present: Values): void {
  const { properties } = resourceSchema(resource) as { properties?: Values }
  if (properties === undefined || !Object.hasOwn(properties, name)) return
  throw badRequest(`${valueAt(name, value)}, but can't be changed: it is ${shown(present[name] ?? null)}.`)
}

/** Throws for a member that is not as the resource is shown. `at` stands before the names in messages. */
export function refuseChanged(members: Values, present: Values, at: string): void {
  for (const [name, value] of Object.entries(changedMembers(members, present)))
    throw badRequest(
      `${valueAt(`${at}${name}`, value)}, but can't be changed: it is ${shown(present[name] ?? null)}.`,
    )
}

const checks = new WeakMap<object, Check>()

/** The body with ids in place of references that are given as responses show them. `at` stands before their names. */
export function withIds(fields: Fields, body: Values, at = ''): Values {
  const byShownName = new Map(
    (Object.entries(fields) as unknown as [string, AnyField][]).flatMap(([name, field]) =>
      field.shownRefs === undefined || field.shown === 'hidden' || field.shown.name === undefined
        ? []
        : [[field.shown.name, [name, field.shownRefs] as const] as const],
    ),
  )
  const sent: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(body)) {
    const [idName, schema] = byShownName.get(name) ?? [name, undefined]
    const given = schema === undefined ? value : idsOf(schema, `${at}${name}`, value)
    if (Object.hasOwn(sent, idName) && !isDeepStrictEqual(sent[idName], given)) {
      const names = [...byShownName].find(([, [id]]) => id === idName)?.[0]
      throw badRequest(`"${at}${names}" and "${at}${idName}" name different resources: send one of them.`)
    }
    sent[idName] = given
  }
  return sent
}

type Ref = { readonly id: string }

function idsOf(schema: NonNullable<AnyField['shownRefs']>, name: string, value: unknown): unknown {
  if (value === null) return null
  const wrong = getOrMakeWeak(checks, schema, () => compileCheck(schema))(value, name)
  if (wrong !== undefined) throw badRequest(wrong)
  return Array.isArray(value) ? value.map(({ id }: Ref) => id) : (value as Ref).id
}
