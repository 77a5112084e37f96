/** Limits of a request with packed events: it holds more events than it may hold records. */
import type { PackedEvent } from '../../wire/packed-event.js'
import type { BatchLimits } from '../kind/sender.js'
import type { Packing, PackingTarget } from './packing.js'

/**
 * Events of a request that are packed. With events of 500 bytes, that is a megabyte: a quarter of what a destination has in
 * flight, so that further requests are made meanwhile. Each costs about as much as 1,000 events in it do.
 */
export const packedEventsMax = 2_000

/** The limits of a request to a kind with the limits `single`: several times as many events, in as many records at most. */
export function limitsOf(single: BatchLimits, packing: Packing, target: PackingTarget): BatchLimits {
  if (packing === 'none') return single
  const { recordBytes, groupOf } = target
  // A group begins a record only when the next event does not fit into the last one. So two neighbours hold more than one
  // full record together: a group needs at most twice the share of its events, and one record more.
  const recordPartOf = (event: PackedEvent): number =>
    groupOf(event) === '' ? (2 * (event.partitionKeyBytes + event.dataBytes)) / recordBytes : 1
  return {
    ...single,
    eventsMax: packedEventsMax,
    packed: { recordsMax: single.eventsMax - 1, recordPartOf },
  }
}
