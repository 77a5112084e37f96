/** Units that AWS bills for the accepted records of one destination, in the last hour. */
import { now } from '../core/clock.js'
import type { Usage } from '../wire/delivery-attempts.js'
import type { BillingUnit } from './destination.js'

const slotMs = 5 * 60_000
const slotsKept = 12

interface Slot {
  readonly startMs: number
  events: number
  records: number
  bytes: number
  /** In the order of the kind's units. */
  readonly counts: number[]
  readonly packed: number[]
}

export class UsageCounter {
  readonly #units: readonly BillingUnit[]
  /** The oldest first. */
  #slots: Slot[] = []

  constructor(units: readonly BillingUnit[]) {
    this.#units = units
  }

  /** Accepted records of a request. Returns how many of each unit they take. */
  add(events: number, recordBytes: readonly number[]): readonly number[] {
    const slot = this.#slot()
    const counts = this.#units.map((unit) => {
      let count = 0
      for (const bytes of recordBytes) count += Math.ceil(bytes / unit.bytes)
      return count
    })
    const total = recordBytes.reduce((sum, bytes) => sum + bytes, 0)
    slot.events += events
    slot.records += recordBytes.length
    slot.bytes += total
    for (const [index, unit] of this.#units.entries()) {
      slot.counts[index]! += counts[index]!
      slot.packed[index]! += Math.ceil(total / unit.bytes)
    }
    return counts
  }

  report(): Usage {
    this.#forgetOld()
    const sum = (of: (slot: Slot) => number): number => this.#slots.reduce((all, slot) => all + of(slot), 0)
    return {
      sinceMs: this.#slots[0]?.startMs ?? now(),
      events: sum(({ events }) => events),
      records: sum(({ records }) => records),
      bytes: sum(({ bytes }) => bytes),
      units: Object.fromEntries(
        this.#units.map(({ name }, index) => [
          name,
          { count: sum(({ counts }) => counts[index]!), packed: sum(({ packed }) => packed[index]!) },
        ]),
      ),
    }
  }

  #slot(): Slot {
    const last = this.#slots.at(-1)
    if (last !== undefined && now() - last.startMs < slotMs) return last
    const zeros = (): number[] => this.#units.map(() => 0)
    const slot = { startMs: now(), events: 0, records: 0, bytes: 0, counts: zeros(), packed: zeros() }
    this.#slots.push(slot)
    this.#forgetOld()
    return slot
  }

  #forgetOld(): void {
    const sinceMs = now() - slotMs * slotsKept
    while (this.#slots.length > 0 && this.#slots[0]!.startMs < sinceMs) this.#slots.shift()
  }
}
