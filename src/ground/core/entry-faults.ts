/**
 * Reports the faults of all entries of a list at once: someone who imports a thousand lines could otherwise correct only one
 * per attempt. The message has the first fault and the number of others; `details` has all of them by their place.
 */
import { type FaultPlace, WeirError } from './errors.js'

/** Faults of a list's entries that an error names, a sentence each. */
const entryFaultsMax = 100

export class EntryFaults {
  /** Sentences by place: `rules[17].cidr`. */
  readonly #sentences = new Map<string, string>()
  readonly #places: FaultPlace[] = []
  #first: WeirError | undefined

  /** More are not named. */
  get isFull(): boolean {
    return this.#sentences.size >= entryFaultsMax
  }

  /** Adds what is wrong with an entry, under the member that the sentence begins with. */
  add(entry: string, error: WeirError): void {
    if (this.isFull) return
    this.#first ??= error
    this.#places.push(...error.places)
    const [, place = entry] = /^"([^"]+)"/.exec(error.message) ?? []
    this.#sentences.set(place.startsWith(entry) ? place : entry, error.message)
  }

  /** Runs a check of an entry; a `WeirError` that it throws is added. */
  check(entry: string, run: () => void): void {
    if (this.isFull) return
    try {
      run()
    } catch (error) {
      if (!(error instanceof WeirError)) throw error
      this.add(entry, error)
    }
  }

  /** All of them as one error; undefined if there are none. */
  get error(): WeirError | undefined {
    const more = this.#sentences.size - 1
    if (this.#first === undefined || more === 0) return this.#first
    const count = this.isFull ? `at least ${more}` : String(more)
    return new WeirError(
      this.#first.code,
      `${this.#first.message} ${count} more ${more === 1 ? 'entry is' : 'entries are'} wrong: see "details".`,
      { details: Object.fromEntries(this.#sentences), places: this.#places },
    )
  }

  throwIfAny(): void {
    const { error } = this
    if (error !== undefined) throw error
  }
}
