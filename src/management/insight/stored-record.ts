/** The record behind a row of the decision log, from its stream. */

import { parseMessage, parseRecord } from '../../delivery/record/record.js'
import { recordBytes } from '../../delivery/record/record-encoding.js'
import type { TrafficRecord } from '../../delivery/record/traffic-record.js'
import type { DecisionRow } from '../../delivery/wire/decision-rows.js'
import { type History, historyOf } from '../../delivery/wire/names.js'
import { partitionNumbered } from '../../delivery/wire/partitions.js'
import { within } from '../../ground/core/clock.js'
import { unavailable } from '../../ground/core/errors.js'
import type { StoredMessage } from '../../ground/nats/messages.js'
import type { Nats } from '../../ground/nats/nats.js'

const readTimeoutMs = 3_000

export const recordGone =
  'The record is no longer stored: it was removed after the retention, or to make room for newer ones.'

interface StoredRecord {
  readonly record: TrafficRecord
  readonly line: Buffer
  /** Set if it is a record of the past. */
  readonly history: History | undefined
}

/** Undefined if it is not stored. After the stream was recreated, another message may have this sequence. */
export async function storedRecord(
  nats: Pick<Nats, 'messageAt'>,
  row: DecisionRow,
): Promise<StoredRecord | undefined> {
  const stream = partitionNumbered(row.partition)?.recordsStream
  if (stream === undefined) return undefined
  const reading = nats.messageAt(stream, row.sequence)
  const message = await within(readTimeoutMs, reading, 'The record was not read in time.').catch((error) => {
    throw unavailable('The record was not read: NATS does not answer.', error)
  })
  return message?.storedAtMs === row.at ? recordIn(message, row) : undefined
}

async function recordIn(
  message: StoredMessage,
  { line, recordId }: DecisionRow,
): Promise<StoredRecord | undefined> {
  const decoded = await recordBytes(message)
  const bytes = decoded.ok && parseMessage(decoded.value).find(({ number }) => number === line)?.bytes
  const parsed = bytes ? parseRecord(bytes) : undefined
  if (!parsed?.ok || parsed.value.record_id !== recordId) return undefined
  return { record: parsed.value, line: bytes as Buffer, history: historyOf(message.headers) }
}
