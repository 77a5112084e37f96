/**
 * Repeats a request at intervals and knows whether it is answered. On a busy machine one answer may be late, also because
 * this process was delayed, so only several missed answers in a row count.
 */
import { monotonicMs, sleep, within } from '../core/clock.js'
import { messageOf } from '../core/errors.js'

export const pulseLimits = {
  /** From one question to the next. */
  everyMs: 750,
  /** How long an answer may take; the same as for every call to JetStream. */
  answerMs: 1_000,
  /** After this many missed answers in a row, the other side counts as lost. */
  missesMax: 3,
} as const

export class Pulse<T> {
  readonly #ask: () => Promise<T>
  readonly #closing = new AbortController()
  #answer: T | undefined
  #misses = 0
  #reason = ''
  #answered = (): void => {}
  /** Resolves with the first answer. */
  readonly first = new Promise<void>((resolve) => {
    this.#answered = resolve
  })

  /** Asks until it is closed. */
  constructor(ask: () => Promise<T>) {
    this.#ask = ask
    void this.#run()
  }

  /** The last answer. */
  get answer(): T | undefined {
    return this.#answer
  }

  /** Why there is no answer; undefined as long as there is one. */
  get lost(): string | undefined {
    return this.#misses >= pulseLimits.missesMax ? this.#reason : undefined
  }

  async #run(): Promise<void> {
    while (!this.#closing.signal.aborted) {
      const askedMs = monotonicMs()
      await this.#askOnce()
      // After a slow request the next one follows at once.
      await sleep(Math.max(0, pulseLimits.everyMs - (monotonicMs() - askedMs)), this.#closing.signal)
    }
  }

  async #askOnce(): Promise<void> {
    try {
      const seconds = pulseLimits.answerMs / 1000
      this.#answer = await within(pulseLimits.answerMs, this.#ask(), `no answer within ${seconds} s`)
      this.#misses = 0
      this.#answered()
    } catch (error) {
      this.#misses += 1
      this.#reason = messageOf(error)
    }
  }

  close(): void {
    this.#closing.abort()
  }
}
