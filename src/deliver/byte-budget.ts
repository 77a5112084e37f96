/**
 * Bytes that all lanes together may hold: what they have, and what they asked for. Those that can't deliver may hold
 * at most half of it, so that the others always have room.
 */
export class ByteBudget {
  readonly #max: number
  #taken = 0
  /** Of those taken. */
  #held = 0

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

  /** Of bytes that were taken, these stay until a destination works again; false if there is no room for that. */
  hold(bytes: number): boolean {
    if (this.#held + bytes > this.#max / 2) return false
    this.#held += bytes
    return true
  }

  release(bytes: number): void {
    this.#held -= bytes
  }
}
