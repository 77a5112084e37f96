/** The work of a lane that is under way: requests, and what their answers lead to. */
import { sleep } from '../core/clock.js'

export interface EndSettings {
  /** How long the end waits for work under way, and then for its being given up. */
  readonly closeTimeoutMs: number
  readonly abortTimeoutMs: number
}

export class UnderWay {
  readonly #work = new Set<Promise<void>>()
  readonly #abort = new AbortController()

  get size(): number {
    return this.#work.size
  }

  /** Requests are given up when it aborts. */
  get signal(): AbortSignal {
    return this.#abort.signal
  }

  add(work: Promise<void>, ended: () => void): void {
    const tracked = work.finally(() => {
      this.#work.delete(tracked)
      ended()
    })
    this.#work.add(tracked)
  }

  /** Resolves when what is under way now has ended. */
  async settled(): Promise<void> {
    await Promise.allSettled([...this.#work])
  }

  /** Waits within bounds, for the end of the work and then for its being given up. */
  async end({ closeTimeoutMs, abortTimeoutMs }: EndSettings): Promise<void> {
    const ended = new AbortController()
    const settled = this.settled()
    await Promise.race([settled, sleep(closeTimeoutMs, ended.signal)])
    this.#abort.abort()
    await Promise.race([settled, sleep(abortTimeoutMs, ended.signal)])
    ended.abort()
  }
}
