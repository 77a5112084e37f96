/** The record behind a row of the decision log, from its stream. */
import { within } from '../core/clock.js'
import { unavailable } from '../core/errors.js'
import type { Nats } from '../nats/nats.js'
import { parseMessage, parseRecord } from '../record/record.js'
import type { TrafficRecord } from '../record/traffic-record.js'
import type { DecisionRow } from '../wire/decision-rows.js'
import { recordsStream } from '../wire/names.js'

const readTimeoutMs = 3_000

export const recordGone =
  'The record is no longer stored: it was removed after the retention, or to make room for newer ones.'

/** Undefined if it is not stored. After the stream was recreated, another message may have this sequence. */
export async function storedRecord(
  nats: Pick<Nats, 'messageAt'>,
  row: DecisionRow,
): Promise<{ record: TrafficRecord; line: Buffer } | undefined> {
  const reading = nats.messageAt(recordsStream, row.sequence)
  const message = await within(readTimeoutMs, reading, 'The record was not read in time.').catch((error) => {
    throw unavailable('The record was not read: NATS does not answer.', error)
  })
  if (message?.storedAtMs !== row.at) return undefined
  const line = parseMessage(message.data).find(({ number }) => number === row.line)?.bytes
  const parsed = line && parseRecord(line)
  if (!parsed?.ok || parsed.value.record_id !== row.recordId) return undefined
  return { record: parsed.value, line: line! }
}
