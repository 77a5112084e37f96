/** Comparisons by the thousand, as one assertion. */
import { isDeepStrictEqual } from 'node:util'
import type { Test } from 'tap'

const shownMax = 10

/**
 * Compares like a test, and reports all of it as one assertion: an assertion of its own costs a third of a millisecond, in
 * the test and in the two processes that read its output.
 */
export class Checks {
  #count = 0
  readonly #wrong: unknown[] = []

  /** `found` and `wanted` are the same, however deep. */
  equal(found: unknown, wanted: unknown, what = ''): void {
    this.#count += 1
    if (!isDeepStrictEqual(found, wanted)) this.#wrong.push({ what, found, wanted })
  }

  ok(isSo: boolean, what = ''): void {
    this.equal(isSo, true, what)
  }

  match(text: string | undefined, pattern: RegExp, what = ''): void {
    this.#count += 1
    if (text === undefined || !pattern.test(text)) this.#wrong.push({ what, found: text, wanted: pattern })
  }

  /** Fails with the first ones that were wrong, and if nothing was compared. */
  report(t: Test): void {
    t.ok(this.#count > 0, 'something was compared')
    t.strictSame(this.#wrong.slice(0, shownMax), [], `${this.#count} comparisons`)
  }
}
