/** Values of rows while they are planned: of new ones, of restored ones, and whether two rows are the same. */
import { startOfSecond } from '../../ground/core/clock.js'
import { newId } from '../../ground/core/ids.js'
import { storedFields } from '../../words/resource/fields/fields.js'
import type { AnyResource, Row } from '../../words/resource/kind/define.js'
import type { Caller } from '../access/caller.js'

export type Values = Readonly<Record<string, unknown>>

/** The values of a new row. */
const unsetValues = ({ fields }: AnyResource): Values =>
  Object.fromEntries(
    Object.entries(storedFields(fields)).map(([name, { fallback }]) => [name, fallback ?? null]),
  )

/** The values that a restoration leaves as they are; those of a new row, if the resource was deleted. */
export function notRestored(resource: AnyResource, present: Row | undefined): Values {
  const values: Values = present ?? unsetValues(resource)
  return Object.fromEntries((resource.notRestored ?? []).map((name) => [name, values[name]]))
}

/** A row with the given values, and defaults for the rest. */
export function newRow({ accountId }: Caller, resource: AnyResource, values: Values, at: number): Row {
  return {
    ...unsetValues(resource),
    ...values,
    id: newId(resource.idPrefix),
    account_id: accountId,
    version: 0,
    created_at: startOfSecond(at),
  }
}

/**
 * Are the rows equal, ignoring the version and sealed values, which are compared by their digests? A row that an earlier
 * version of Weir stored lacks fields that are new: they have the values that they have if none is sent.
 */
export function same(resource: AnyResource, present: Row, next: Row): boolean {
  const sealed = Object.entries(resource.fields).flatMap(([name, field]) => (field.sealed ? [name] : []))
  const ignored = Object.fromEntries(['version', ...sealed].map((name) => [name, null]))
  const before = { ...unsetValues(resource), ...present }
  return JSON.stringify({ ...before, ...ignored }) === JSON.stringify({ ...before, ...next, ...ignored })
}
