/** Packed events for tests. */

import { PackWriter, readPack } from '../../../src/delivery/wire/pack.js'
import type { PackedEvent } from '../../../src/delivery/wire/packed-event.js'

interface EventSpec {
  readonly id: string
  readonly partitionKey?: string
  readonly timestampMs?: number
  /** Makes the event larger. */
  readonly padding?: string
}

const startMs = Date.now()

export const eventJson = ({ id, padding = '' }: EventSpec): string =>
  JSON.stringify({ event_id: id, padding })

export function packOf(specs: readonly EventSpec[]): Uint8Array {
  const writer = new PackWriter()
  for (const spec of specs) {
    writer.append(spec.partitionKey ?? spec.id, spec.timestampMs ?? startMs, eventJson(spec))
  }
  return writer.take()
}

export const eventsOf = (specs: readonly EventSpec[]): readonly PackedEvent[] =>
  readPack(packOf(specs)).events

/** `count` events with the ids `<prefix>0` and up. */
export const someEvents = (
  count: number,
  prefix = 'ev_',
  more: Partial<EventSpec> = {},
): readonly PackedEvent[] =>
  eventsOf(Array.from({ length: count }, (_, index) => ({ ...more, id: `${prefix}${index}` })))
