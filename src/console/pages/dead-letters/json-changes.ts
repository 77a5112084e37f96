/** The changes that someone made to a JSON object, so that they can be made to others of the same kind. */

export type JsonObject = Readonly<Record<string, unknown>>

export interface JsonChange {
  /** The names of members on the way. */
  readonly path: readonly string[]
  /** Undefined: the member is removed. */
  readonly value: unknown
}

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

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
