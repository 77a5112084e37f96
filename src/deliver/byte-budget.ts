/** Bytes that all lanes together may hold: what they have, and what they asked for. */
export class ByteBudget {
  readonly #max: number
  #taken = 0

  constructor(max: number) {
    this.#max = max
  }

  /** Sets bytes apart; false where there is no room for them. */
  reserve(bytes: number): boolean {
    if (this.#taken > 0 && this.#taken + bytes > this.#max) return false
    this.#taken += bytes
    return true
  }

  /** Takes bytes that came unasked: there is no way to refuse them. */
  take(bytes: number): void {
    this.#taken += bytes
  }

  give(bytes: number): void {
    this.#taken -= bytes
  }
}
