/** Work in turn: what has the same name is done one after the other. */
export class Queues {
  readonly #last = new Map<string, Promise<unknown>>()

  /** Begins when all that was asked for before is over, however it ended. */
  inTurn<T>(name: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(name) ?? Promise.resolve()
    const turn = before.then(work, work)
    const settled = turn.then(
      () => {},
      () => {},
    )
    this.#last.set(name, settled)
    void settled.then(() => {
      if (this.#last.get(name) === settled) this.#last.delete(name)
    })
    return turn
  }

  /** Resolves when all that was asked for so far is over. */
  async idle(): Promise<void> {
    await Promise.all(this.#last.values())
  }
}
