/**
 * Rows of the decision log about deliveries: one for each request to a destination, or two if the service accepted a
 * part of its events; and one for each event that went to the dead letters.
 */
import { BlockReader } from './block-reader.js'
import { BlockWriter } from './block-writer.js'
import { wordsByNumber } from './words.js'

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

/** Collects rows. */
export class DeliveryRows extends BlockWriter {
  readonly #accountId = this.word('account_id')
  readonly #destinationId = this.word('destination_id')
  readonly #at = this.time('time')
  readonly #tookMs = this.number('took_ms')
  readonly #outcome = this.number('outcome')
  readonly #attempt = this.number('attempt')
  readonly #requests = this.number('requests')
  readonly #pack = this.number('pack')
  readonly #requestId = this.text('request_id')
  readonly #shard = this.word('shard')
  readonly #receipt = this.text('receipt')
  readonly #errorCode = this.word('error_code')
  readonly #error = this.text('error')
  readonly #eventsFrom = this.time('events_from')
  readonly #eventsUntil = this.time('events_until')
  /** A column of its own, which can be summed without reading the tags. */
  readonly #events = this.number('events')
  readonly #tags = this.uint32s('event_tags')

  add(row: DeliveryRow): void {
    this.#accountId.add(row.accountId)
    this.#destinationId.add(row.destinationId)
    this.#at.add(row.at)
    this.#tookMs.add(row.tookMs)
    this.#outcome.add(outcomeNumbers[row.outcome])
    this.#attempt.add(row.attempt)
    this.#requests.add(row.requests)
    this.#pack.add(row.pack)
    this.#requestId.add(row.requestId)
    this.#shard.add(row.shard)
    this.#receipt.add(row.receipt)
    this.#errorCode.add(row.errorCode)
    this.#error.add(row.error)
    this.#eventsFrom.add(row.eventsFrom)
    this.#eventsUntil.add(row.eventsUntil)
    this.#events.add(row.tags.length)
    this.#tags.add(row.tags)
    this.endRow()
  }
}

const columnsCount = 17

/** Throws a `RangeError` for bytes that are no such block. */
export function* readDeliveryRows(bytes: Uint8Array): Generator<DeliveryRow> {
  const block = new BlockReader(bytes, columnsCount)
  const valuesOf = valuesIn(block)
  block.end()
  for (let row = 0; row < block.rows; row += 1) yield valuesOf(row)
}

function valuesIn(block: BlockReader): (row: number) => DeliveryRow {
  const accountId = block.word('account_id')
  const destinationId = block.word('destination_id')
  const at = block.time('time')
  const tookMs = block.number('took_ms')
  const outcome = block.number('outcome')
  const attempt = block.number('attempt')
  const requests = block.number('requests')
  const pack = block.number('pack')
  const requestId = block.text('request_id')
  const shard = block.word('shard')
  const receipt = block.text('receipt')
  const errorCode = block.word('error_code')
  const error = block.text('error')
  const eventsFrom = block.time('events_from')
  const eventsUntil = block.time('events_until')
  block.number('events')
  const tags = block.uint32s('event_tags')
  return (row) => ({
    accountId: accountId(row),
    destinationId: destinationId(row),
    at: at(row),
    tookMs: tookMs(row),
    outcome: outcomes.get(outcome(row))!,
    attempt: attempt(row),
    requests: requests(row),
    pack: pack(row),
    requestId: requestId(row),
    shard: shard(row),
    receipt: receipt(row),
    errorCode: errorCode(row),
    error: error(row),
    eventsFrom: eventsFrom(row),
    eventsUntil: eventsUntil(row),
    tags: tags(row),
  })
}
