/**
 * Takes everything up to a rate. Of more, it takes a sample in which each item says for how many it stands, so that sums
 * stay exact.
 */
import { after, monotonicMs, type Timer } from './clock.js'
import { getOrMake } from './maps.js'

interface SamplerOptions<Item> {
  /** Items of one key that are taken in a second. */
  readonly perSecondMax: number
  /** `weight`: how many items this one stands for. */
  readonly take: (item: Item, weight: number) => void
  readonly nowMs?: () => number
}

interface Sampled<Item> {
  second: number
  /** Items offered in this second. */
  offered: number
  taken: number
  /** One of this many items is taken, by the rate of the last second. */
  stride: number
  /** The last item that was left out, and how many were since one was taken. */
  last: Item | undefined
  leftOut: number
}

const secondMs = 1_000
/** Keys that are remembered. */
const keysMax = 10_000

export class Sampler<Item> {
  readonly #options: SamplerOptions<Item>
  readonly #nowMs: () => number
  readonly #keys = new Map<string, Sampled<Item>>()
  #due: Timer | undefined

  constructor(options: SamplerOptions<Item>) {
    this.#options = options
    this.#nowMs = options.nowMs ?? monotonicMs
  }

  add(key: string, item: Item): void {
    const { perSecondMax, take } = this.#options
    const sampled = this.#sampledOf(key)
    sampled.offered += 1
    if (sampled.offered % sampled.stride === 0 && sampled.taken < perSecondMax) {
      sampled.taken += 1
      const weight = sampled.leftOut + 1
      sampled.leftOut = 0
      sampled.last = undefined
      take(item, weight)
      return
    }
    sampled.last = item
    sampled.leftOut += 1
    this.#due ??= after(secondMs, () => this.flush())
  }

  #sampledOf(key: string): Sampled<Item> {
    const second = Math.floor(this.#nowMs() / secondMs)
    if (this.#keys.size >= keysMax && !this.#keys.has(key)) {
      this.flush()
      this.#keys.clear()
    }
    const sampled = getOrMake(this.#keys, key, () => newSampled<Item>(second))
    if (sampled.second === second) return sampled
    const rate = sampled.second === second - 1 ? sampled.offered : 0
    sampled.stride = Math.max(1, Math.ceil(rate / this.#options.perSecondMax))
    sampled.second = second
    sampled.offered = 0
    sampled.taken = 0
    return sampled
  }

  /** Takes the last item of each key for those that were left out. Happens by itself within a second. */
  flush(): void {
    this.#due?.stop()
    this.#due = undefined
    for (const sampled of this.#keys.values()) {
      const { last, leftOut } = sampled
      sampled.last = undefined
      sampled.leftOut = 0
      if (last !== undefined) this.#options.take(last, leftOut)
    }
  }
}

const newSampled = <Item>(second: number): Sampled<Item> => ({
  second,
  offered: 0,
  taken: 0,
  stride: 1,
  last: undefined,
  leftOut: 0,
})
