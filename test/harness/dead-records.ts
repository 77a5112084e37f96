/** Reads the records that were set aside. */
import { deadLetterStream, deadRecordsSubject } from '../../src/delivery/wire/names.js'
import { lettersIn, type StoredLetters } from '../../src/delivery/wire/shared-dead-letters.js'
import type { Nats } from '../../src/ground/nats/nats.js'
import { replay } from '../../src/ground/nats/stream-replay.js'

const messagesAtOnce = 64

/** The letters of each stored message. */
export async function deadRecords(nats: Nats): Promise<StoredLetters[]> {
  const found: StoredLetters[] = []
  const stored = nats.stored(deadLetterStream, deadRecordsSubject)
  for await (const { subject, data, headers } of replay(stored, 0, messagesAtOnce))
    if (subject === deadRecordsSubject) found.push(lettersIn(data, (name) => headers.get(name)))
  return found
}

export const lettersOf = (stored: readonly StoredLetters[]): number =>
  stored.reduce((sum, { size }) => sum + size, 0)
