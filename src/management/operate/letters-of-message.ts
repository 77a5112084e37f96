/**
 * The letters of a stored message: one, or many records of one message of records (`wire/shared-dead-letters.ts`) without
 * those that were sent again or dropped. The place of a letter is the sequence of its message and, if it shares that, its
 * line.
 */

import {
  type DeadLetterOrigin,
  type DeadLetterType,
  deadLetterTypeOf,
} from '../../delivery/wire/dead-letter.js'
import { deadLetterStream, removedLettersSubject } from '../../delivery/wire/names.js'
import { SequenceSet } from '../../delivery/wire/sequence-set.js'
import { lettersIn, type StoredLetters } from '../../delivery/wire/shared-dead-letters.js'
import { jsonOf } from '../../ground/core/bytes.js'
import { conflict } from '../../ground/core/errors.js'
import { hash128 } from '../../ground/core/ids.js'
import { getOrMake } from '../../ground/core/maps.js'
import type { StoredMessage } from '../../ground/nats/messages.js'
import type { Nats } from '../../ground/nats/nats.js'
import type { OwnerOf } from '../insight/dead-letter-owner.js'

export type RemovedLettersNats = Pick<Nats, 'lastMessage' | 'publishAfter' | 'removeMessages'>

/** A letter, and the message that it is stored in. */
interface RemovableLetter {
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
async function removedLines(
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

/**
 * Letters that share a stored message are removed one by one, and JetStream removes whole messages only: a small message
 * per shared one names the lines that were sent again or dropped. When no letter is left, both are removed.
 */
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

/** Letters of a message that are looked at before others get their turn. */
export const lettersPerTurn = 500

/** A dead letter. */
export interface Letter extends RemovableLetter {
  readonly id: string
  readonly type: DeadLetterType
  readonly origin: DeadLetterOrigin
  /** Undefined if it belongs to no account. */
  readonly owner: string | undefined
  /** The run of the stream's sequences. */
  readonly since: string
  readonly storedAtMs: number
  /** When it is removed for its age; undefined if it is not. */
  readonly expiresAtMs: number | undefined
  readonly data: Uint8Array
}

/** The stream that the letters are read from. */
export interface LetterStream {
  /** The run of its sequences. */
  readonly since: string
  /** It removes older letters; undefined if it removes none for their age. */
  readonly ageMaxMs: number | undefined
}

/** A place in the list. */
export interface LetterPlace {
  readonly sequence: number
  /** Undefined: before all lines of the message. */
  readonly line?: number | undefined
}

/** The wanted letters. */
export interface LetterSearch {
  readonly type?: DeadLetterType | undefined
  readonly destinationId?: string | undefined
  readonly isReason?: ((reason: string) => boolean) | undefined
  readonly sinceMs?: number | undefined
  readonly untilMs?: number | undefined
  /** Only letters before this place of the stream. */
  readonly before?: LetterPlace | undefined
}

/** Undefined for a message that holds no letters: it names removed ones. */
export async function lettersOfMessage(
  nats: Pick<RemovedLettersNats, 'lastMessage'>,
  message: StoredMessage,
  { since, ageMaxMs }: LetterStream,
): Promise<LettersOfMessage | undefined> {
  const type = deadLetterTypeOf(message.subject)
  if (type === undefined) return undefined
  const { sequence, storedAtMs, data, headers } = message
  const letters = lettersIn(data, (name) => headers.get(name))
  const id = letterId(since, sequence, storedAtMs)
  const removed = letters.areShared ? (await removedLines(nats, sequence, id)).lines : undefined
  return new LettersOfMessage({ id, type, since, ageMaxMs, sequence, storedAtMs, letters, removed })
}

interface MessageOfLetters extends LetterStream {
  readonly id: string
  readonly type: DeadLetterType
  readonly sequence: number
  readonly storedAtMs: number
  readonly letters: StoredLetters
  /** Lines of removed letters; undefined for a letter that has the message alone. */
  readonly removed: SequenceSet | undefined
}

export class LettersOfMessage {
  readonly #message: MessageOfLetters

  constructor(message: MessageOfLetters) {
    this.#message = message
  }

  get size(): number {
    return this.#message.letters.size
  }

  /** The last letter before a line; -1 if there is none. */
  placeBefore(line: number | undefined): number {
    const { letters } = this.#message
    let end = letters.size
    if (line === undefined || !letters.areShared) return end - 1
    let start = 0
    while (start < end) {
      const middle = (start + end) >>> 1
      if (letters.lineAt(middle) < line) start = middle + 1
      else end = middle
    }
    return end - 1
  }

  placeOf(at: number): LetterPlace {
    const { sequence, letters } = this.#message
    return letters.areShared ? { sequence, line: letters.lineAt(at) } : { sequence }
  }

  isWanted(at: number, wanted: LetterSearch): boolean {
    const { type, letters } = this.#message
    if (wanted.type !== undefined && wanted.type !== type) return false
    if (wanted.isReason?.(letters.reasonAt(at)) === false) return false
    return wanted.destinationId === undefined || wanted.destinationId === letters.at(at).origin.destinationId
  }

  /** Undefined if it was removed. */
  letterAt(at: number, ownerOf: OwnerOf): Letter | undefined {
    const { id, type, since, ageMaxMs, sequence, storedAtMs, letters, removed } = this.#message
    const line = removed === undefined ? undefined : letters.lineAt(at)
    if (line !== undefined && removed?.has(line) === true) return undefined
    const { origin, data } = letters.at(at)
    return {
      id: line === undefined ? id : `${id}-${line}`,
      messageId: id,
      type,
      origin,
      owner: ownerOf(origin, data),
      sequence,
      shared: line === undefined ? undefined : { line, letters: letters.size },
      since,
      storedAtMs,
      expiresAtMs: ageMaxMs === undefined ? undefined : storedAtMs + ageMaxMs,
      data,
    }
  }
}

const hashDigits = 12
/** With the line of a letter that shares its message. */
const idForm = /^dl_[0-9a-f]{12}(\d{1,15})(?:-(\d{1,9}))?$/

/** Names a message, also after its stream was recreated or restored and its sequence belongs to another one. */
function letterId(since: string, sequence: number, storedAtMs: number): string {
  const hash = Buffer.from(hash128(since, String(sequence), String(storedAtMs)), 'base64url').toString('hex')
  return `dl_${hash.slice(0, hashDigits)}${sequence}`
}

/** The id of a place in the list where no letter of the account needs to be. */
export const placeId = ({ sequence, line }: LetterPlace): string =>
  `dl_${'0'.repeat(hashDigits)}${sequence}${line === undefined ? '' : `-${line}`}`

/** Undefined for a text that is no id of a dead letter. */
export function placeIn(id: string): LetterPlace | undefined {
  const [, sequence, line] = idForm.exec(id) ?? []
  if (sequence === undefined || Number(sequence) === 0) return undefined
  return { sequence: Number(sequence), line: line === undefined ? undefined : Number(line) }
}
