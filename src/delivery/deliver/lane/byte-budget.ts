/**
 * Bound of the bytes that all lanes hold, of events as JSON, or have requested, of messages. Lanes that can't deliver may
 * hold at most half of it, so that the others always have room.
 */
export class ByteBudget {
  readonly #max: number
  #taken = 0
  /** The part of `#taken` that lanes hold while they can't deliver. */
  #held = 0

  constructor(max: number) {
    this.#max = max
  }

  /** Reserves bytes; false if there is no room for them. */
  reserve(bytes: number): boolean {
    if (this.#taken > 0 && this.#taken + bytes > this.#max) return false
    this.#taken += bytes
    return true
  }

  /** Takes bytes that were not reserved: it is too late to refuse them. */
  take(bytes: number): void {
    this.#taken += bytes
  }

  /** Is most of it taken? Then no lane should keep events only to wait for more. */
  get isTight(): boolean {
    return this.#taken > this.#max / 2
  }

  give(bytes: number): void {
    this.#taken -= bytes
  }

  /** These bytes of those taken stay until a destination works again; false if there is no room for that. */
  hold(bytes: number): boolean {
    if (this.#held + bytes > this.#max / 2) return false
    this.#held += bytes
    return true
  }

  release(bytes: number): void {
    this.#held -= bytes
  }
}
