/** Reads bad records from the stream of dead letters. */
import { shown } from '../core/errors.js'
import type { Nats } from '../nats/nats.js'
import { deadLetterStream, deadRecordsSubject } from '../wire/names.js'

const textChars = 120

export interface DeadLetter {
  /** Sequence of the record's message. */
  readonly message: string
  readonly line: string
  readonly reason: string
  readonly text: string
}

/** Counts records and events. */
export const countDeadLetters = async (nats: Nats): Promise<number> =>
  (await nats.streamInfo(deadLetterStream))?.state.messages ?? 0

export async function firstDeadLetters(nats: Nats, max: number): Promise<DeadLetter[]> {
  const letters: DeadLetter[] = []
  for (let sequence = 1; letters.length < max; ) {
    const kept = await nats.nextMessage(deadLetterStream, deadRecordsSubject, sequence)
    if (kept === undefined) break
    const header = (name: string) => kept.headers.get(`Weir-${name}`)
    letters.push({
      message: header('Sequence'),
      line: header('Line'),
      reason: header('Reason'),
      text: shown(Buffer.from(kept.data).toString(), textChars),
    })
    sequence = kept.sequence + 1
  }
  return letters
}
