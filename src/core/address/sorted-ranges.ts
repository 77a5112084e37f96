/** Makes the sorted, disjoint ranges of one family in which `CidrSet` searches, and their index. */
import { type Cidr, maskOf, prefix128Of } from './cidr.js'

/** With this many ranges of a family or more, an index saves most steps of the search. */
const indexedRangesMin = 512

/** Ranges processed between two pauses of a build: a fraction of a millisecond. */
export const rangesPerSlice = 1024

/** Disjoint sorted ranges of one family. */
export interface Ranges {
  readonly count: number
  /** The place of each among all ranges that the set was built from. */
  readonly places: Uint32Array
  /** Rows of the first and the last address, `width` words each, so that a lookup needs one cache line. */
  readonly bounds: Uint32Array
  /** One for IPv4; for IPv6 as many as the longest prefix reaches into: two for networks, four for single addresses. */
  readonly width: number
  readonly index: RangeIndex | undefined
}

/** Below this many ranges a comparison sort is faster than clearing the counters of a radix sort. */
const radixSortMin = 2048

/** Ranges of one family while a set is built. */
export class Columns {
  /** The indexes used of `Cidr.words`: all four, or only the last. */
  readonly #words: readonly number[]
  readonly #first: number[][]
  readonly #last: number[][]
  readonly #places: number[] = []
  #longestPrefix = 0

  constructor(words: readonly number[]) {
    this.#words = words
    this.#first = words.map(() => [])
    this.#last = words.map(() => [])
  }

  add(cidr: Cidr, place: number): void {
    this.#places.push(place)
    const prefix128 = prefix128Of(cidr)
    this.#longestPrefix = Math.max(this.#longestPrefix, prefix128)
    for (let column = 0; column < this.#words.length; column++) {
      const word = this.#words[column]!
      const first = cidr.words[word]!
      this.#first[column]!.push(first)
      this.#last[column]!.push((first | ~maskOf(word, prefix128)) >>> 0)
    }
  }

  /** Sorts and drops inner ranges: two CIDR ranges are disjoint, or one lies within the other. */
  *join(): Generator<void, Ranges> {
    // Behind the longest prefix no two ranges differ.
    const width = this.#words.filter((word) => maskOf(word, this.#longestPrefix) !== 0).length || 1
    const first = yield* inSlices(this.#first.slice(0, width), (column) => new Uint32Array(column))
    const last = yield* inSlices(this.#last.slice(0, width), (column) => new Uint32Array(column))
    const order = yield* sortedOrder(first)
    const kept = new Uint32Array(order.length)
    let count = 0
    for (let index = 0; index < order.length; index++) {
      const row = order[index]!
      if (count === 0 || compareRows(first, row, last, kept[count - 1]!) > 0) kept[count++] = row
      // The widest of the ranges with the same start must win, whichever comes first.
      else if (compareRows(last, row, last, kept[count - 1]!) > 0) kept[count - 1] = row
      if (index % rangesPerSlice === rangesPerSlice - 1) yield
    }
    const rows = kept.subarray(0, count)
    const places = rows.map((row) => this.#places[row]!)
    yield
    const bounds = new Uint32Array(2 * width * count)
    for (const [column, words] of [...first, ...last].entries()) {
      for (let row = 0; row < count; row++) bounds[2 * width * row + column] = words[rows[row]!]!
      yield
    }
    const start = (column: number) => first[column] && rows.map((row) => first[column]![row]!)
    const index = count < indexedRangesMin ? undefined : new RangeIndex(start(0)!, start(1))
    return { count, places, bounds, width, index }
  }
}

/** `map` with a pause after each item. */
function* inSlices<T, U>(items: readonly T[], change: (item: T) => U): Generator<void, U[]> {
  const changed: U[] = []
  for (const item of items) {
    changed.push(change(item))
    yield
  }
  return changed
}

/** Compares a row of `columns` with a row of `others`, word by word from the front. */
function compareRows(
  columns: readonly Uint32Array[],
  row: number,
  others: readonly Uint32Array[],
  otherRow: number,
): number {
  for (let column = 0; column < columns.length; column++) {
    const difference = columns[column]![row]! - others[column]![otherRow]!
    if (difference !== 0) return difference
  }
  return 0
}

/** The rows in ascending order of their words, as a permutation. */
function* sortedOrder(columns: readonly Uint32Array[]): Generator<void, Uint32Array> {
  const count = columns[0]!.length
  const order = new Uint32Array(count).map((_, row) => row)
  if (count < radixSortMin) return order.sort((a, b) => compareRows(columns, a, columns, b))
  let [from, to] = [order, new Uint32Array(count)]
  for (const column of columns.toReversed()) {
    for (const shift of [0, 16]) {
      yield
      if (sortByDigit(column, shift, from, to)) [from, to] = [to, from]
    }
  }
  return from
}

/** One stable pass of a radix sort by 16 bits of the column. False, and nothing done, if all rows have the same bits. */
function sortByDigit(column: Uint32Array, shift: number, from: Uint32Array, to: Uint32Array): boolean {
  const starts = new Uint32Array(0x10001)
  for (let index = 0; index < from.length; index++)
    starts[((column[from[index]!]! >>> shift) & 0xffff) + 1]!++
  if (starts[((column[from[0]!]! >>> shift) & 0xffff) + 1] === from.length) return false
  for (let digit = 0; digit < 0x10000; digit++) starts[digit + 1]! += starts[digit]!
  for (let index = 0; index < from.length; index++) {
    const row = from[index]!
    to[starts[(column[row]! >>> shift) & 0xffff]!++] = row
  }
  return true
}

/** Counters of 4 MiB at most, for a million ranges: with fewer, a search in them takes a third longer. */
const cellBitsMax = 20

/** Bits of an address that an index can look at. */
const indexedBits = 64

/**
 * Finds the rows near an address in a sorted table, so that a search looks at one or two of 100,000. It looks at as many
 * bits as there are rows to tell apart, behind those that all rows share: networks in IPv6 often have their first 20 bits
 * in common, and an index over these would be no help.
 */
class RangeIndex {
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
