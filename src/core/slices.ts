/** Runs long work in slices, so that it does not block the event loop. */
import { monotonicMs, yieldTurn } from './clock.js'
import { buildSliceMs } from './limits.js'

/** Runs a generator to its end without pauses. */
export function withoutPauses<T>(work: Generator<void, T>): T {
  for (;;) {
    const { done, value } = work.next()
    if (done) return value
  }
}

/** Usage: `if (slices.isDue()) await slices.pause()`. */
export class Slices {
  readonly #yield: () => Promise<void>
  #end = monotonicMs() + buildSliceMs

  /** `letOthers` resolves after all waiting work had its turn. */
  constructor(letOthers: () => Promise<void> = yieldTurn) {
    this.#yield = letOthers
  }

  isDue(): boolean {
    return monotonicMs() >= this.#end
  }

  async pause(): Promise<void> {
    await this.#yield()
    this.#end = monotonicMs() + buildSliceMs
  }

  /** Runs a generator to its end; it may pause at each `yield`. */
  async run<T>(work: Generator<void, T>): Promise<T> {
    for (;;) {
      const { done, value } = work.next()
      if (done) return value
      if (this.isDue()) await this.pause()
    }
  }
}
