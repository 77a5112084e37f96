/**
 * Takes the place of `re2js` for the evaluator. The engine is larger than all else of the page and few policies need it, so
 * it is loaded when a pattern was asked for: what was worked out without it is worked out again.
 */
import type { RE2JS as Engine } from 're2js'

let engine: typeof Engine | undefined
let isMissing = false

export const RE2JS = {
  compile(pattern: string): Engine {
    if (engine !== undefined) return engine.compile(pattern)
    isMissing = true
    throw new Error('the engine for patterns is not loaded')
  },
}

/** Policies that are compiled before this is true lack their patterns. */
export const hasPatterns = (): boolean => engine !== undefined

/** The result of `work`, with the engine if it needs it. */
export async function withPatterns<Result>(work: () => Promise<Result>): Promise<Result> {
  const found = await work()
  if (engine !== undefined || !isMissing) return found
  engine = (await import('re2js')).RE2JS
  return work()
}
