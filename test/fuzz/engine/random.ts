/** Choices by a seed. */
import { randomNumbers } from '../../../fixtures/random-numbers.mjs'

export class Random {
  readonly #next: () => number

  constructor(seed: number) {
    this.#next = randomNumbers(seed)
  }

  /** From 0 to `count` - 1. */
  below(count: number): number {
    return Math.floor(this.#next() * count)
  }

  oneOf<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!
  }

  chance(share: number): boolean {
    return this.#next() < share
  }

  /** From 1 to `max`, small ones far more often. */
  size(max: number): number {
    return Math.max(1, Math.floor(max ** this.#next()))
  }

  /** A seed of its own. */
  seed(): number {
    return this.below(2 ** 31)
  }
}

/** A number for a text, the same in every process. */
export function seedOf(text: string, seed: number): number {
  let hash = seed | 0
  for (let index = 0; index < text.length; index += 1)
    hash = (Math.imul(hash, 31) + text.charCodeAt(index)) | 0
  return hash
}
