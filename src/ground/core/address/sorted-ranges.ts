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
  readonly index: RowIndex | undefined
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
    const index = count < indexedRangesMin ? undefined : yield* indexOf(bounds, width)
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

/** Each cell of an index is four of its sieve. */
const sieveBits = 2

/** Bits of an address that an index can look at. */
const indexedBits = 64

/**
 * The answer of a sieve about the addresses of a cell: none is in a range, all are in one, or a range begins or ends among
 * them.
 */
export const cellState = { outside: 0, inside: 1, mixed: 2 } as const

/**
 * Finds the rows near an address in a sorted table, so that a search looks at one or two of 100,000. It looks at as many
 * bits as there are rows to tell apart, behind those that all rows share: networks in IPv6 often have their first 20 bits
 * in common, and an index over these would be no help.
 *
 * Before a search, the sieve knows of most addresses whether they are in any range: a megabyte for a million ranges, which
 * stays in a cache that the table and the index are too large for.
 */
class RowIndex {
  /** For each value of the bits, the number of rows with a lower one; one more at the end. */
  readonly #rowsBelow: Uint32Array
  /** States of the cells, two bits each: sixteen in a word. */
  readonly #sieve: Uint32Array
  readonly #skipped: number
  readonly #shift: number
  readonly #shared: readonly [first: number, second: number]
  readonly #masks: readonly [first: number, second: number]

  /** `bounds`: those of disjoint sorted ranges, whose rows have yet to be added. */
  constructor(bounds: Uint32Array, width: number) {
    const lastRow = bounds.length - 2 * width
    const bits = Math.min(cellBitsMax, 32 - Math.clz32(bounds.length / (2 * width)))
    const words = (place: number) => [bounds[place]!, width > 1 ? bounds[place + 1]! : 0] as const
    this.#shared = words(0)
    const [first, last] = [this.#shared, words(lastRow)]
    const differing = [first[0] ^ last[0], first[1] ^ last[1]]
    const sharedBits = differing[0] === 0 ? 32 + Math.clz32(differing[1]!) : Math.clz32(differing[0]!)
    this.#skipped = Math.min(sharedBits, (width === 1 ? 32 : indexedBits) - bits - sieveBits)
    this.#shift = 32 - bits - sieveBits
    this.#masks = [maskOf(0, this.#skipped) | 0, maskOf(1, this.#skipped) | 0]
    this.#rowsBelow = new Uint32Array((1 << bits) + 1)
    this.#sieve = new Uint32Array(1 << (bits + sieveBits - 4))
  }

  /** For each row, in order. */
  addRow(first: number, last: number): void {
    this.#rowsBelow[(first >>> sieveBits) + 1]! += 1
    // A range that is larger than a cell is made of whole ones.
    const state = first === last ? cellState.mixed : cellState.inside
    for (let cell = first; cell <= last; cell++) this.#sieve[cell >>> 4]! |= state << (2 * (cell & 15))
  }

  /** Once all rows are added. */
  complete(): void {
    const rowsBelow = this.#rowsBelow
    for (let cell = 1; cell < rowsBelow.length; cell++) rowsBelow[cell]! += rowsBelow[cell - 1]!
  }

  /** The value of the bits; -1 if the address lacks the bits that all rows share, and so is in no range. */
  cellOf(first: number, second: number): number {
    const [shared, masks, skipped] = [this.#shared, this.#masks, this.#skipped]
    if ((((first ^ shared[0]) & masks[0]) | ((second ^ shared[1]) & masks[1])) !== 0) return -1
    if (skipped >= 32) return (second << (skipped - 32)) >>> this.#shift
    // A shift by 32 would be one by 0.
    return ((first << skipped) | ((second >>> 1) >>> (31 - skipped))) >>> this.#shift
  }

  stateOf(cell: number): number {
    return (this.#sieve[cell >>> 4]! >>> (2 * (cell & 15))) & 3
  }

  /** The number of rows that begin before a cell's neighbourhood. */
  rowsBelow(cell: number): number {
    return this.#rowsBelow[cell >>> sieveBits]!
  }

  /** The number of rows that begin before the end of a cell's neighbourhood. */
  rowsUpTo(cell: number): number {
    return this.#rowsBelow[(cell >>> sieveBits) + 1]!
  }
}

/** The index of these bounds, in slices. */
function* indexOf(bounds: Uint32Array, width: number): Generator<void, RowIndex> {
  const index = new RowIndex(bounds, width)
  const cellAt = (place: number) => index.cellOf(bounds[place]!, width > 1 ? bounds[place + 1]! : 0)
  for (let place = 0; place < bounds.length; place += 2 * width) {
    index.addRow(cellAt(place), cellAt(place + width))
    if (place % (2 * width * rangesPerSlice) === 0) yield
  }
  index.complete()
  return index
}
