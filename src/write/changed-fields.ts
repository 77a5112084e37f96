/** The fields that differ between two versions of a resource, as the API shows them. */
import { isDeepStrictEqual } from 'node:util'
import type { Fields, Links } from '../resource/define.js'
import type { ChangedField } from '../shape/change-schema.js'

type Values = Readonly<Record<string, unknown>>

/**
 * Secrets are named, but never shown. A module that is set before and after is compared member by member. A version
 * that does not exist has no values.
 */
export function changedFields(
  fields: Fields,
  before: Values | undefined,
  after: Values | undefined,
  links: Links,
  prefix = '',
): ChangedField[] {
  return Object.entries(fields).flatMap(([name, { shown, sealed, fields: members }]) => {
    const [from, to] = [before?.[name] ?? null, after?.[name] ?? null]
    if (isDeepStrictEqual(from, to)) return []
    if (shown === 'hidden')
      return sealed ? [{ name: `${prefix}${name}`, before: null, after: null, secret: true }] : []
    if (members !== undefined && from !== null && to !== null)
      return changedFields(members, from as Values, to as Values, links, `${prefix}${name}.`)
    const show = (value: unknown) => (value === null ? null : shown.render(value, links))
    const change = { before: show(from), after: show(to) }
    // A one-time token is shown to no one, so its field has nothing to show.
    if (change.before === null && change.after === null) return []
    return [{ name: `${prefix}${shown.name ?? name}`, ...change, secret: false }]
  })
}
