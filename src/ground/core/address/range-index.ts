/**
 * Finds the ranges that contain a range, the widest first. For each length of a prefix a map: a lookup costs as many steps
 * as there are different lengths, however many ranges there are, and nothing is sorted. So it can be filled and asked in
 * slices.
 */
import { type Cidr, maskOf, prefix128Of } from './cidr.js'

export class RangeIndex<T> {
  /** By family, then by the length over 128 bits: values by the beginning of the range. */
  readonly #families: Readonly<Record<4 | 6, Map<number, Map<string | number, T>>>> = {
    4: new Map(),
    6: new Map(),
  }
  #lengths: Readonly<Record<4 | 6, readonly number[]>> = { 4: [], 6: [] }

  /** A range that is there already is replaced. */
  set(cidr: Cidr, value: T): void {
    const family = familyOf(cidr)
    const length = prefix128Of(cidr)
    const byLength = this.#families[family]
    let ranges = byLength.get(length)
    if (ranges === undefined) {
      ranges = new Map()
      byLength.set(length, ranges)
      const lengths = [...byLength.keys()].sort((one, other) => one - other)
      this.#lengths = { ...this.#lengths, [family]: lengths }
    }
    ranges.set(beginning(cidr, length), value)
  }

  /** The values of the ranges that contain all of this one, itself included, the widest first. */
  *containing(cidr: Cidr): Generator<T> {
    const family = familyOf(cidr)
    const own = prefix128Of(cidr)
    for (const length of this.#lengths[family]) {
      if (length > own) return
      const value = this.#families[family].get(length)?.get(beginning(cidr, length))
      if (value !== undefined) yield value
    }
  }
}

const familyOf = ({ family }: Cidr): 4 | 6 => (family === 4 ? 4 : 6)

/** The first bits, as a key. */
function beginning({ family, words }: Cidr, length: number): string | number {
  const masked = (index: number): number => (words[index]! & maskOf(index, length)) >>> 0
  return family === 4 ? masked(3) : `${masked(0)} ${masked(1)} ${masked(2)} ${masked(3)}`
}
