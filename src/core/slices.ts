/** Long work without holding up what else waits for the event loop. */
import { monotonicMs } from './clock.js'
import { buildSliceMs } from './limits.js'

/** Work in slices: `if (slices.isDue()) await slices.pause()`. */
export class Slices {
  readonly #yieldTurn: () => Promise<void>
  #end = monotonicMs() + buildSliceMs

  constructor(yieldTurn: () => Promise<void>) {
    this.#yieldTurn = yieldTurn
  }

  isDue(): boolean {
    return monotonicMs() >= this.#end
  }

  async pause(): Promise<void> {
    await this.#yieldTurn()
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
