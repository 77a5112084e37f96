/**
 * Ids of traffic events: the same record gives the same ids again, so that consumers can drop repeats.
 *
 * An id is `ev_`, a hash of the record's id, and a hash of what the event is for: account, kind, subscription, and for
 * `log.v0` the policy and which of its actions. The first hash is computed once per
 * record, the second once per subscription. Ids of events of one record begin alike.
 */
import { hash } from 'node:crypto'
import type { JsonBytes } from '../core/text/json-bytes.js'

export const eventIdPrefix = 'ev_'
/** 128 bits, for no two records must ever share it. */
const recordDigits = 32
/** 64 bits: a record has a handful of events. */
const purposeDigits = 16

/** The part of an event's id that all events of the record share, in ASCII. */
export class RecordPart {
  static readonly byteLength = recordDigits
  readonly #recordId: string
  /** Made for the first event: many records have none. */
  #hash: string | undefined

  constructor(recordId: string) {
    this.#recordId = recordId
  }

  write(out: JsonBytes): void {
    this.#hash ??= hash('sha256', this.#recordId, 'hex')
    out.ascii(this.#hash, recordDigits)
  }
}

/** The part that differs between the events of a record. */
export const purposePart = (...purpose: readonly (string | number)[]): string =>
  hash('sha256', JSON.stringify(purpose), 'hex').slice(0, purposeDigits)
