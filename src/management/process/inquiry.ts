/**
 * Asks another process about its state only on demand: regular questions were most of the work of an idle deployment.
 * On a busy machine one answer may be late, also because this process was delayed, so only several missed answers in a
 * row count.
 */
import { monotonicMs, sleep, within } from '../../ground/core/clock.js'
import { messageOf } from '../../ground/core/errors.js'

export const inquiryLimits = {
  /** An answer is used again for so long. */
  freshMs: 250,
  /** From one try to the next. */
  everyMs: 750,
  /** How long an answer may take; the same as for every call to JetStream. */
  answerMs: 1_000,
  /** After this many missed answers in a row, the other side counts as lost. */
  triesMax: 3,
} as const

/** The longest time until an inquiry has a result. */
export const inquiryMaxMs = inquiryLimits.triesMax * inquiryLimits.answerMs

/** An answer, or why there is none. */
type Outcome<T> =
  | { readonly answer: T; readonly lost?: undefined }
  | { readonly answer?: undefined; readonly lost: string }

export class Inquiry<T> {
  readonly #ask: () => Promise<T>
  readonly #closing = new AbortController()
  #running: Promise<Outcome<T>> | undefined
  #last: { readonly outcome: Outcome<T>; readonly atMs: number } | undefined

  constructor(ask: () => Promise<T>) {
    this.#ask = ask
  }

  /** The state of the other side now, or at most `freshMs` ago; takes at most `inquiryMaxMs`. */
  now(): Promise<Outcome<T>> {
    const last = this.#last
    if (last !== undefined && monotonicMs() - last.atMs < inquiryLimits.freshMs)
      return Promise.resolve(last.outcome)
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  /** Resolves with the first answer, however long that takes, or when it is closed. */
  async first(): Promise<void> {
    while ((await this.now()).lost !== undefined) {
      if (this.#closing.signal.aborted) return
      await sleep(inquiryLimits.everyMs, this.#closing.signal)
    }
  }

  async #run(): Promise<Outcome<T>> {
    const { answerMs, everyMs, triesMax } = inquiryLimits
    for (let tries = 1; ; tries += 1) {
      const askedMs = monotonicMs()
      try {
        const answer = await within(answerMs, this.#ask(), `no answer within ${answerMs / 1000} s`)
        return this.#keep({ answer })
      } catch (error) {
        if (tries === triesMax || this.#closing.signal.aborted) return this.#keep({ lost: messageOf(error) })
      }
      // After a slow answer the next try follows at once.
      await sleep(Math.max(0, everyMs - (monotonicMs() - askedMs)), this.#closing.signal)
    }
  }

  #keep(outcome: Outcome<T>): Outcome<T> {
    this.#last = { outcome, atMs: monotonicMs() }
    return outcome
  }

  close(): void {
    this.#closing.abort()
  }
}
