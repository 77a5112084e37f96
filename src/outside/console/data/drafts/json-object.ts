/** JSON objects that are edited as text; the changes that someone made to one can be made to others of the same kind. */
import { isObject, type JsonObject } from '../../../../ground/core/json-object.js'
import { jsonNestingMax } from '../../../../ground/core/limits.js'
import { isNestedTooDeep } from '../../../../ground/core/text/json-nesting.js'

export interface JsonChange {
  /** The names of members on the way. */
  readonly path: readonly string[]
  /** Undefined: the member is removed. */
  readonly value: unknown
}

interface JsonFault {
  readonly text: string
  /** In characters from 0, as far as it is known. */
  readonly offset?: number
}

/** The object, or what is wrong with the text; `what` it should be, such as `a record`. */
export function objectIn(
  text: string,
  what: string,
):
  | { readonly object: JsonObject; readonly fault?: never }
  | { readonly object?: never; readonly fault: JsonFault } {
  // The code that takes the object calls itself for each level, and indents it.
  if (isNestedTooDeep(text))
    return { fault: { text: `${what} is nested at most ${jsonNestingMax} levels deep.` } }
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? { object: value } : { fault: { text: `${what} is a JSON object.` } }
  } catch (error) {
    const { message } = error as Error
    const offset = /position (\d+)/.exec(message)?.[1]
    const fault = { text: `This is not JSON: ${message}.` }
    return { fault: offset === undefined ? fault : { ...fault, offset: Number(offset) } }
  }
}

/** A list counts as a value. */
export function changesBetween(
  before: JsonObject,
  after: JsonObject,
  path: readonly string[] = [],
): JsonChange[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...names].flatMap((name): JsonChange[] => {
    const [old, now] = [before[name], after[name]]
    if (isObject(old) && isObject(now)) return changesBetween(old, now, [...path, name])
    return JSON.stringify(old) === JSON.stringify(now) ? [] : [{ path: [...path, name], value: now }]
  })
}

/** The object with the changes; members on the way that are no objects become objects. */
export const withChanges = (object: JsonObject, changes: readonly JsonChange[]): JsonObject =>
  changes.reduce((all, { path, value }) => withChange(all, path, value), object)

function withChange(object: JsonObject, [name = '', ...rest]: readonly string[], value: unknown): JsonObject {
  const { [name]: old, ...others } = object
  const next = rest.length === 0 ? value : withChange(isObject(old) ? old : {}, rest, value)
  return next === undefined ? others : { ...others, [name]: next }
}

export const changeText = ({ path, value }: JsonChange): string =>
  value === undefined ? `without ${path.join('.')}` : `${path.join('.')} = ${JSON.stringify(value)}`
