/** A failure that is repeated and may pass by itself: it is reported only if it lasts. */
import { monotonicMs } from './clock.js'
import { lastingAfterMs } from './lasting.js'

export class LastingFailure {
  readonly #report: (error: unknown) => void
  readonly #clock: () => number
  #sinceMs: number | undefined

  /** `report` is called for each failure that comes 10 s or more after the first one, with no success between them. */
  constructor(report: (error: unknown) => void, clock: () => number = monotonicMs) {
    this.#report = report
    this.#clock = clock
  }

  /** Runs `work`. Never rejects; resolves with undefined if it failed. */
  async watch<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      const result = await work()
      this.#sinceMs = undefined
      return result
    } catch (error) {
      this.#failed(error)
      return undefined
    }
  }

  #failed(error: unknown): void {
    const nowMs = this.#clock()
    this.#sinceMs ??= nowMs
    if (nowMs - this.#sinceMs >= lastingAfterMs) this.#report(error)
  }
}
