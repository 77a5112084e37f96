/** Parts of a configuration, compiled once and shared by the views that hold them. */

interface Part<T> {
  readonly version: number
  readonly value: T
}

/** Compiled parts by id. A part is compiled again only if its version differs from that in the previous view. */
export class Parts<T> {
  readonly #parts = new Map<string, Part<T>>()
  #previous: ReadonlyMap<string, Part<T>> | undefined

  constructor(previous: Parts<T> | undefined) {
    this.#previous = previous === undefined ? undefined : previous.#parts
  }

  /** Drops the previous view, which would keep all earlier ones in memory. */
  complete(): this {
    this.#previous = undefined
    return this
  }

  get(id: string): T | undefined {
    return this.#parts.get(id)?.value
  }

  /** Takes the part over if the previous view has it in this version. */
  reuse(id: string, version: number): T | undefined {
    const part = this.#previous?.get(id)
    if (part === undefined || part.version !== version) return undefined
    this.#parts.set(id, part)
    return part.value
  }

  add(id: string, version: number, value: T): T {
    this.#parts.set(id, { version, value })
    return value
  }
}
