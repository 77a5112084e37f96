/**
 * Turns the events of a request into records of a service that bills by the record.
 *
 * - `none`: a record is an event.
 * - `ndjson`: a record holds several events, a line each, up to the bytes that the kind aims at. A larger event has a
 *   record of its own.
 *
 * Everything else of delivery counts events: a sender maps the result of a record back to the events in it.
 */
import type { PackedEvent } from '../../wire/packed-event.js'
import type { ServiceRecord } from '../kind/sender.js'

export const packings = ['none', 'ndjson'] as const
export type Packing = (typeof packings)[number]

export interface PackingTarget {
  /** Bytes of a full record, its partition key included. */
  readonly recordBytes: number
  /** Events with different groups never share a record; those of one group keep their order. */
  readonly groupOf: (event: PackedEvent) => string
}

/** A record while events are added. */
interface OpenRecord extends ServiceRecord {
  readonly indices: number[]
  dataBytes: number
}

/** A record for each event, or for several of them. */
export const recordsOf = (
  events: readonly PackedEvent[],
  packing: Packing,
  target: PackingTarget,
): readonly ServiceRecord[] => (packing === 'none' ? events : pack(events, target))

function pack(
  events: readonly PackedEvent[],
  { recordBytes, groupOf }: PackingTarget,
): readonly ServiceRecord[] {
  const records: OpenRecord[] = []
  /** The record of each group that takes further events. */
  const filling = new Map<string, OpenRecord>()
  for (const [index, event] of events.entries()) {
    const group = groupOf(event)
    const record = filling.get(group)
    const { dataBytes } = event
    if (record !== undefined && record.partitionKeyBytes + record.dataBytes + dataBytes <= recordBytes) {
      record.indices.push(index)
      record.dataBytes += dataBytes
      continue
    }
    const begun = { partitionKeyBytes: event.partitionKeyBytes, dataBytes, indices: [index] }
    records.push(begun)
    filling.set(group, begun)
  }
  return records
}
