/** The work of a lane that is under way: requests, and the handling of their answers. */
import { sleep } from '../../../ground/core/clock.js'

export interface EndSettings {
  /** How long `end` waits for the work, and then for the aborted work. */
  readonly closeTimeoutMs: number
  readonly abortTimeoutMs: number
}

export class UnderWay {
  readonly #work = new Set<Promise<void>>()
  readonly #abort = new AbortController()

  get size(): number {
    return this.#work.size
  }

  /** Aborts requests. */
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

  /** Resolves when the work that is under way now has ended. */
  async settled(): Promise<void> {
    await Promise.allSettled([...this.#work])
  }

  /** Waits for the work, then aborts the rest and waits for that; both within bounds. */
  async end({ closeTimeoutMs, abortTimeoutMs }: EndSettings): Promise<void> {
    const ended = new AbortController()
    const settled = this.settled()
    await Promise.race([settled, sleep(closeTimeoutMs, ended.signal)])
    this.#abort.abort()
    await Promise.race([settled, sleep(abortTimeoutMs, ended.signal)])
    ended.abort()
  }
}
