import { unavailable } from './errors.js'

/** Runs `work` for each item, at most `atOnceMax` at a time. */
export async function eachOf<T>(
  items: Iterable<T>,
  atOnceMax: number,
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  const waiting = items[Symbol.iterator]()
  const worker = async (): Promise<void> => {
    for (let next = waiting.next(); !next.done; next = waiting.next()) await work(next.value)
  }
  await Promise.all(Array.from({ length: atOnceMax }, worker))
}

/** Produces the next item while the previous one is in use. */
export async function* ahead<T>(items: AsyncIterable<T>): AsyncGenerator<T> {
  const source = items[Symbol.asyncIterator]()
  const ask = (): Promise<IteratorResult<T>> => {
    const next = source.next()
    // A failure is thrown when its item is awaited, if ever.
    next.catch(() => {})
    return next
  }
  try {
    for (let next = ask(); ; ) {
      const { done, value } = await next
      if (done) return
      next = ask()
      yield value
    }
  } finally {
    await source.return?.()
  }
}

/** Bounds concurrent work; further callers wait in a queue, and are refused with 503 if the queue is full. */
export class Turns {
  readonly #atOnceMax: number
  readonly #waitingMax: number
  readonly #waiting: (() => void)[] = []
  #working = 0

  constructor(atOnceMax: number, waitingMax: number) {
    this.#atOnceMax = atOnceMax
    this.#waitingMax = waitingMax
  }

  async take<T>(work: () => Promise<T>): Promise<T> {
    if (this.#working < this.#atOnceMax) this.#working += 1
    else await this.#turn()
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#working -= 1
      else next()
    }
  }

  /** The caller that finishes passes its slot to the next one. */
  #turn(): Promise<void> {
    if (this.#waiting.length >= this.#waitingMax) {
      throw unavailable('Too many requests wait for work of this kind.')
    }
    return new Promise((resolve) => this.#waiting.push(resolve))
  }
}

/**
 * A value that is mostly there at once, and has to be waited for now and then. For each of tens of thousands of messages, a
 * promise would cost as much as the rest of the work.
 */
export type Soon<T> = T | Promise<T>

/** Goes on with the value: at once if it is there. */
export const onceReady = <T, U>(value: Soon<T>, next: (value: T) => Soon<U>): Soon<U> =>
  value instanceof Promise ? value.then(next) : next(value)

/** The value of `work`, or that of `failed` if it throws or rejects. */
export function soonOr<T>(work: () => Soon<T>, failed: (error: unknown) => T): Soon<T> {
  try {
    const value = work()
    return value instanceof Promise ? value.catch(failed) : value
  } catch (error) {
    return failed(error)
  }
}
