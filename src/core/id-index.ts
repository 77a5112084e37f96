/**
 * Values by id, for thousands of which any may be next. What is asked for is then in no cache, and a `Map` reads five
 * places of memory one after the other: where the entries of a hash begin, an entry, its key, and half the time another
 * entry and key. Here it is one after a small table, and the value is read while its id is compared.
 */

/** The end of an id differs from those of others; its beginning says what it is of. */
const hashedChars = 16
const offsetBasis = 0x811c9dc5
const prime = 0x01000193
/** Slots for each id, so that few slots are taken by another. */
const slotsPerId = 2

export class IdIndex<T> {
  readonly #ids: readonly string[]
  readonly #values: readonly T[]
  /** The places of ids, counted from 1, each in the slot of its hash or the next that was free. A free slot has 0. */
  readonly #slots: Int32Array

  constructor(values: ReadonlyMap<string, T>) {
    this.#ids = [...values.keys()]
    this.#values = [...values.values()]
    this.#slots = new Int32Array(2 ** Math.ceil(Math.log2(1 + values.size * slotsPerId)))
    for (const [place, id] of this.#ids.entries()) this.#slots[this.#slotOf(id)] = place + 1
  }

  get(id: string): T | undefined {
    const place = this.#slots[this.#slotOf(id)]!
    return place === 0 ? undefined : this.#values[place - 1]
  }

  /** The slot of the id, or a free one. */
  #slotOf(id: string): number {
    const slots = this.#slots
    const last = slots.length - 1
    let slot = hashOf(id) & last
    while (slots[slot] !== 0 && this.#ids[slots[slot]! - 1] !== id) slot = (slot + 1) & last
    return slot
  }
}

/** FNV-1a (http://www.isthe.com/chongo/tech/comp/fnv/). */
function hashOf(id: string): number {
  let hash = offsetBasis
  for (let index = Math.max(0, id.length - hashedChars); index < id.length; index += 1)
    hash = Math.imul(hash ^ id.charCodeAt(index), prime)
  return hash ^ (hash >>> 16)
}
