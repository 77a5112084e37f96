/**
 * Letters that share a stored message are removed one by one, and JetStream removes whole messages only: a small message
 * per shared one names the lines that were sent again or dropped. When no letter is left, both are removed.
 */
import { jsonOf } from '../core/bytes.js'
import { conflict } from '../core/errors.js'
import { getOrMake } from '../core/maps.js'
import type { StoredMessage } from '../nats/messages.js'
import type { Nats } from '../nats/nats.js'
import { deadLetterStream, removedLettersSubject } from '../wire/names.js'
import { SequenceSet } from '../wire/sequence-set.js'

export type RemovedLettersNats = Pick<Nats, 'lastMessage' | 'publishAfter' | 'removeMessages'>

/** A letter, and the message that it is stored in. */
export interface RemovableLetter {
  readonly sequence: number
  /** The id of the stored message. */
  readonly messageId: string
  /** Undefined for a letter that does not share its message. */
  readonly shared?: { readonly line: number; readonly letters: number } | undefined
}

interface RemovedLines {
  readonly lines: SequenceSet
  /** The message that names them; undefined if none was removed. */
  readonly namedIn: number | undefined
}

const patience = { patienceMs: 5_000 }
/** Others remove letters of the same message at the same time. */
const triesMax = 20

/** The lines of a shared message that were removed. */
export async function removedLines(
  nats: Pick<RemovedLettersNats, 'lastMessage'>,
  sequence: number,
  messageId: string,
): Promise<RemovedLines> {
  const named = await nats.lastMessage(deadLetterStream, removedLettersSubject(sequence))
  if (named === undefined) return { lines: new SequenceSet(), namedIn: undefined }
  return { lines: linesIn(named, messageId), namedIn: named.sequence }
}

/** Empty if another message had this sequence when it was written: the stream was restored to an earlier state since. */
function linesIn({ data }: StoredMessage, messageId: string): SequenceSet {
  const { message, lines } = jsonOf<{
    readonly message: string
    readonly lines: readonly (readonly [number, number])[]
  }>(data)
  return new SequenceSet(message === messageId ? lines : [])
}

export async function removeLetters(
  nats: RemovedLettersNats,
  letters: readonly RemovableLetter[],
): Promise<void> {
  const whole: number[] = []
  const shared = new Map<number, RemovableLetter[]>()
  for (const letter of letters)
    if (letter.shared === undefined) whole.push(letter.sequence)
    else getOrMake(shared, letter.sequence, (): RemovableLetter[] => []).push(letter)
  await nats.removeMessages(deadLetterStream, whole, patience)
  for (const ofOne of shared.values()) await removeShared(nats, ofOne)
}

/** All letters are of one message. */
async function removeShared(nats: RemovedLettersNats, letters: readonly RemovableLetter[]): Promise<void> {
  const { sequence, messageId, shared } = letters[0]!
  for (let tries = 0; tries < triesMax; tries += 1) {
    const { lines, namedIn } = await removedLines(nats, sequence, messageId)
    for (const letter of letters) lines.add([letter.shared!.line, letter.shared!.line])
    const named = namedIn === undefined ? [] : [namedIn]
    if (sizeOf(lines) === shared!.letters) {
      // In this order: if the names were removed first, the letters would appear again.
      await nats.removeMessages(deadLetterStream, [sequence], patience)
      return nats.removeMessages(deadLetterStream, named, patience)
    }
    const data = JSON.stringify({ message: messageId, lines: lines.ranges })
    const options = { afterSequence: namedIn ?? 0, ...patience }
    const stored = await nats.publishAfter(removedLettersSubject(sequence), data, options)
    if (stored !== undefined) return nats.removeMessages(deadLetterStream, named, patience)
  }
  throw conflict('Other requests are sending or dropping dead letters of the same message: try again.')
}

const sizeOf = ({ ranges }: SequenceSet): number =>
  ranges.reduce((sum, [first, last]) => sum + last - first + 1, 0)
