import { sleep } from './clock.js'
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

/**
 * Bounds concurrent work; further callers wait in a queue, and are refused with 503 if the queue is full. Callers that name
 * an owner wait in a queue of that owner. Owners take turns, so one that asks a lot makes no other one wait longer than for
 * its work under way.
 */
export class Turns {
  readonly #atOnceMax: number
  readonly #waitingMax: number
  /** By owner; the one that waits longest since its last turn is first. */
  readonly #waiting = new Map<string, (() => void)[]>()
  #working = 0

  /** `waitingMax`: of one owner. */
  constructor(atOnceMax: number, waitingMax: number) {
    this.#atOnceMax = atOnceMax
    this.#waitingMax = waitingMax
  }

  async take<T>(work: () => Promise<T>, owner = ''): Promise<T> {
    if (this.#working < this.#atOnceMax) this.#working += 1
    else await this.#turn(owner)
    try {
      return await work()
    } finally {
      const next = this.#next()
      if (next === undefined) this.#working -= 1
      else next()
    }
  }

  /** The caller that finishes passes its slot to the next one. */
  #turn(owner: string): Promise<void> {
    const waiting = this.#waiting.get(owner) ?? []
    if (waiting.length >= this.#waitingMax) {
      throw unavailable('Too many requests wait for work of this kind.')
    }
    this.#waiting.set(owner, waiting)
    return new Promise((resolve) => waiting.push(resolve))
  }

  #next(): (() => void) | undefined {
    for (const [owner, waiting] of this.#waiting) {
      const next = waiting.shift()
      this.#waiting.delete(owner)
      if (waiting.length > 0) this.#waiting.set(owner, waiting)
      return next
    }
    return undefined
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

/** A promise that is resolved from outside. */
export function deferred(): {
  readonly promise: Promise<void>
  readonly resolve: () => void
  readonly reject: (error: Error) => void
} {
  let resolve = (): void => {}
  let reject = (_: Error): void => {}
  const promise = new Promise<void>((done, failed) => {
    resolve = done
    reject = failed
  })
  return { promise, resolve, reject }
}

/** Calls again after a failure, with growing pauses. */
export async function insistently<T>(call: () => Promise<T>, triesMax: number, pauseMs: number): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await call()
    } catch (error) {
      if (tries === triesMax) throw error
      await sleep(pauseMs * tries)
    }
  }
}
