/** The packs of a destination that are being delivered in this process, and how many more it may fetch. */
import type { PackedEvent } from '../wire/packed-event.js'
import type { ByteBudget } from './byte-budget.js'

/** Packs of one destination in flight in one process; and their events, but for those of the last pack. */
const bounds = { packs: 16, events: 8_000 }
/** While requests wait for more events: packs can be small, and come several times a second. */
const collectingBounds = { packs: 512, events: 100_000 }

type PacksBudget = Pick<ByteBudget, 'take' | 'give' | 'isTight'>

export class PacksInFlight {
  readonly #budget: PacksBudget
  readonly #collects: () => boolean
  readonly #deliveries = new Map<Promise<void>, string>()
  #events = 0
  /** The bytes of the last one; the next ones are likely to be as large. */
  #eventsPerPack = 1

  /** `collects`: does the lane wait for more events than those at hand? */
  constructor(budget: PacksBudget, collects: () => boolean) {
    this.#budget = budget
    this.#collects = collects
  }

  /** For how many packs there is room. What a deliverer holds, others that have nothing to do can't deliver. */
  get room(): number {
    // What lanes collect must leave room for those that have something to do.
    const max = this.#collects() && !this.#budget.isTight ? collectingBounds : bounds
    const byEvents = Math.ceil((max.events - this.#events) / this.#eventsPerPack)
    return Math.min(max.packs - this.#deliveries.size, byEvents)
  }

  get isEmpty(): boolean {
    return this.#deliveries.size === 0
  }

  has(pack: string): boolean {
    return [...this.#deliveries.values()].includes(pack)
  }

  /** The pack counts until its delivery, which must not reject, has ended. */
  add(pack: string, events: readonly PackedEvent[], deliver: () => Promise<void>): void {
    const bytes = events.reduce((sum, { dataBytes }) => sum + dataBytes, 0)
    this.#budget.take(bytes)
    this.#events += events.length
    this.#eventsPerPack = Math.max(1, events.length)
    const delivery = deliver().finally(() => {
      this.#budget.give(bytes)
      this.#events -= events.length
      this.#deliveries.delete(delivery)
    })
    this.#deliveries.set(delivery, pack)
  }

  /** Resolves when one of them has ended; never, if there is none. */
  one(): Promise<void> {
    return Promise.race(this.#deliveries.keys())
  }

  /** Resolves when all of them have ended. */
  async all(): Promise<void> {
    await Promise.all(this.#deliveries.keys())
  }
}
