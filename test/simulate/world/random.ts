/** Random numbers that repeat for the same seed and name. */

/** Draws of one purpose. Purposes have numbers of their own, so that one more draw of one changes nothing in another. */
export class Random {
  #a: number
  #b: number
  #c: number
  #d = 1

  /** `name`: the purpose. */
  constructor(seed: number, name: string) {
    this.#a = seed | 0
    this.#b = 0x9e3779b9
    this.#c = 0
    for (const char of name) this.#c = (Math.imul(this.#c, 31) + char.charCodeAt(0)) | 0
    for (let round = 0; round < 12; round++) this.next()
  }

  /** In [0, 1): the generator sfc32 of PractRand. */
  next(): number {
    const sum = (this.#a + this.#b + this.#d) | 0
    this.#d = (this.#d + 1) | 0
    this.#a = this.#b ^ (this.#b >>> 9)
    this.#b = (this.#c + (this.#c << 3)) | 0
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0
    return (sum >>> 0) / 2 ** 32
  }

  /** A whole number in [0, max). */
  below(max: number): number {
    return Math.floor(this.next() * max)
  }

  /** A number in [min, max). */
  between(min: number, max: number): number {
    return min + this.next() * (max - min)
  }

  chance(share: number): boolean {
    return this.next() < share
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)]!
  }
}
