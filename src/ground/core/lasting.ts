/**
 * A sentence that alarms is about a condition that lasted. One look proves little: it may read two sources of which one
 * changed in between, or fall into the restart of a process.
 */
import { monotonicMs } from './clock.js'

/** A start of NATS or of another role on a busy machine takes less. */
export const lastingAfterMs = 10_000

interface Since {
  readonly value: string
  readonly sinceMs: number
}

/** Conditions that repeated looks find, and since when each look found the same. */
export class LastingConditions {
  readonly #clock: () => number
  #found: ReadonlyMap<string, Since> = new Map()

  constructor(clock: () => number = monotonicMs) {
    this.#clock = clock
  }

  /** `found`: everything that this look found, each with a value that must stay the same for the condition to last. */
  look(found: ReadonlyMap<string, string>): void {
    const before = this.#found
    const nowMs = this.#clock()
    this.#found = new Map(
      [...found].map(([key, value]) => {
        const known = before.get(key)
        return [key, { value, sinceMs: known?.value === value ? known.sinceMs : nowMs }]
      }),
    )
  }

  /** Did every look of the last 10 s and more find this? */
  hasLasted(key: string, value: string): boolean {
    const known = this.#found.get(key)
    return known?.value === value && this.#clock() - known.sinceMs >= lastingAfterMs
  }
}

/** A failure that is repeated and may pass by itself: it is reported only if it lasts. */
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
