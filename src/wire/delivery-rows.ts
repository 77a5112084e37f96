/**
 * Rows of the decision log about deliveries: one for each request to a destination, or two if the service accepted a
 * part of its events; and one for each event that went to the dead letters.
 */
import { RowReader, type RowWriter, wordsByNumber } from './rows.js'

/**
 * Words that are numbers on the wire. A number is never used for another word.
 *
 * `failed`: the request did not deliver these events. They are sent again, or go to the dead letters.
 */
export const outcomeNumbers = { delivered: 0, failed: 1, dead_lettered: 2 }
export type DeliveryOutcome = keyof typeof outcomeNumbers

/** Texts are empty and numbers 0 where there is no value. */
export interface DeliveryRow {
  readonly accountId: string
  readonly destinationId: string
  /** When the request was answered, or the dead letter stored: milliseconds since the epoch. */
  readonly at: number
  /** From the beginning of the request. */
  readonly tookMs: number
  readonly outcome: DeliveryOutcome
  /** From 1; the highest of the events, if some of them were sent before. */
  readonly attempt: number
  /** 1 in one row of each request, so that sums count requests; 0 in the others. */
  readonly requests: number
  /** The message in the stream of deliveries that held the first of the events. */
  readonly pack: number
  readonly requestId: string
  /** Kinesis: the shard of the first accepted event. */
  readonly shard: string
  /** Kinesis: the sequence number of the first accepted event; Firehose: its record id. */
  readonly receipt: string
  /** AWS's name of the error, or Weir's. */
  readonly errorCode: string
  readonly error: string
  /** The time of the oldest and of the newest event. */
  readonly eventsFrom: number
  readonly eventsUntil: number
  /** The tag of each event (`event-tag.ts`). */
  readonly tags: readonly number[]
}

const outcomes = wordsByNumber(outcomeNumbers)

export function writeDeliveryRow(writer: RowWriter, row: DeliveryRow): void {
  writer.text(row.accountId)
  writer.text(row.destinationId)
  writer.uint64(row.at)
  writer.uint32(row.tookMs)
  writer.uint8(outcomeNumbers[row.outcome])
  writer.uint32(row.attempt)
  writer.uint8(row.requests)
  writer.uint64(row.pack)
  writer.text(row.requestId)
  writer.text(row.shard)
  writer.text(row.receipt)
  writer.text(row.errorCode)
  writer.text(row.error)
  writer.uint64(row.eventsFrom)
  writer.uint64(row.eventsUntil)
  writer.uint32(row.tags.length)
  writer.uint32s(row.tags)
  writer.end()
}

/** Throws a `RangeError` for bytes that are cut off. */
export function* readDeliveryRows(bytes: Uint8Array): Generator<DeliveryRow> {
  const reader = new RowReader(bytes)
  while (!reader.isAtEnd) {
    const row = {
      accountId: reader.text(),
      destinationId: reader.text(),
      at: reader.uint64(),
      tookMs: reader.uint32(),
      outcome: outcomes.get(reader.uint8())!,
      attempt: reader.uint32(),
      requests: reader.uint8(),
      pack: reader.uint64(),
      requestId: reader.text(),
      shard: reader.text(),
      receipt: reader.text(),
      errorCode: reader.text(),
      error: reader.text(),
      eventsFrom: reader.uint64(),
      eventsUntil: reader.uint64(),
    }
    // How many there are is a column of its own, which can be summed without reading the tags.
    reader.uint32()
    yield { ...row, tags: reader.uint32s() }
  }
}
