/** Values that JSON or YAML was read into. */

export type JsonObject = Readonly<Record<string, unknown>>

/** An object with members, and no list. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
