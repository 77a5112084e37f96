/**
 * Answers about accounts that are kept for a while, so that many who ask cost no more than one. Callers that come while
 * one is made share it, also after they have stopped waiting: a slow source is never asked twice at the same time.
 */
import { monotonicMs, within } from '../../ground/core/clock.js'
import { unavailable } from '../../ground/core/errors.js'

interface KeptAnswersOptions {
  readonly keepMs: number
  /** A caller waits so long. */
  readonly waitMs: number
}

/** Accounts whose answers are kept; the one that was asked for longest ago makes room for another. */
const accountsMax = 1_000

interface Kept<T> {
  readonly answer: Promise<T>
  /** Undefined until it is there, or has failed. */
  doneMs: number | undefined
}

export class KeptAnswers<T> {
  readonly #options: KeptAnswersOptions
  readonly #ask: (accountId: string) => Promise<T>
  readonly #kept = new Map<string, Kept<T>>()

  constructor(options: KeptAnswersOptions, ask: (accountId: string) => Promise<T>) {
    this.#options = options
    this.#ask = ask
  }

  /** Rejects as the question did, or if it takes too long. */
  async of(accountId: string): Promise<T> {
    const { waitMs } = this.#options
    const late = `There was no answer within ${waitMs / 1000} s.`
    const answer = this.#current(accountId).answer.then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    )
    const outcome = await within(waitMs, answer, late).catch((error: unknown) => ({
      error: unavailable(late, error),
    }))
    if ('error' in outcome) throw outcome.error
    return outcome.value
  }

  #current(accountId: string): Kept<T> {
    const known = this.#kept.get(accountId)
    if (known !== undefined && !this.#isOld(known)) return known
    const made: Kept<T> = { answer: this.#ask(accountId), doneMs: undefined }
    const done = (): void => {
      made.doneMs = monotonicMs()
    }
    made.answer.then(done, done)
    this.#kept.delete(accountId)
    this.#kept.set(accountId, made)
    const [oldest] = this.#kept.keys()
    if (this.#kept.size > accountsMax && oldest !== undefined) this.#kept.delete(oldest)
    return made
  }

  #isOld({ doneMs }: Kept<T>): boolean {
    return doneMs !== undefined && monotonicMs() - doneMs > this.#options.keepMs
  }
}
