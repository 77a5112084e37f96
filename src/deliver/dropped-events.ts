/** What the ledger says of events that were dropped. */
import type { DroppedEvents } from '../books/ledger.js'
import { now } from '../core/clock.js'
import { getOrMake } from '../core/maps.js'
import { kindIn } from '../wire/event-kind.js'
import type { PackedEvent } from '../wire/packed-event.js'
import {
  addToSegments,
  formatSegments,
  parseSegments,
  type Segment,
  sequenceOfEvent,
} from '../wire/segments.js'

/** `dropped` are some of the pack's events, in order, at least one; `segments` is the pack's header. */
export function droppedEvents(
  events: readonly PackedEvent[],
  dropped: readonly PackedEvent[],
  segments: string,
): DroppedEvents {
  const parsed = parseSegments(segments)
  const positions = new Map(events.map((event, position) => [event, position]))
  const kinds = new Map<string, Map<number, number>>()
  let first = Number.POSITIVE_INFINITY
  let last = Number.NEGATIVE_INFINITY
  for (const event of dropped) {
    const counts = getOrMake(kinds, kindIn(event.data.toString()), () => new Map<number, number>())
    const sequence = sequenceOfEvent(parsed, positions.get(event) ?? 0) ?? 0
    counts.set(sequence, (counts.get(sequence) ?? 0) + 1)
    first = Math.min(first, event.timestampMs)
    last = Math.max(last, event.timestampMs)
  }
  return { kinds: [...kinds].map(([kind, counts]) => [kind, textOf(counts)]), first, last, at: now() }
}

function textOf(counts: ReadonlyMap<number, number>): string {
  const segments: Segment[] = []
  for (const [sequence, events] of counts) addToSegments(segments, sequence, 0, events)
  return formatSegments(segments)
}
