/**
 * A sorted set of ids, read in pages from the newest: the order of lists.
 *
 * The ids are in blocks, because an account may have hundreds of thousands, and while a bucket is read, some of them
 * change with almost every entry: with one array for all of them, reading 10,000 policies of 10 rules took a minute.
 */
export class SortedIds {
  /** None is empty, and every id of a block is below those of the next one. */
  #blocks: string[][] = []
  #size = 0

  copy(): SortedIds {
    const copy = new SortedIds()
    copy.#blocks = this.#blocks.map((block) => block.slice())
    copy.#size = this.#size
    return copy
  }

  get size(): number {
    return this.#size
  }

  add(id: string): void {
    // Almost every new id is the highest of all, and goes to the last block.
    const at = Math.min(this.#blockOf(id), this.#blocks.length - 1)
    const block = this.#blocks[at]
    if (block === undefined) this.#blocks.push([id])
    else {
      const position = positionOf(id, block)
      if (block[position] === id) return
      block.splice(position, 0, id)
      if (block.length > blockIdsMax) this.#split(at)
    }
    this.#size += 1
  }

  /** A block that was filled from its end stays full: ids mostly come in order. */
  #split(at: number): void {
    const block = this.#blocks[at]!
    const isLast = at === this.#blocks.length - 1
    this.#blocks.splice(at + 1, 0, block.splice(isLast ? block.length - 1 : block.length >>> 1))
  }

  delete(id: string): void {
    const at = this.#blockOf(id)
    const block = this.#blocks[at]
    if (block === undefined) return
    const position = positionOf(id, block)
    if (block[position] !== id) return
    block.splice(position, 1)
    if (block.length === 0) this.#blocks.splice(at, 1)
    this.#size -= 1
  }

  /** Removes and adds many ids; `added` must be sorted, and hold no id that stays. */
  replace(removed: ReadonlySet<string>, added: readonly string[]): void {
    if ((removed.size + added.length) * passFactor < this.#size) {
      for (const id of removed) this.delete(id)
      for (const id of added) this.add(id)
      return
    }
    const kept = this.#blocks.flat().filter((id) => !removed.has(id))
    const ids = merged(kept, added)
    this.#blocks = []
    for (let from = 0; from < ids.length; from += blockIdsMax)
      this.#blocks.push(ids.slice(from, from + blockIdsMax))
    this.#size = ids.length
  }

  /** Ids below `before`, or all ids if it is undefined, highest first. */
  *below(before?: string): Generator<string> {
    let at = before === undefined ? this.#blocks.length : this.#blockOf(before)
    const part = this.#blocks[at]
    if (before !== undefined && part !== undefined) yield* backwards(part, positionOf(before, part))
    while (--at >= 0) yield* backwards(this.#blocks[at]!)
  }

  /** The first block whose last id is not below `id`; beyond all blocks if there is none. */
  #blockOf(id: string): number {
    let low = 0
    let high = this.#blocks.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#blocks[middle]!.at(-1)! < id) low = middle + 1
      else high = middle
    }
    return low
  }
}

const blockIdsMax = 512
/** One pass over all ids costs as much per id as this part of a search costs per change. */
const passFactor = 16

function* backwards(ids: readonly string[], end = ids.length): Generator<string> {
  for (let index = end - 1; index >= 0; index--) yield ids[index]!
}

/** Index of `id`, or the index it would have. */
function positionOf(id: string, ids: readonly string[]): number {
  let low = 0
  let high = ids.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (ids[middle]! < id) low = middle + 1
    else high = middle
  }
  return low
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
