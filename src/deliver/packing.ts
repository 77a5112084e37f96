/**
 * Turns the events of a request into records of a service that bills by the record.
 *
 * - `none`: a record is an event.
 * - `ndjson`: a record holds several events, a line each, up to the bytes that the kind aims at. A larger event has a
 *   record of its own.
 *
 * Everything else of delivery counts events: a sender maps the result of a record back to the events in it.
 */
import type { PackedEvent } from '../wire/pack.js'

export const packings = ['none', 'ndjson'] as const
export type Packing = (typeof packings)[number]

export interface ServiceRecord {
  /** Its data. */
  readonly base64: string
  readonly dataBytes: number
  readonly partitionKey: string
  readonly partitionKeyBytes: number
  /** Indices of its events in the request, ascending; undefined if the record at an index is the event at that index. */
  readonly indices?: readonly number[]
}

export interface PackingTarget {
  /** Bytes of a full record, its partition key included. */
  readonly recordBytes: number
  /** Events with different groups never share a record; those of one group keep their order. */
  readonly groupOf: (event: PackedEvent) => string
}

/** What is known of a record while events are added. */
interface OpenRecord {
  readonly partitionKey: string
  readonly partitionKeyBytes: number
  readonly indices: number[]
  byteLength: number
}

/** A record for each event, or for several of them. */
export const recordsOf = (
  events: readonly PackedEvent[],
  packing: Packing,
  target: PackingTarget,
): readonly ServiceRecord[] => (packing === 'none' ? events : pack(events, target))

function pack(events: readonly PackedEvent[], { recordBytes, groupOf }: PackingTarget): ServiceRecord[] {
  const records: OpenRecord[] = []
  /** The record of each group that takes further events. */
  const filling = new Map<string, OpenRecord>()
  for (const [index, event] of events.entries()) {
    const group = groupOf(event)
    const record = filling.get(group)
    const { dataBytes } = event
    if (record !== undefined && record.byteLength + dataBytes <= recordBytes) {
      record.indices.push(index)
      record.byteLength += dataBytes
      continue
    }
    const { partitionKey, partitionKeyBytes } = event
    const byteLength = partitionKeyBytes + dataBytes
    const begun = { partitionKey, partitionKeyBytes, indices: [index], byteLength }
    records.push(begun)
    filling.set(group, begun)
  }
  return records.map(({ byteLength, indices, ...key }) => ({
    ...key,
    indices,
    base64: lines(events, indices).toString('base64'),
    dataBytes: byteLength - key.partitionKeyBytes,
  }))
}

/** Each event ends with a line feed, so the lines are the events' bytes one after the other. */
function lines(events: readonly PackedEvent[], indices: readonly number[]): Buffer {
  if (indices.length === 1) return events[indices[0]!]!.data
  return Buffer.concat(indices.map((index) => events[index]!.data))
}
