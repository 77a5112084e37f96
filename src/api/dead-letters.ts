/**
 * Reads the dead letters of an account. All accounts share the stream, and a letter says only in its bytes whose it is:
 * a search reads the stream backwards, within bounds, and reports how far it came. Every letter that leaves this file
 * was compared with the account.
 */
import { monotonicMs, within } from '../core/clock.js'
import { Turns } from '../core/concurrency.js'
import { unavailable } from '../core/errors.js'
import { hash128 } from '../core/ids.js'
import type { StoredMessage } from '../nats/messages.js'
import type { Nats } from '../nats/nats.js'
import { replayBackward } from '../nats/replay-backward.js'
import { streamIdentity } from '../nats/streams.js'
import {
  type DeadLetterOrigin,
  type DeadLetterType,
  deadLetterTypeOf,
  originIn,
} from '../wire/dead-letter.js'
import { deadLetterStream, deadLetterSubjects } from '../wire/names.js'
import { type AccountOf, accountOfLetter } from './dead-letter-owner.js'

export interface DeadLettersOptions {
  readonly nats: Pick<Nats, 'stored' | 'messageAt' | 'streamInfo'>
  readonly accountOf: AccountOf
}

/** A dead letter of an account. */
export interface Letter {
  readonly id: string
  readonly type: DeadLetterType
  readonly origin: DeadLetterOrigin
  readonly sequence: number
  /** The run of the stream's sequences. */
  readonly since: string
  readonly storedAtMs: number
  readonly data: Uint8Array
}

/** Which letters are wanted. */
export interface LetterSearch {
  readonly type?: DeadLetterType | undefined
  readonly destinationId?: string | undefined
  readonly isReason?: ((reason: string) => boolean) | undefined
  readonly sinceMs?: number | undefined
  readonly untilMs?: number | undefined
  /** Only letters before this sequence of the stream. */
  readonly before?: number | undefined
}

/** How far a search came: the position and the time of the oldest letter that it looked at; undefined if it saw all. */
type SearchEnd = { readonly before: number; readonly atMs: number } | undefined

const readTimeoutMs = 5_000

/** A search ends after this many bytes or milliseconds, other accounts' letters included. */
const searchBytesMax = 64 * 1024 * 1024
const searchMsMax = 2_000
/** Letters read at once, of up to 1 MiB each. */
const lettersAtOnce = 16
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

  /** Undefined if the account has no such letter. Read from the stream's leader: a removed letter is missing at once. */
  async get(accountId: string, id: string): Promise<Letter | undefined> {
    const sequence = sequenceIn(id)
    if (sequence === undefined) return undefined
    const message = await this.#answered(this.#options.nats.messageAt(deadLetterStream, sequence))
    if (message === undefined) return undefined
    const letter = this.#letterIn(message, await this.#since(), accountId)
    return letter?.id === id ? letter : undefined
  }

  /** Calls back with each letter that is found, newest first, until `isEnough` or a bound. */
  search(accountId: string, wanted: LetterSearch, isEnough: (letter: Letter) => boolean): Promise<SearchEnd> {
    return searches.take(() => this.#search(accountId, wanted, isEnough))
  }

  async #search(
    accountId: string,
    wanted: LetterSearch,
    isEnough: (letter: Letter) => boolean,
  ): Promise<SearchEnd> {
    const since = await this.#since()
    const stream = this.#options.nats.stored(deadLetterStream, deadLetterSubjects)
    const start = { sequence: wanted.before, ms: wanted.untilMs }
    const endMs = monotonicMs() + searchMsMax
    let bytes = 0
    const messages = replayBackward(stream, start, lettersAtOnce)
    for (;;) {
      const { done, value: message } = await this.#answered(messages.next())
      if (done || message.storedAtMs < (wanted.sinceMs ?? 0)) return undefined
      bytes += message.data.length
      const letter = this.#letterIn(message, since, accountId)
      const isEnd = letter !== undefined && isWanted(letter, wanted) && isEnough(letter)
      if (isEnd || bytes > searchBytesMax || monotonicMs() > endMs)
        return { before: message.sequence, atMs: message.storedAtMs }
    }
  }

  #letterIn(message: StoredMessage, since: string, accountId: string): Letter | undefined {
    const { sequence, storedAtMs, data, headers } = message
    const type = deadLetterTypeOf(message.subject)
    const origin = originIn((name) => headers.get(name))
    if (type === undefined || accountOfLetter(origin, data, this.#options.accountOf) !== accountId)
      return undefined
    return { id: letterId(since, sequence, storedAtMs), type, origin, sequence, since, storedAtMs, data }
  }

  async #since(): Promise<string> {
    const info = await this.#answered(this.#options.nats.streamInfo(deadLetterStream))
    if (info === undefined) throw unavailable('The stream of dead letters is missing.')
    return streamIdentity(info)
  }

  #answered<T>(reading: Promise<T>): Promise<T> {
    return within(readTimeoutMs, reading, 'The dead letters were not read in time.').catch((error) => {
      throw unavailable('NATS does not answer, and it has the dead letters.', error)
    })
  }
}

const isWanted = ({ type, origin }: Letter, wanted: LetterSearch): boolean =>
  (wanted.type === undefined || wanted.type === type) &&
  (wanted.destinationId === undefined || wanted.destinationId === origin.destinationId) &&
  (wanted.isReason === undefined || wanted.isReason(origin.reason))

const hashDigits = 12
const idForm = /^dl_[0-9a-f]{12}(\d{1,15})$/

/** Names one letter, also after its stream was recreated or restored and its sequence belongs to another one. */
function letterId(since: string, sequence: number, storedAtMs: number): string {
  const hash = Buffer.from(hash128(since, String(sequence), String(storedAtMs)), 'base64url').toString('hex')
  return `dl_${hash.slice(0, hashDigits)}${sequence}`
}

/** The id of a place in the list where no letter of the account needs to be. */
export const positionId = (sequence: number): string => `dl_${'0'.repeat(hashDigits)}${sequence}`

/** Undefined for a text that is no id of a dead letter. */
export function sequenceIn(id: string): number | undefined {
  const sequence = Number(idForm.exec(id)?.[1] ?? 0)
  return sequence === 0 ? undefined : sequence
}
