/**
 * A set of addresses, compiled from up to a million CIDR ranges: disjoint sorted ranges, found by an index and
 * binary search.
 *
 * IP policies ask twice whether any range contains an address (allow rules, deny rules), and for an event that names
 * the rule which one does: the widest, since ranges that lie within another are not kept.
 */
import { withoutPauses } from '../slices.js'
import { type Cidr, cidrInRow, parseCidr, rangeAround } from './cidr.js'
import type { Address, AddressWords } from './ip.js'
import { Columns, cellState, type Ranges, rangesPerSlice } from './sorted-ranges.js'

export class CidrSet {
  readonly #ipv4: Ranges
  readonly #ipv6: Ranges
  /** Number of ranges, without those that lie within another. */
  readonly rangeCount: number

  constructor(ipv4: Ranges, ipv6: Ranges) {
    this.#ipv4 = ipv4
    this.#ipv6 = ipv6
    this.rangeCount = ipv4.count + ipv6.count
  }

  /** Also false if the text was not an address. */
  has(address: Address): boolean {
    const { family, words } = address
    if (family === 4) {
      const state = stateIn(this.#ipv4, words[3], 0)
      return state === cellState.mixed ? this.#rowOfIpv4(words[3]) >= 0 : state === cellState.inside
    }
    if (family !== 6) return false
    const state = stateIn(this.#ipv6, words[0], words[1])
    return state === cellState.mixed ? this.#rowOfIpv6(words) >= 0 : state === cellState.inside
  }

  /** The place of the widest range that contains the address, in the order given; undefined if there is none. */
  placeOf(address: Address): number | undefined {
    if (address.family === 4) return this.#ipv4.places[this.#rowOfIpv4(address.words[3])]
    return address.family === 6 ? this.#ipv6.places[this.#rowOfIpv6(address.words)] : undefined
  }

  /** The widest range that contains the address; undefined if there is none. */
  rangeOf(address: Address): Cidr | undefined {
    const { family, words } = address
    if (family === 4) {
      const row = this.#rowOfIpv4(words[3])
      return row < 0 ? undefined : cidrInRow(this.#ipv4, row, 4)
    }
    const row = family === 6 ? this.#rowOfIpv6(words) : -1
    return row < 0 ? undefined : cidrInRow(this.#ipv6, row, 6)
  }

  /** The narrowest range that contains all of them; undefined if there are none, or ranges of both families. */
  get hull(): Cidr | undefined {
    const [ranges, family] = this.#ipv4.count === 0 ? ([this.#ipv6, 6] as const) : ([this.#ipv4, 4] as const)
    if (ranges.count === 0 || ranges.count < this.rangeCount) return undefined
    return rangeAround(cidrInRow(ranges, 0, family), cidrInRow(ranges, ranges.count - 1, family))
  }

  /** All ranges, without those that lie within another. */
  *ranges(): Generator<Cidr> {
    for (let row = 0; row < this.#ipv4.count; row += 1) yield cidrInRow(this.#ipv4, row, 4)
    for (let row = 0; row < this.#ipv6.count; row += 1) yield cidrInRow(this.#ipv6, row, 6)
  }

  /** The row of the range that contains the address, else -1. */
  #rowOfIpv4(address: number): number {
    const { count, bounds, index } = this.#ipv4
    let low = 0
    let high = count
    if (index !== undefined) {
      const cell = index.cellOf(address, 0)
      if (cell < 0) return -1
      low = index.rowsBelow(cell)
      high = index.rowsUpTo(cell)
    }
    // Afterwards `low` is the number of ranges that start at or below the address; only the last can contain it.
    while (low < high) {
      const middle = (low + high) >>> 1
      if (bounds[2 * middle]! <= address) low = middle + 1
      else high = middle
    }
    return low > 0 && address <= bounds[2 * low - 1]! ? low - 1 : -1
  }

  #rowOfIpv6(words: AddressWords): number {
    const { count, bounds, width, index } = this.#ipv6
    let low = 0
    let high = count
    if (index !== undefined) {
      const cell = index.cellOf(words[0], words[1])
      if (cell < 0) return -1
      low = index.rowsBelow(cell)
      high = index.rowsUpTo(cell)
    }
    while (low < high) {
      const middle = (low + high) >>> 1
      if (compareWords(bounds, 2 * middle * width, words, width) <= 0) low = middle + 1
      else high = middle
    }
    return low > 0 && compareWords(bounds, (2 * low - 1) * width, words, width) >= 0 ? low - 1 : -1
  }
}

/** The answer of the index about an address by its first words, without a search. */
function stateIn({ index }: Ranges, first: number, second: number): number {
  if (index === undefined) return cellState.mixed
  const cell = index.cellOf(first, second)
  return cell < 0 ? cellState.outside : index.stateOf(cell)
}

/** Compares the address that begins at `start` with the first `width` words of another. */
function compareWords(bounds: Uint32Array, start: number, words: AddressWords, width: number): number {
  for (let index = 0; index < width; index++) {
    const bound = bounds[start + index]!
    const word = words[index]!
    if (bound !== word) return bound < word ? -1 : 1
  }
  return 0
}

/** Builds the set of these ranges without pauses; `buildCidrSet` does the same in slices. */
export const compileCidrSet = (cidrs: Iterable<string>): CidrSet => withoutPauses(buildCidrSet(cidrs))

/**
 * Builds a set in slices of well under a millisecond, so that 100,000 rules never delay waiting records: call
 * `next()` until it is done, pausing as needed. The texts are ranges or bare addresses that were validated when they
 * were saved; anything else is a broken invariant and throws.
 */
export const buildCidrSet = (cidrs: Iterable<string>): Generator<void, CidrSet> => buildSet(parsed(cidrs))

function* parsed(texts: Iterable<string>): Generator<Cidr> {
  for (const text of texts) {
    const cidr = parseCidr(text, { hostBits: 'allow' })
    if (!cidr.ok) throw new Error(cidr.problem.msg)
    yield cidr.value
  }
}

/** Builds the set of the addresses of any of these sets, in slices. Its places are no places of theirs. */
export const buildUnion = (sets: readonly CidrSet[]): Generator<void, CidrSet> => buildSet(rangesOf(sets))

function* rangesOf(sets: readonly CidrSet[]): Generator<Cidr> {
  for (const set of sets) yield* set.ranges()
}

function* buildSet(cidrs: Iterable<Cidr>): Generator<void, CidrSet> {
  const ipv4 = new Columns([3])
  const ipv6 = new Columns([0, 1, 2, 3])
  let place = 0
  let untilPause = rangesPerSlice
  for (const cidr of cidrs) {
    if (cidr.family === 4) ipv4.add(cidr, place)
    else ipv6.add(cidr, place)
    place += 1
    if (--untilPause === 0) {
      untilPause = rangesPerSlice
      yield
    }
  }
  return new CidrSet(yield* ipv4.join(), yield* ipv6.join())
}
