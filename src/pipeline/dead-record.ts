/** The dead letter of a bad record: its original bytes and their origin. */

import { type DeadLetter, deadLetter } from '../wire/dead-letter.js'
import { deadLetterHeaders, recordsStream } from '../wire/names.js'
import type { BadRecord } from './process-record.js'

export const deadRecord = (
  { bytes, line, reason }: BadRecord,
  sequence: number,
  payloadBytesMax: number,
): DeadLetter =>
  deadLetter(
    bytes,
    {
      [deadLetterHeaders.reason]: reason,
      [deadLetterHeaders.stream]: recordsStream,
      [deadLetterHeaders.sequence]: String(sequence),
      [deadLetterHeaders.line]: String(line),
    },
    payloadBytesMax,
  )
