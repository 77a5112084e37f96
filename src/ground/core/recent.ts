/** Answers that cost something to make and may be a little old. */
import { after, monotonicMs } from './clock.js'

/** One that is made again as soon as it may be takes this part of the time at most. */
const share = 1 / 20
const keptMsMax = 1_000

/**
 * The last result of `make`, if it is younger than 20 times as long as it took to make, and than a second; else it is made
 * again. Callers at the same time share one: however often it is asked for, making it takes a twentieth of the time.
 */
export function recent<T>(make: () => Promise<T>): () => Promise<T> {
  let kept: Promise<T> | undefined
  const makeOne = async (): Promise<T> => {
    const startMs = monotonicMs()
    try {
      const made = await make()
      const tookMs = monotonicMs() - startMs
      after(Math.min(keptMsMax, tookMs / share), () => {
        kept = undefined
      })
      return made
    } catch (error) {
      kept = undefined
      throw error
    }
  }
  return () => {
    kept ??= makeOne()
    return kept
  }
}
