/** A sorted set of ids, read in pages from the newest: the order of lists. */
export class SortedIds {
  #ids: string[] = []

  copy(): SortedIds {
    const copy = new SortedIds()
    copy.#ids = this.#ids.slice()
    return copy
  }

  get size(): number {
    return this.#ids.length
  }

  add(id: string): void {
    const ids = this.#ids
    // Almost every new id is the highest of all.
    if (ids.length === 0 || ids[ids.length - 1]! < id) ids.push(id)
    else if (ids[this.#position(id)] !== id) ids.splice(this.#position(id), 0, id)
  }

  delete(id: string): void {
    const index = this.#position(id)
    if (this.#ids[index] === id) this.#ids.splice(index, 1)
  }

  /** Removes and adds many ids in one pass; `added` must be sorted, and hold no id that stays. */
  replace(removed: ReadonlySet<string>, added: readonly string[]): void {
    this.#ids = merged(removed.size === 0 ? this.#ids : this.#ids.filter((id) => !removed.has(id)), added)
  }

  /** Ids below `before`, or all ids if it is undefined, highest first. */
  *below(before?: string): Generator<string> {
    const end = before === undefined ? this.#ids.length : this.#position(before)
    for (let index = end - 1; index >= 0; index--) yield this.#ids[index]!
  }

  /** Index of `id`, or the index it would have. */
  #position(id: string): number {
    let low = 0
    let high = this.#ids.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#ids[middle]! < id) low = middle + 1
      else high = middle
    }
    return low
  }
}

/** Two sorted lists as one. */
function merged(some: readonly string[], others: readonly string[]): string[] {
  const all: string[] = []
  let index = 0
  for (const id of some) {
    while (index < others.length && others[index]! < id) all.push(others[index++]!)
    all.push(id)
  }
  return all.concat(others.slice(index))
}
