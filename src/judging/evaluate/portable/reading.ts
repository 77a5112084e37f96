/**
 * Reads values of unknown shape. Checked by hand, like records: a page and a worker should not load a compiler of schemas,
 * which is as large as the evaluator, and may not make code from text.
 */
import type { EntryFaults } from '../../../ground/core/entry-faults.js'
import { badRequest, memberName, shown, valueAt, wrong } from '../../../ground/core/errors.js'
import { insteadOf } from '../../../ground/core/nearest.js'

/** Reads a value at a place such as `tcp_edges[0].hostports`; adds what is wrong to `faults`, and returns undefined then. */
export type Read<T> = (value: unknown, place: string, faults: EntryFaults) => T | undefined

const isAbsent = (value: unknown): boolean => value === undefined || value === null

/** Adds a sentence that begins with the place. */
export const addFault = (faults: EntryFaults, place: string, sentence: string): void =>
  faults.add(place, badRequest(sentence))

/** A value with this property, else a fault that says what is allowed. */
const when =
  <T>(is: (value: unknown) => value is T, allowed: string): Read<T> =>
  (value, place, faults) => {
    if (is(value)) return value
    addFault(faults, place, wrong(place, value, allowed))
    return undefined
  }

export const flag = when((value): value is boolean => typeof value === 'boolean', 'true or false')

/** Text of at most `charsMax` characters; `broken` says what is wrong with it, without its place. */
export const text =
  (charsMax: number, broken: (text: string) => string | undefined = () => undefined): Read<string> =>
  (value, place, faults) => {
    const allowed = `a text of at most ${charsMax} characters`
    if (typeof value !== 'string' || value.length > charsMax) {
      addFault(faults, place, wrong(place, value, allowed))
      return undefined
    }
    const complaint = broken(value)?.replace(/\.$/, '')
    if (complaint === undefined) return value
    addFault(faults, place, `${valueAt(place, value)}: ${complaint}.`)
    return undefined
  }

export const oneOf = <const T extends string>(...words: readonly T[]): Read<T> =>
  when(
    (value): value is T => words.includes(value as T),
    `one of ${words.map((word) => `"${word}"`).join(', ')}`,
  )

/** Null and what is left out count as `fallback`. */
export const optional =
  <T, F>(read: Read<T>, fallback: F): Read<T | F> =>
  (value, place, faults) =>
    isAbsent(value) ? fallback : read(value, place, faults)

/** Reading or checking so many entries takes less than a slice of 5 ms. */
export const entriesBetweenPauses = 200

/** Entries that are wrong are left out of the result, and named by `faults`. */
export const listOf =
  <T>(read: Read<T>, entriesMax: number, entriesMin = 0): Read<T[]> =>
  (value, place, faults) => {
    if (!Array.isArray(value)) {
      addFault(faults, place, wrong(place, value, 'a list'))
      return undefined
    }
    if (value.length > entriesMax || value.length < entriesMin) {
      const bound =
        value.length < entriesMin ? `at least ${entriesMin} needed` : `at most ${entriesMax} allowed`
      addFault(faults, place, `"${place}" has ${value.length} entries: ${bound}.`)
      return undefined
    }
    return value.flatMap((entry, index) => {
      if (faults.isFull) return []
      const found = read(entry, `${place}[${index}]`, faults)
      return found === undefined ? [] : [found]
    })
  }

export const isMap = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const anyMap = when(isMap, 'an object')

/** A member that the API shows and no decision depends on: any value. */
export const ignored: Read<null> = () => null

/** A count, or another value. */
export const numberOr =
  <T>(read: Read<T>): Read<number | T> =>
  (value, place, faults) =>
    typeof value === 'number' && Number.isInteger(value) && value >= 0 ? value : read(value, place, faults)

type Members = Readonly<Record<string, Read<unknown>>>
type ReadOf<M extends Members> = {
  readonly [Name in keyof M]: NonNullable<M[Name]> extends Read<infer T> ? T : never
}

/** An object with these members and no others; undefined if one of them is wrong. */
export const objectOf =
  <M extends Members>(members: M): Read<ReadOf<M>> =>
  (value, place, faults) => {
    if (!isMap(value)) {
      addFault(faults, place, wrong(place, value, 'an object'))
      return undefined
    }
    const at = (name: string): string => (place === '' ? name : `${place}.${name}`)
    const unknown = Object.keys(value).find((name) => !Object.hasOwn(members, name))
    if (unknown !== undefined) {
      const known = Object.keys(members).filter((name) => members[name] !== ignored)
      const has = place === '' ? 'The configuration' : `"${place}"`
      faults.add(
        at(memberName(unknown)),
        badRequest(`${has} has no member ${shown(unknown)}: ${insteadOf(unknown, known)}.`),
      )
    }
    const found: Record<string, unknown> = {}
    let isWhole = unknown === undefined
    for (const [name, read] of Object.entries(members)) {
      found[name] = read(Object.hasOwn(value, name) ? value[name] : undefined, at(name), faults)
      isWhole &&= found[name] !== undefined
    }
    return isWhole ? (found as ReadOf<M>) : undefined
  }

/** The entries of a long list, which was taken out of what was read before: may pause at each `yield`. */
export function* readLong<T>(
  read: Read<T>,
  entries: readonly unknown[],
  place: string,
  faults: EntryFaults,
): Generator<void, T[]> {
  const found: T[] = []
  for (const [index, entry] of entries.entries()) {
    if (index % entriesBetweenPauses === 0) yield
    if (faults.isFull) break
    const one = read(entry, `${place}[${index}]`, faults)
    if (one !== undefined) found.push(one)
  }
  return found
}
