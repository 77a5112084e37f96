/**
 * Ids of traffic events: the same record gives the same ids again, so that consumers can drop repeats.
 *
 * An id is `ev_`, a hash of the record's id, and a hash of what the event is for: account, kind, subscription, and for
 * `log.v0` the policy and which of its actions. The first hash is computed once per
 * record, the second once per subscription. Ids of events of one record begin alike.
 */
import { hash } from 'node:crypto'
import { JsonBytes } from '../core/json-bytes.js'

export const eventIdPrefix = 'ev_'
/** 128 bits, for no two records must ever share it. */
const recordDigits = 32
/** 64 bits: a record has a handful of events. */
const purposeDigits = 16

/** Parts of ids share a buffer. */
const parts = new JsonBytes(16 * 1024)

/** The part of an event's id that all events of the record share, in ASCII. */
export function recordPart(recordId: string): Uint8Array {
  parts.ascii(hash('sha256', recordId, 'hex'), recordDigits)
  return parts.take()
}

/** The part that differs between the events of a record. */
export const purposePart = (...purpose: readonly (string | number)[]): string =>
  hash('sha256', JSON.stringify(purpose), 'hex').slice(0, purposeDigits)
