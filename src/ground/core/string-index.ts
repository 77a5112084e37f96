/**
 * Finds values by id or name, for thousands of keys that are asked for in no order, so that none is in a cache. A `Map` then
 * reads five places of memory one after the other (Node 20): the bucket of a hash, an entry, its key, and half the time
 * another entry and its key. This index reads one after a small table, and the value while its key is compared. For many
 * keys, `fetch` reads all these places at once.
 *
 * Users choose names, so they can choose names with equal hashes: only a few slots are tried for a key, and keys for which
 * none of these is free are in a `Map`.
 */

const offsetBasis = 0x811c9dc5
const prime = 0x01000193
/** Slots for each key, so that few slots are taken by another. */
const slotsPerKey = 2
const slotsTried = 8

export class StringIndex<T> {
  readonly #keys: readonly string[]
  readonly #values: readonly T[]
  /** The places of keys, counted from 1, each in the slot of its hash or one of the next. A free slot has 0. */
  readonly #slots: Int32Array
  readonly #others = new Map<string, T>()

  constructor(values: ReadonlyMap<string, T>) {
    this.#keys = [...values.keys()]
    this.#values = [...values.values()]
    this.#slots = new Int32Array(2 ** Math.ceil(Math.log2(1 + values.size * slotsPerKey)))
    for (const [place, key] of this.#keys.entries()) {
      const slot = this.#slotOf(key)
      if (slot === undefined) this.#others.set(key, this.#values[place]!)
      else this.#slots[slot] = place + 1
    }
  }

  get size(): number {
    return this.#keys.length
  }

  get(key: string): T | undefined {
    const slot = this.#slotOf(key)
    if (slot === undefined) return this.#others.get(key)
    const place = this.#slots[slot]!
    return place === 0 ? undefined : this.#values[place - 1]
  }

  /** The slot of the key, or a free one for it. */
  #slotOf(key: string): number | undefined {
    const slots = this.#slots
    const last = slots.length - 1
    const hash = hashOf(key)
    for (let tried = 0; tried < slotsTried; tried += 1) {
      const slot = (hash + tried) & last
      const place = slots[slot]!
      if (place === 0 || this.#keys[place - 1] === key) return slot
    }
    return undefined
  }

  /**
   * Reads what `get` will read for each of these keys, and what `read` reads of their values. The caller uses the result;
   * otherwise V8 would leave out the reads (Node 20).
   *
   * One kind of place after the other: the processor waits for some ten places of memory at a time, but only if hardly
   * anything is computed in between.
   */
  fetch(keys: readonly string[], read: (value: T) => number): number {
    const slots = this.#slots
    const last = slots.length - 1
    const places: number[] = []
    for (let index = 0; index < keys.length; index += 1) places.push(hashOf(keys[index]!) & last)
    for (let index = 0; index < places.length; index += 1) places[index] = slots[places[index]!]!
    let sum = 0
    for (let index = 0; index < places.length; index += 1) sum += this.#keys[places[index]! - 1]?.length ?? 0
    for (let index = 0; index < places.length; index += 1) {
      const value = this.#values[places[index]! - 1]
      if (value !== undefined) sum += read(value)
    }
    return sum
  }
}

/** FNV-1a (http://www.isthe.com/chongo/tech/comp/fnv/). */
function hashOf(key: string): number {
  let hash = offsetBasis
  for (let index = 0; index < key.length; index += 1) hash = Math.imul(hash ^ key.charCodeAt(index), prime)
  return hash ^ (hash >>> 16)
}
