/** Closes resources in reverse order of opening, and continues if one of them fails. */
export class ReleaseStack implements AsyncDisposable {
  #closers: (() => unknown)[] = []

  add(close: () => unknown): void {
    this.#closers.push(close)
  }

  /** Registers the value's `close` and returns the value. */
  own<T extends { close(): unknown }>(value: T): T {
    this.add(() => value.close())
    return value
  }

  async release(): Promise<void> {
    const errors: unknown[] = []
    for (let close = this.#closers.pop(); close !== undefined; close = this.#closers.pop()) {
      try {
        await close()
      } catch (error) {
        errors.push(error)
      }
    }
    if (errors.length === 1) throw errors[0]
    if (errors.length > 1) throw new AggregateError(errors, 'Several parts failed to close.')
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release()
  }
}
