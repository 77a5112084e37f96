/**
 * Attempts to deliver to a watched destination, as deliverers publish them: a line of JSON about the attempt, then a
 * line per event, as it was sent. Not all events need be there.
 */
import type { DeliveryRow } from './delivery-rows.js'

export type WatchedAttempt = Pick<
  DeliveryRow,
  | 'accountId'
  | 'destinationId'
  | 'at'
  | 'outcome'
  | 'attempt'
  | 'requestId'
  | 'errorCode'
  | 'error'
  | 'events'
>

interface WatchedDelivery {
  readonly attempt: WatchedAttempt
  /** JSON. */
  readonly events: readonly string[]
}

/** The events end with their line breaks. */
export const writeWatchedDelivery = (attempt: WatchedAttempt, events: readonly Uint8Array[]): Uint8Array =>
  Buffer.concat([Buffer.from(`${JSON.stringify(attempt)}\n`), ...events])

/** Throws for bytes that are none. */
export function readWatchedDelivery(data: Uint8Array): WatchedDelivery {
  const [first = '', ...events] = Buffer.from(data).toString().trimEnd().split('\n')
  return { attempt: JSON.parse(first), events }
}
