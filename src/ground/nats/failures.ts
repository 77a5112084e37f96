/** Calls of NATS that fail again and again, by what they are for. */
import { monotonicMs } from '../core/clock.js'
import { messageOf } from '../core/errors.js'
import { remedyFor } from './remedies.js'

interface Failures {
  readonly sinceMs: number
  readonly lastMs: number
  readonly count: number
  readonly text: string
}

/** Failures that no one repeated for so long say nothing of now. */
const forgottenMs = 30_000
/** A single late answer is no fault. */
const lateMs = 3_000

export class RepeatedFailures {
  readonly #failures = new Map<string, Failures>()

  failed(what: string, error: unknown): void {
    const lastMs = monotonicMs()
    const { sinceMs = lastMs, count = 0 } = this.#failures.get(what) ?? {}
    this.#failures.set(what, { sinceMs, lastMs, count: count + 1, text: failureText(error) })
  }

  succeeded(what: string): void {
    if (this.#failures.size > 0) this.#failures.delete(what)
  }

  /** The result of a call. It also gets a function for the failures of attempts that it repeats itself. */
  async noted<T>(what: string, call: (failed: (error: unknown) => void) => Promise<T>): Promise<T> {
    try {
      const result = await call((error) => this.failed(what, error))
      this.succeeded(what)
      return result
    } catch (error) {
      this.failed(what, error)
      throw error
    }
  }

  /** Present failures, each with the last error and what to do. */
  get current(): ReadonlyMap<string, string> {
    const nowMs = monotonicMs()
    const found = [...this.#failures].filter(
      ([, { sinceMs, lastMs, count }]) =>
        nowMs - lastMs < forgottenMs && (count > 1 || nowMs - sinceMs >= lateMs),
    )
    return new Map(found.map(([what, { text }]) => [what, text]))
  }
}

interface FailingConsumer {
  readonly stream: string
  readonly name: string
  /** The last error and what to do. */
  readonly reason: string
}

/** Consumers of streams and of buckets that can't be opened. */
export class UnopenedConsumers {
  readonly #failures = new RepeatedFailures()

  /** The result of opening a consumer. `name` may be that of a kind of consumers which have no names. */
  noted<T>(stream: string, name: string, open: (failed: (error: unknown) => void) => Promise<T>): Promise<T> {
    return this.#failures.noted(`${stream} ${name}`, open)
  }

  get current(): readonly FailingConsumer[] {
    return [...this.#failures.current].map(([what, reason]) => {
      const [, stream = '', name = ''] = /^(\S+) (.*)$/.exec(what) ?? []
      return { stream, name, reason }
    })
  }
}

/** An error as the end of a sentence, and the next one: what to do about it. */
export function failureText(error: unknown): string {
  const remedy = remedyFor(error)
  return `${messageOf(error).replace(/\.$/, '')}.${remedy === undefined ? '' : ` ${remedy}`}`
}
