/** The packs of a destination that are being delivered in this process, and how many more it may fetch. */
import { sleep } from '../../ground/core/clock.js'
import type { PackedEvent } from '../wire/packed-event.js'
import type { ByteBudget } from './lane/byte-budget.js'

/** Packs of one destination in flight in one process; and their events, but for those of the last pack. */
const bounds = { packs: 16, events: 8_000 }
/** While requests wait for more events: packs can be small, and come several times a second. */
const collectingBounds = { packs: 512, events: 100_000 }

type PacksBudget = Pick<ByteBudget, 'take' | 'give' | 'isTight'>

export class PacksInFlight {
  readonly #budget: PacksBudget
  readonly #collects: () => boolean
  readonly #deliveries = new Map<Promise<void>, string>()
  /** Each is called when one of them ends. */
  readonly #waiting = new Set<() => void>()
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
    // Lanes that collect must leave room for those that have something to do.
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
      for (const ended of this.#waiting) ended()
    })
    this.#deliveries.set(delivery, pack)
  }

  /**
   * Resolves when one of them has ended, at the signal, or after this time. A pack can be in flight for days, while its
   * destination is probed: whatever waited on its promise would stay in memory until then.
   */
  async one(withinMs: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return
    const wait = new AbortController()
    const end = (): void => wait.abort()
    this.#waiting.add(end)
    signal.addEventListener('abort', end, { once: true })
    await sleep(withinMs, wait.signal)
    this.#waiting.delete(end)
    signal.removeEventListener('abort', end)
  }

  /** Resolves when all of them have ended. */
  async all(): Promise<void> {
    await Promise.all(this.#deliveries.keys())
  }
}
