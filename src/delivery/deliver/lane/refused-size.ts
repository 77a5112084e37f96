/**
 * How many events a request may hold for a service that refuses whole requests for a time, such as a limiter. If the service
 * counts requests, they are as large as they can be: a smaller one costs as much. If it counts events, a request with more
 * than it ever allows at once would be refused for ever. So a request that is larger than all that were accepted, and is
 * refused although it was sent alone and after a wait, is followed by a smaller one. Accepted ones are followed by larger
 * ones; a larger size that failed is tried less and less often.
 */

/** The most accepted requests before a larger size is tried again. */
const patienceMax = 128
/** No kind has requests of so many events: this size limits nothing. */
const unlimitedFrom = 100_000

export class RefusedSize {
  #eventsMax = Number.POSITIVE_INFINITY
  /** The largest size that was accepted. */
  #proven = 0
  #accepted = 0
  /** Accepted requests before a larger size is tried again. */
  #patience = 1
  /** A size that was refused; the next request, of a proven size, shows whether it was for its size. */
  #doubted: number | undefined

  get eventsMax(): number {
    return this.#eventsMax
  }

  accepted(events: number): void {
    if (this.#doubted !== undefined) this.#patience = Math.min(patienceMax, this.#patience * 2)
    this.#doubted = undefined
    if (events > this.#proven) {
      this.#proven = events
      this.#patience = 1
    }
    if (this.#eventsMax === Number.POSITIVE_INFINITY) return
    this.#accepted += 1
    if (this.#accepted < this.#patience) return
    this.#accepted = 0
    this.#eventsMax = Math.max(this.#eventsMax, this.#proven * 2)
    if (this.#eventsMax >= unlimitedFrom) this.#eventsMax = Number.POSITIVE_INFINITY
  }

  /** A request that was sent alone, after a wait, was refused as a whole. Are the next ones smaller? */
  refused(events: number): boolean {
    if (this.#doubted !== undefined) {
      this.#eventsMax = this.#doubted
      this.#doubted = undefined
      return false
    }
    if (events <= Math.max(1, this.#proven)) return false
    this.#accepted = 0
    if (this.#proven === 0) {
      this.#eventsMax = Math.floor(events / 2)
    } else {
      this.#eventsMax = this.#proven
      this.#doubted = events
    }
    return true
  }

  /** Begins with one event, and twice as many with each accepted request: nothing larger was accepted for long. */
  startSmall(): void {
    this.reset()
    this.#proven = 1
    this.#eventsMax = 2
  }

  reset(): void {
    this.#eventsMax = Number.POSITIVE_INFINITY
    this.#proven = 0
    this.#accepted = 0
    this.#patience = 1
    this.#doubted = undefined
  }
}
