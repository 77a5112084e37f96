/**
 * Start here: what is fuzzed. A **parser** of this room is a reader of bytes that came from outside, or from an older build,
 * with **seeds**, which are inputs that it reads, and the properties that hold of every other input. `seeds` are changed,
 * repeated and joined by `mutations.ts` and `pumped.ts`; `run.ts` looks whether the properties hold.
 */
import { isDeepStrictEqual } from 'node:util'
import { type Result, shown, WeirError } from '../../../src/ground/core/errors.js'

export interface FuzzedParser {
  readonly name: string
  /** The sources that it covers, from `src` on. */
  readonly sources: readonly string[]
  readonly seeds: () => readonly (string | Uint8Array)[]
  /** Words of its grammar, which mutations put in. */
  readonly words?: readonly string[]
  /** Another input by its grammar, for a number that chooses it. */
  readonly made?: (seed: number) => string | Uint8Array
  /** Longer inputs are not tried. A parser whose caller bounds its input has that bound, if it is smaller than the usual one. */
  readonly bytesMax?: number
  /** Milliseconds of CPU for a KiB, if it may take more than most. */
  readonly msPerKiB?: number
  /** Items and characters that one byte may become, if more than most. */
  readonly keptPerByte?: number
  /** Throws `Broken` if one of its own properties does not hold; any other error is a find, too. */
  readonly read: (bytes: Buffer) => Outcome | Promise<Outcome>
}

/** What became of an input. */
export type Outcome = { readonly value: unknown } | { readonly refused: string }

/** A property does not hold. */
export class Broken extends Error {}

export const read = (value: unknown): Outcome => ({ value })

/** A refusal is a sentence for a person. */
export function refused(sentence: string): Outcome {
  if (sentence.trim() === '') throw new Broken('a refusal says nothing')
  if (sentence.length > refusalCharsMax) throw new Broken(`a refusal has ${sentence.length} characters`)
  return { refused: sentence }
}

/** Repeats a part of what was sent, never all of it. */
const refusalCharsMax = 2_000

/** A refusal that must say where: a line, a column, an offset, a member or a path. */
export function refusedAt(sentence: string, place: unknown, bytes: Buffer): Outcome {
  const isPlace =
    (typeof place === 'number' && Number.isInteger(place) && place >= 0 && place <= bytes.length + 1) ||
    (typeof place === 'string' && place !== '')
  if (!isPlace) throw new Broken(`a refusal has no place but ${shown(place)}: ${shown(sentence)}`)
  return refused(sentence)
}

export const ofResult = (result: Result<unknown>): Outcome =>
  result.ok ? read(result.value) : refused(result.problem.msg)

type ErrorClass = abstract new (...args: never[]) => Error

/** The value that `work` returns, or the refusal that it throws as one of its own errors. */
export function tried(work: () => unknown, ...own: readonly ErrorClass[]): Outcome {
  try {
    return read(work())
  } catch (error) {
    return ofError(error, own)
  }
}

/** The same for a promise. */
export async function triedLater(
  work: () => Promise<unknown>,
  ...own: readonly ErrorClass[]
): Promise<Outcome> {
  try {
    return read(await work())
  } catch (error) {
    return ofError(error, own)
  }
}

function ofError(error: unknown, own: readonly ErrorClass[]): Outcome {
  if (error instanceof Broken || !(error instanceof Error)) throw error
  if (![WeirError, ...own].some((each) => error instanceof each)) throw error
  return refused(error.message)
}

/** What was read and written again is the same. */
export function expectSame(found: unknown, wanted: unknown, what: string): void {
  if (!isDeepStrictEqual(found, wanted))
    throw new Broken(`${what}: ${shown(found, 200)} instead of ${shown(wanted, 200)}`)
}

export function expectThat(isSo: boolean, what: string): void {
  if (!isSo) throw new Broken(what)
}
