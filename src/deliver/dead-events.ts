/** Remembers which events of packs under way were dead-lettered. */
import type { PackedEvent } from '../wire/packed-event.js'
import { parseSegments, sequenceOfEvent } from '../wire/segments.js'

export class DeadEvents {
  readonly #dead = new WeakSet<PackedEvent>()

  add(event: PackedEvent): void {
    this.#dead.add(event)
  }

  /** Counts a pack's dead events per input message that caused them; `segments` is the pack's header. */
  perMessage(events: readonly PackedEvent[], segments: string): [sequence: number, events: number][] {
    if (!events.some((event) => this.#dead.has(event))) return []
    const parsed = parseSegments(segments)
    const counts = new Map<number, number>()
    for (const [position, event] of events.entries()) {
      if (!this.#dead.has(event)) continue
      const sequence = sequenceOfEvent(parsed, position) ?? 0
      counts.set(sequence, (counts.get(sequence) ?? 0) + 1)
    }
    return [...counts]
  }
}
