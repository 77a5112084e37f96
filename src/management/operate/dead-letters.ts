/**
 * Reads the dead letters of an account, or of all for the operator. All accounts share the stream, and a letter says only
 * in its bytes whose it is: a search reads the stream backwards, within bounds, and reports how far it came. Every letter
 * that leaves this file was compared with the account.
 *
 * A stored message holds one letter, or many records of one message (`wire/shared-dead-letters.ts`). The place of a letter
 * is the sequence of its message and, if it shares that, its line.
 */

import { deadLetterStream, deadLetterSubjects } from '../../delivery/wire/names.js'
import { monotonicMs, within, yieldTurn } from '../../ground/core/clock.js'
import { Turns } from '../../ground/core/concurrency.js'
import { unavailable } from '../../ground/core/errors.js'
import type { StoredMessage } from '../../ground/nats/messages.js'
import type { Nats } from '../../ground/nats/nats.js'
import { replayBackward } from '../../ground/nats/stream-replay.js'
import { ageMaxMsOf, streamIdentity } from '../../ground/nats/streams.js'
import type { OwnerOf } from '../insight/dead-letter-owner.js'
import {
  type Letter,
  type LetterPlace,
  type LetterSearch,
  type LetterStream,
  type LettersOfMessage,
  lettersOfMessage,
  lettersPerTurn,
  placeIn,
} from './letters-of-message.js'

export interface DeadLettersOptions {
  readonly nats: Pick<Nats, 'stored' | 'messageAt' | 'lastMessage' | 'streamInfo'>
  readonly ownerOf: OwnerOf
}

/** Selects letters that may be read, by the account that they belong to. */
export type Sight = (owner: string | undefined) => boolean

export const sightOf =
  (accountId: string): Sight =>
  (owner) =>
    owner === accountId

/** The letters that an operator sees. */
export const wholeSight: Sight = () => true

/** The progress of a search: the place and the time of the oldest letter that it looked at; undefined if it saw all. */
type SearchEnd = { readonly before: LetterPlace; readonly atMs: number } | undefined

interface SearchBounds {
  readonly bytesMax: number
  readonly msMax: number
}

const readTimeoutMs = 5_000

/** A search ends after this many bytes or milliseconds, other accounts' letters included. */
const searchBounds: SearchBounds = { bytesMax: 64 * 1024 * 1024, msMax: 2_000 }
/** Messages read at once, of up to 1 MiB each. */
const messagesAtOnce = 16
/** Each search reads thousands of letters a second. */
const searchesAtOnceMax = 2
const searchesWaitingMax = 64

/** Limits concurrent searches of the whole process. */
const searches = new Turns(searchesAtOnceMax, searchesWaitingMax)

export class DeadLetters {
  readonly #options: DeadLettersOptions

  constructor(options: DeadLettersOptions) {
    this.#options = options
  }

  /** Undefined if there is no such letter in sight. Read from the stream's leader: a removed letter is missing at once. */
  async get(sight: Sight, id: string): Promise<Letter | undefined> {
    const place = placeIn(id)
    if (place === undefined) return undefined
    const message = await this.#answered(this.#options.nats.messageAt(deadLetterStream, place.sequence))
    if (message === undefined) return undefined
    const stored = await this.#storedIn(message, await this.#stream())
    const at = stored?.placeBefore((place.line ?? 0) + 1) ?? -1
    const letter = at < 0 ? undefined : stored?.letterAt(at, this.#options.ownerOf)
    return letter?.id === id && sight(letter.owner) ? letter : undefined
  }

  /** Calls back with each letter that is found, newest first, until `isEnough` or a bound. */
  search(
    sight: Sight,
    wanted: LetterSearch,
    isEnough: (letter: Letter) => boolean,
    bounds: SearchBounds = searchBounds,
  ): Promise<SearchEnd> {
    return searches.take(() => this.#search(sight, wanted, isEnough, bounds))
  }

  async #search(
    sight: Sight,
    wanted: LetterSearch,
    isEnough: (letter: Letter) => boolean,
    { bytesMax, msMax }: SearchBounds,
  ): Promise<SearchEnd> {
    const read = await this.#stream()
    const stream = this.#options.nats.stored(deadLetterStream, deadLetterSubjects)
    const { before } = wanted
    // A letter with a line: earlier lines of its message still belong to the page.
    const beforeSequence = before && (before.line === undefined ? before.sequence : before.sequence + 1)
    const endMs = monotonicMs() + msMax
    let bytes = 0
    const messages = replayBackward(stream, { sequence: beforeSequence, ms: wanted.untilMs }, messagesAtOnce)
    for (;;) {
      const { done, value: message } = await this.#answered(messages.next())
      if (done || message.storedAtMs < (wanted.sinceMs ?? 0)) return undefined
      bytes += message.data.length
      const stored = await this.#storedIn(message, read)
      const lineBefore = message.sequence === before?.sequence ? before.line : undefined
      for (let at = stored?.placeBefore(lineBefore) ?? -1; stored !== undefined && at >= 0; at -= 1) {
        const letter = stored.isWanted(at, wanted) ? stored.letterAt(at, this.#options.ownerOf) : undefined
        const isEnd = letter !== undefined && sight(letter.owner) && isEnough(letter)
        if (isEnd || monotonicMs() > endMs) return { before: stored.placeOf(at), atMs: message.storedAtMs }
        if (at % lettersPerTurn === lettersPerTurn - 1) await yieldTurn()
      }
      if (bytes > bytesMax || monotonicMs() > endMs)
        return { before: { sequence: message.sequence }, atMs: message.storedAtMs }
    }
  }

  #storedIn(message: StoredMessage, stream: LetterStream): Promise<LettersOfMessage | undefined> {
    return this.#answered(lettersOfMessage(this.#options.nats, message, stream))
  }

  async #stream(): Promise<LetterStream> {
    const info = await this.#answered(this.#options.nats.streamInfo(deadLetterStream))
    if (info === undefined) throw unavailable('The stream of dead letters is missing.')
    return { since: streamIdentity(info), ageMaxMs: ageMaxMsOf(info) }
  }

  #answered<T>(reading: Promise<T>): Promise<T> {
    return within(readTimeoutMs, reading, 'The dead letters were not read in time.').catch((error) => {
      throw unavailable('The dead letters were not read: NATS does not answer.', error)
    })
  }
}
