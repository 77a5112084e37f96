/**
 * Rows of the decision log about deliveries: one for each request to a destination, or two if the service accepted a
 * part of its events; and one for each event that went to the dead letters.
 */
import { BlockWriter } from './blocks/block-writer.js'
import { hashes, oneOf, type RowOf, readRows, text, time, uint, word } from './blocks/row-columns.js'

/**
 * Words that are numbers on the wire. A number is never used for another word.
 *
 * `failed`: the request did not deliver these events. They are sent again, or go to the dead letters.
 */
export const outcomeNumbers = { delivered: 0, failed: 1, dead_lettered: 2 }
export type DeliveryOutcome = keyof typeof outcomeNumbers

/** Texts are empty and numbers 0 if there is no value. */
export const deliveryColumns = {
  accountId: word('account_id'),
  destinationId: word('destination_id'),
  /** When the request was answered, or the dead letter stored. */
  at: time('time'),
  /** From the beginning of the request. */
  tookMs: uint('took_ms', 32, 'narrowed'),
  outcome: oneOf('outcome', outcomeNumbers),
  /** From 1; the highest of the events, if some of them were sent before. */
  attempt: uint('attempt', 32, 'narrowed'),
  /** 1 in one row of each request, so that sums count requests; 0 in the others. */
  requests: uint('requests', 8, 'packed'),
  /** The message in the stream of deliveries that held the first of the events. */
  pack: uint('pack', 64, 'deltas'),
  requestId: text('request_id'),
  /** Kinesis: the shard of the first accepted event. */
  shard: word('shard'),
  /** Kinesis: the sequence number of the first accepted event; Firehose: its record id. */
  receipt: text('receipt'),
  /** AWS's name of the error, or Weir's. */
  errorCode: word('error_code'),
  error: text('error'),
  /** The time of the oldest and of the newest event. */
  eventsFrom: time('events_from'),
  eventsUntil: time('events_until'),
  /** How many: a column of its own, which can be summed without reading the tags. */
  events: uint('events', 32, 'narrowed'),
  /** The tag of each event (`event-tag.ts`). */
  tags: hashes('event_tags'),
}

export type DeliveryRow = RowOf<typeof deliveryColumns>

/** Collects rows. */
export class DeliveryRows extends BlockWriter {
  readonly #columns = Object.entries(this.open(deliveryColumns))

  add(row: DeliveryRow): void {
    for (const [member, column] of this.#columns) column.add(row[member as keyof DeliveryRow] as never)
    this.endRow()
  }
}

/** Throws a `RangeError` for bytes that are no such block. */
export const readDeliveryRows = (bytes: Uint8Array): Generator<DeliveryRow> =>
  readRows(bytes, deliveryColumns)
