/** A bad record as it goes to the dead letters: its original bytes, and where they came from. */
import { recordsStream } from '../ingest/streams.js'
import { type DeadLetter, deadLetter } from './dead-letter.js'
import type { BadRecord } from './process-record.js'

export const deadRecord = (
  { bytes, line, reason }: BadRecord,
  sequence: number,
  payloadBytesMax: number,
): DeadLetter =>
  deadLetter(
    bytes,
    {
      'Weir-Reason': reason,
      'Weir-Stream': recordsStream,
      'Weir-Sequence': String(sequence),
      'Weir-Line': String(line),
    },
    payloadBytesMax,
  )
