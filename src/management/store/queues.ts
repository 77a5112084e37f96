/** Work that runs one after the other. */
export class Queue {
  #last: Promise<unknown> = Promise.resolve()

  /** Begins when all earlier work has ended, successfully or not. */
  inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work)
    this.#last = turn.catch(() => {})
    return turn
  }
}

/** Queues by name: work of one name runs one after the other. */
export class Queues {
  readonly #last = new Map<string, Promise<unknown>>()

  /** Begins when all earlier work of this name has ended, successfully or not. */
  inTurn<T>(name: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(name) ?? Promise.resolve()
    const turn = before.then(work)
    const settled = turn.catch(() => {})
    this.#last.set(name, settled)
    void settled.then(() => {
      if (this.#last.get(name) === settled) this.#last.delete(name)
    })
    return turn
  }

  /** Resolves when all work has ended, also work that other work requested. */
  async idle(): Promise<void> {
    while (this.#last.size > 0) await Promise.all(this.#last.values())
  }
}
