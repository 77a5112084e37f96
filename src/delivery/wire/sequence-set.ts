/** A set of sequences, stored as ranges: sequences that arrive nearly in order take little memory. */
export type SequenceRange = readonly [first: number, last: number]

export class SequenceSet {
  /** Ascending, disjoint, never adjacent. */
  #ranges: [number, number][]

  constructor(ranges: readonly SequenceRange[] = []) {
    this.#ranges = ranges.map(([first, last]) => [first, last])
  }

  get ranges(): readonly SequenceRange[] {
    return this.#ranges
  }

  get highest(): number {
    return this.#ranges.at(-1)?.[1] ?? 0
  }

  has(sequence: number): boolean {
    const range = this.#ranges[this.#after(sequence) - 1]
    return range !== undefined && sequence <= range[1]
  }

  /** Adds a range; returns how many of its sequences were not in the set. */
  add([first, last]: SequenceRange): number {
    const highest = this.#ranges.at(-1)
    // Most sets grow at their end, by one for each message.
    if (highest !== undefined && first === highest[1] + 1) {
      highest[1] = last
      return last - first + 1
    }
    const from = this.#after(first - 1)
    const start = from > 0 && this.#ranges[from - 1]![1] >= first - 1 ? from - 1 : from
    let end = start
    let low = first
    let high = last
    let known = 0
    for (; end < this.#ranges.length && this.#ranges[end]![0] <= last + 1; end += 1) {
      const [otherFirst, otherLast] = this.#ranges[end]!
      known += Math.max(0, Math.min(last, otherLast) - Math.max(first, otherFirst) + 1)
      low = Math.min(low, otherFirst)
      high = Math.max(high, otherLast)
    }
    this.#ranges.splice(start, end - start, [low, high])
    return last - first + 1 - known
  }

  /** Index of the first range that begins after `sequence`. */
  #after(sequence: number): number {
    let low = 0
    let high = this.#ranges.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#ranges[middle]![0] <= sequence) low = middle + 1
      else high = middle
    }
    return low
  }
}
