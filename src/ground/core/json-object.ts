/** Values that JSON or YAML was read into. */

export type JsonObject = Readonly<Record<string, unknown>>

/** An object with members, and no list. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A copy of a value with other texts. */
export function mapTexts<T>(value: T, replaced: (text: string) => string): T {
  if (typeof value === 'string') return replaced(value) as T
  if (Array.isArray(value)) return value.map((each: unknown) => mapTexts(each, replaced)) as T
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, mapTexts(each, replaced)]),
  ) as T
}
