/** The most recently added values, up to a maximum. */
export class Recent<T> {
  readonly #max: number
  readonly #values = new Set<T>()

  constructor(max: number) {
    this.#max = max
  }

  has(value: T): boolean {
    return this.#values.has(value)
  }

  add(value: T): void {
    this.#values.add(value)
    if (this.#values.size <= this.#max) return
    for (const oldest of this.#values) {
      this.#values.delete(oldest)
      break
    }
  }
}
