/** Normalizes the letter case of HTTP methods and headers, which HTTP leaves to the sender. */
import type { Headers } from './traffic-record.js'

export const normalizeMethod = (method: string | null | undefined): string | undefined =>
  method?.toLowerCase()

/**
 * `user-agent` and `USER-AGENT` become `User-Agent`, values lower-cased; values of names that differ by case are
 * joined in order. A map, because a header may be called `__proto__`.
 */
export function normalizeHeaders(headers: Headers): Map<string, readonly string[]> {
  const normal = new Map<string, readonly string[]>()
  for (const [name, values] of Object.entries(headers)) {
    const key = capitalized(name)
    const lower = values.map((value) => value.toLowerCase())
    normal.set(key, [...(normal.get(key) ?? []), ...lower])
  }
  return normal
}

/** The first value of each header, by its name in lower case; of names that differ by case, that of the first one. */
export function firstValues(headers: Headers): ReadonlyMap<string, string> {
  const first = new Map<string, string>()
  for (const [name, [value]] of Object.entries(headers)) {
    const key = name.toLowerCase()
    if (value !== undefined && !first.has(key)) first.set(key, value)
  }
  return first
}

const capitalized = (name: string): string =>
  name
    .split('-')
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1).toLowerCase())
    .join('-')
