import { maskOf } from './cidr.js'

/** 65,537 counters (256 KiB) at most. */
const cellBitsMax = 16

/** Bits of an address that an index can look at. */
const indexedBits = 64

/**
 * Finds the rows near an address in a sorted table, so that a search looks at one or two of 100,000. It looks at as many
 * bits as there are rows to tell apart, behind those that all rows share: networks in IPv6 often have their first 20 bits
 * in common, and an index over these would be no help.
 */
export class RangeIndex {
  /** For each value of the bits, the number of rows with a lower one; one more at the end. */
  readonly rowsBelow: Uint32Array
  readonly #skipped: number
  readonly #shift: number
  readonly #shared: readonly [first: number, second: number]
  readonly #masks: readonly [first: number, second: number]

  /** The first 64 bits of the rows, as two columns in ascending order; IPv4 has one, and `second` is undefined. */
  constructor(first: Uint32Array, second: Uint32Array | undefined) {
    const count = first.length
    const bits = Math.min(cellBitsMax, 32 - Math.clz32(count))
    const word = (column: Uint32Array | undefined, row: number) => column?.[row] ?? 0
    this.#shared = [word(first, 0), word(second, 0)]
    const differing = [word(first, 0) ^ word(first, count - 1), word(second, 0) ^ word(second, count - 1)]
    const sharedBits = differing[0] === 0 ? 32 + Math.clz32(differing[1]!) : Math.clz32(differing[0]!)
    this.#skipped = Math.min(sharedBits, (second === undefined ? 32 : indexedBits) - bits)
    this.#shift = 32 - bits
    this.#masks = [maskOf(0, this.#skipped) | 0, maskOf(1, this.#skipped) | 0]
    this.rowsBelow = new Uint32Array((1 << bits) + 1)
    for (let row = 0; row < count; row++) this.rowsBelow[this.cellOf(first[row]!, word(second, row)) + 1]!++
    for (let cell = 0; cell < 1 << bits; cell++) this.rowsBelow[cell + 1]! += this.rowsBelow[cell]!
  }

  /** The value of the bits; -1 if the address lacks the bits that all rows share, and so is in no range. */
  cellOf(first: number, second: number): number {
    const [shared, masks, skipped] = [this.#shared, this.#masks, this.#skipped]
    if ((((first ^ shared[0]) & masks[0]) | ((second ^ shared[1]) & masks[1])) !== 0) return -1
    if (skipped >= 32) return (second << (skipped - 32)) >>> this.#shift
    // A shift by 32 would be one by 0.
    return ((first << skipped) | ((second >>> 1) >>> (31 - skipped))) >>> this.#shift
  }
}
