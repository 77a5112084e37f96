/** A bad record as it goes to the dead letters: its original bytes, and where they came from. */

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
