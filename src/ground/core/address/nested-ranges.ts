/**
 * Finds all of many CIDR ranges that contain an address. Two ranges are disjoint, or one lies within the other: sorted,
 * they are a tree. The innermost range of an address is found by binary search, the others are its parents.
 */
import { type Cidr, maskOf, prefix128Of } from './cidr.js'
import type { Address, AddressFamily } from './ip.js'

interface Node<T> {
  readonly first: Words
  readonly last: Words
  readonly values: T[]
  parent: Node<T> | undefined
}

type Words = ArrayLike<number>

export class NestedRanges<T> {
  readonly #families: Readonly<Record<AddressFamily, readonly Node<T>[]>>

  constructor(ranges: Iterable<readonly [Cidr, T]>) {
    const given = [...ranges]
    const ofFamily = (family: AddressFamily) => nested(given.filter(([cidr]) => cidr.family === family))
    this.#families = { 4: ofFamily(4), 6: ofFamily(6) }
  }

  /** Calls `found` with the value of each range that contains the address. */
  find({ family, words }: Address, found: (value: T) => void): void {
    if (family === 0) return
    for (let node = lastFrom(this.#families[family], words); node !== undefined; node = node.parent) {
      if (compareWords(words, node.last) > 0) continue
      for (let index = 0; index < node.values.length; index++) found(node.values[index]!)
    }
  }
}

/** The ranges of one family in order, each with the smallest that contains it. */
function nested<T>(ranges: readonly (readonly [Cidr, T])[]): Node<T>[] {
  const sorted = ranges.toSorted(([a], [b]) => compareWords(a.words, b.words) || a.prefix - b.prefix)
  const nodes: Node<T>[] = []
  let inner: Node<T> | undefined
  for (const [cidr, value] of sorted) {
    const first = cidr.words
    const last = lastOf(cidr)
    while (inner !== undefined && compareWords(first, inner.last) > 0) inner = inner.parent
    if (
      inner !== undefined &&
      compareWords(first, inner.first) === 0 &&
      compareWords(last, inner.last) === 0
    ) {
      inner.values.push(value)
      continue
    }
    inner = { first, last, values: [value], parent: inner }
    nodes.push(inner)
  }
  return nodes
}

const lastOf = (cidr: Cidr): Words =>
  cidr.words.map((word, index) =>
    cidr.family === 4 && index < 3 ? word : (word | ~maskOf(index, prefix128Of(cidr))) >>> 0,
  )

/** The last node that begins at the address or before it. */
function lastFrom<T>(nodes: readonly Node<T>[], words: Words): Node<T> | undefined {
  let low = 0
  let high = nodes.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (compareWords(nodes[middle]!.first, words) <= 0) low = middle + 1
    else high = middle
  }
  return nodes[low - 1]
}

function compareWords(one: Words, other: Words): number {
  for (let index = 0; index < 4; index++) {
    const difference = one[index]! - other[index]!
    if (difference !== 0) return difference
  }
  return 0
}
