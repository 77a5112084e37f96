/** Long work without holding up what else waits for the event loop. */
import { monotonicMs, yieldTurn } from './clock.js'
import { buildSliceMs } from './limits.js'

/** Work in slices: `if (slices.isDue()) await slices.pause()`. */
export class Slices {
  readonly #yield: () => Promise<void>
  #end = monotonicMs() + buildSliceMs

  /** `letOthers`: resolves when everything that waits had its turn. */
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

  /** Runs a generator to its end, pausing where it offers to. */
  async run<T>(work: Generator<void, T>): Promise<T> {
    for (;;) {
      const { done, value } = work.next()
      if (done) return value
      if (this.isDue()) await this.pause()
    }
  }
}
