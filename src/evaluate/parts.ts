/** Parts of a configuration, compiled once and shared by the views that hold them. */
import type { Slices } from '../core/slices.js'

/** Compiled parts by id. A part is compiled again only if its version differs from that in the previous view. */
export class Parts<T> {
  /** Without their versions, which only a build reads: a record that looks a part up finds it in fewer steps. */
  readonly #values = new Map<string, T>()
  readonly #versions = new Map<string, number>()
  #previous: Parts<T> | undefined

  constructor(previous: Parts<T> | undefined) {
    this.#previous = previous
  }

  /** Drops the previous view, which would keep all earlier ones in memory. */
  complete(): this {
    this.#previous = undefined
    return this
  }

  get values(): ReadonlyMap<string, T> {
    return this.#values
  }

  get(id: string): T | undefined {
    return this.#values.get(id)
  }

  /** Takes the part over if the previous view has it in this version. */
  reuse(id: string, version: number): T | undefined {
    const previous = this.#previous
    if (previous === undefined || previous.#versions.get(id) !== version) return undefined
    return this.add(id, version, previous.#values.get(id)!)
  }

  /** The same parts in the same versions, some of them with another value. */
  with(others: ReadonlyMap<string, T>): Parts<T> {
    const parts = new Parts<T>(undefined)
    for (const [id, value] of this.#values) parts.add(id, this.#versions.get(id)!, others.get(id) ?? value)
    return parts
  }

  add(id: string, version: number, value: T): T {
    this.#values.set(id, value)
    this.#versions.set(id, version)
    return value
  }
}

/** An index of rows, made in slices. */
export async function indexed<Row, T>(
  rows: Iterable<Row>,
  entryOf: (row: Row) => [string, T],
  slices: Slices,
): Promise<Map<string, T>> {
  const index = new Map<string, T>()
  for (const row of rows) {
    if (slices.isDue()) await slices.pause()
    index.set(...entryOf(row))
  }
  return index
}
