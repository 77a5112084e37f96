/** The values that servers may take for a name, of one request. */

/** Values of a name: of a request with more it is known that it has too many to be judged. */
const valuesMax = 1024

export class FoundValues {
  readonly #all = new Map<string | undefined, string>()
  /** There are more than these. */
  tooMany = false

  /** The value is undefined if a server sees none. `how`: what makes it one, of that which was found first. */
  add(value: string | undefined, how: string): void {
    if (this.#all.has(value)) return
    if (this.#all.size < valuesMax) this.#all.set(value, how)
    else this.tooMany = true
  }

  get all(): ReadonlyMap<string | undefined, string> {
    return this.#all
  }
}

/** Nearly every request shows all of its values. */
export const noOthers = new FoundValues()
