/** Runs long work in slices, so that it does not block the event loop. */
import { monotonicMs, yieldInTurn } from './clock.js'
import type { Soon } from './concurrency.js'

/** A view of the configuration is built in slices of this length, so that records wait no longer. */
const buildSliceMs = 5

/** Runs a generator to its end without pauses. */
export function withoutPauses<T>(work: Generator<unknown, T>): T {
  for (;;) {
    const step = work.next()
    if (step.done) return step.value
  }
}

interface SlicesOptions {
  /** Resolves after other waiting work had its turn. */
  readonly letOthers?: () => Promise<void>
  /** Ends the work at its next pause, which rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

/** Usage: `if (slices.isDue()) await slices.pause()`. */
export class Slices {
  readonly #yield: () => Promise<void>
  readonly #signal: AbortSignal | undefined
  #end = monotonicMs() + buildSliceMs

  constructor({ letOthers = yieldInTurn, signal }: SlicesOptions = {}) {
    this.#yield = letOthers
    this.#signal = signal
  }

  isDue(): boolean {
    return monotonicMs() >= this.#end
  }

  async pause(): Promise<void> {
    await this.#yield()
    this.#signal?.throwIfAborted()
    this.#end = monotonicMs() + buildSliceMs
  }

  /** The same as `run`; the result is a promise only if it takes longer than a slice. */
  soon<T>(work: Generator<void, T>): Soon<T> {
    while (!this.isDue()) {
      const { done, value } = work.next()
      if (done) return value
    }
    return this.run(work)
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
