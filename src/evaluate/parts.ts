/** Parts of a configuration, compiled once and shared by the views that hold them. */

interface Part<T> {
  readonly version: number | string
  readonly value: T
}

/** Compiled parts by id: one is compiled anew only when its version differs from the one of the view before. */
export class Parts<T> {
  readonly #parts = new Map<string, Part<T>>()
  #previous: ReadonlyMap<string, Part<T>> | undefined

  constructor(previous: Parts<T> | undefined) {
    this.#previous = previous === undefined ? undefined : previous.#parts
  }

  /** Lets go of the view before: it would hold the one before that, and so on. */
  complete(): this {
    this.#previous = undefined
    return this
  }

  get(id: string): T | undefined {
    return this.#parts.get(id)?.value
  }

  /** Has the view before this part in this version? Then it is taken over. */
  reuse(id: string, version: number | string): T | undefined {
    const part = this.#previous?.get(id)
    if (part === undefined || part.version !== version) return undefined
    this.#parts.set(id, part)
    return part.value
  }

  add(id: string, version: number | string, value: T): T {
    this.#parts.set(id, { version, value })
    return value
  }
}
