/** Reads bad records from the stream of dead letters. */

import { deadLetterStream, deadRecordsSubject } from '../../delivery/wire/names.js'
import { lettersIn, type StoredLetters } from '../../delivery/wire/shared-dead-letters.js'
import { shown } from '../../ground/core/errors.js'
import type { Nats } from '../../ground/nats/nats.js'
import { replay } from '../../ground/nats/stream-replay.js'

const textChars = 120
const messagesAtOnce = 64

export interface DeadLetter {
  /** Sequence of the record's message. */
  readonly message: number | null
  readonly line: number | null
  readonly reason: string
  readonly text: string
}

/** How many bad records there are, and the first of them. */
export async function readDeadRecords(
  nats: Nats,
  max: number,
): Promise<{ readonly count: number; readonly first: readonly DeadLetter[] }> {
  const first: DeadLetter[] = []
  let count = 0
  const stored = nats.stored(deadLetterStream, deadRecordsSubject)
  for await (const { subject, data, headers } of replay(stored, 0, messagesAtOnce)) {
    if (subject !== deadRecordsSubject) continue
    const letters = lettersIn(data, (name) => headers.get(name))
    count += letters.size
    for (let index = 0; index < letters.size && first.length < max; index += 1)
      first.push(shownLetter(letters, index))
  }
  return { count, first }
}

function shownLetter(letters: StoredLetters, index: number): DeadLetter {
  const { origin, data } = letters.at(index)
  const { sequence, line, reason } = origin
  return { message: sequence, line, reason, text: shown(Buffer.from(data).toString(), textChars) }
}
