/** Parts of a configuration, compiled once and shared by the views that hold them. */
import type { Slices } from '../../ground/core/slices.js'

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

  /** The part, if it is here in this version. */
  at(id: string, version: number): T | undefined {
    return this.#versions.get(id) === version ? this.#values.get(id) : undefined
  }

  /** Takes the part over if the previous view has it in this version. */
  reuse(id: string, version: number): T | undefined {
    const part = this.#previous?.at(id, version)
    return part === undefined ? undefined : this.add(id, version, part)
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

/** The part, until the first rule or entry in it expires. */
export const unlessExpired = <T extends { readonly expiresMs: number }>(
  part: T | undefined,
  nowMs: number,
) => (part !== undefined && part.expiresMs > nowMs ? part : undefined)

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
