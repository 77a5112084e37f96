import { unavailable } from './errors.js'

/** Works on many things at once, but not on all of them. */
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

/** Makes the next item while the one before is used. */
export async function* ahead<T>(items: AsyncIterable<T>): AsyncGenerator<T> {
  const source = items[Symbol.asyncIterator]()
  const ask = (): Promise<IteratorResult<T>> => {
    const next = source.next()
    // A failure is thrown when its turn comes, if it does.
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

/** Lets few work at once; the others wait for their turn, and are told to come again where too many wait. */
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

  /** Whoever ends hands his place on. */
  #turn(): Promise<void> {
    if (this.#waiting.length >= this.#waitingMax) {
      throw unavailable('Too many wait for work of this kind.')
    }
    return new Promise((resolve) => this.#waiting.push(resolve))
  }
}
