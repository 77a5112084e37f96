/**
 * Warns of dead letters some hours before they are removed for their age: a log line, and an operator event to each
 * account whose letters they are.
 *
 * Time is cut into windows of the length of the warning. The letters that were stored in a window are announced
 * together, once the window's beginning is only a warning's length from removal: so each letter is announced in time,
 * and an account with a steady stream of letters is not notified of every one. Nothing needs to be remembered: every process
 * finds the same windows, and the event of a window is stored once.
 */

import { warningMs } from '../../delivery/deliver/expiry.js'
import type { DeadLetterType } from '../../delivery/wire/dead-letter.js'
import { deadLetterStream, deadLetterSubjects } from '../../delivery/wire/names.js'
import { announce } from '../../delivery/wire/operator-events.js'
import { every, isoMillis, now, type Timer, yieldTurn } from '../../ground/core/clock.js'
import { messageOf } from '../../ground/core/errors.js'
import { getOrMake } from '../../ground/core/maps.js'
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import type { Nats } from '../../ground/nats/nats.js'
import { replay } from '../../ground/nats/stream-replay.js'
import { ageMaxMsOf, streamIdentity } from '../../ground/nats/streams.js'
import { operatorEventJson } from '../../words/event/operator-event.js'
import type { Links } from '../../words/resource/kind/define.js'
import type { View } from '../../words/view/view.js'
import { queryText } from '../exchange/query-values.js'
import { type OwnerOf, ownersIn } from '../insight/dead-letter-owner.js'
import { deadLettersPath } from './dead-letter-queries.js'
import { type LetterStream, lettersOfMessage, lettersPerTurn } from './letters-of-message.js'

interface ExpiringDeadLettersOptions {
  readonly nats: Pick<Nats, 'stored' | 'streamInfo' | 'lastMessage' | 'publishAfter'>
  readonly view: Pick<View, 'state' | 'isComplete'>
  readonly links: Pick<Links, 'uri'>
  readonly retentionMs: number
  readonly occurrences: Pick<Occurrences, 'deadLettersExpiring' | 'deadLettersUnwatched'>
}

const lookEveryMs = 60_000
/** Messages read at once, of up to 1 MiB each. */
const messagesAtOnce = 16

/** The letters of one account in one window. */
interface Tally {
  readonly counts: Record<DeadLetterType, number>
  readonly firstMs: number
  lastMs: number
}

export class ExpiringDeadLetters {
  readonly #options: ExpiringDeadLettersOptions
  readonly #ownerOf: OwnerOf
  readonly #windowMs: number
  readonly #timer: Timer
  /** Windows before this one were announced by this process. */
  #nextWindow = 0

  constructor(options: ExpiringDeadLettersOptions) {
    this.#options = options
    this.#ownerOf = ownersIn(options.view)
    this.#windowMs = warningMs(options.retentionMs)
    this.#timer = every(lookEveryMs, () => this.#look())
    void this.#look()
  }

  async #look(): Promise<void> {
    try {
      await this.lookAt(now())
    } catch (error) {
      this.#options.occurrences.deadLettersUnwatched({ reason: messageOf(error) })
    }
  }

  /** Announces all that is to be announced at a time. */
  async lookAt(nowMs: number): Promise<void> {
    const { nats, view, retentionMs } = this.#options
    // A window is announced once, to the owners that are known then.
    if (!view.isComplete) return
    const info = await nats.streamInfo(deadLetterStream)
    if (info === undefined || info.state.messages === 0) return
    const stream = { since: streamIdentity(info), ageMaxMs: ageMaxMsOf(info) }
    const due = this.#windowOf(nowMs - retentionMs + this.#windowMs)
    const oldest = this.#windowOf(Date.parse(info.state.first_ts))
    for (let window = Math.max(oldest, this.#nextWindow); window <= due; window += 1) {
      await this.#announce(window, stream, nowMs)
      this.#nextWindow = window + 1
    }
  }

  #windowOf(ms: number): number {
    return Math.floor(ms / this.#windowMs)
  }

  async #announce(window: number, stream: LetterStream, nowMs: number): Promise<void> {
    const { occurrences, retentionMs } = this.#options
    const announced: Tally[] = []
    for (const [accountId, tally] of await this.#tallies(window, stream))
      if (await this.#isNew(accountId, tally, window, nowMs)) announced.push(tally)
    if (announced.length === 0) return
    const letters = announced.reduce((sum, { counts }) => sum + total(counts), 0)
    const firstMs = Math.min(...announced.map((tally) => tally.firstMs))
    occurrences.deadLettersExpiring({ letters, first_removed_at: isoMillis(firstMs + retentionMs) }, letters)
  }

  /** By account; letters that belong to none are under `undefined`. */
  async #tallies(window: number, stream: LetterStream): Promise<Map<string | undefined, Tally>> {
    const tallies = new Map<string | undefined, Tally>()
    const { nats } = this.#options
    const stored = nats.stored(deadLetterStream, deadLetterSubjects)
    for await (const message of replay(stored, window * this.#windowMs, messagesAtOnce)) {
      const { storedAtMs } = message
      if (this.#windowOf(storedAtMs) > window) break
      const letters = await lettersOfMessage(nats, message, stream)
      for (let at = 0; letters !== undefined && at < letters.size; at += 1) {
        if (at % lettersPerTurn === lettersPerTurn - 1) await yieldTurn()
        const letter = letters.letterAt(at, this.#ownerOf)
        if (letter === undefined) continue
        const tally = getOrMake(tallies, letter.owner, () => emptyTally(storedAtMs))
        tally.counts[letter.type] += 1
        tally.lastMs = storedAtMs
      }
    }
    return tallies
  }

  /** Announces the letters to their account. Resolves with whether no process has announced them before. */
  async #isNew(accountId: string | undefined, tally: Tally, window: number, nowMs: number): Promise<boolean> {
    // Only the operator sees letters without an account.
    if (accountId === undefined) return true
    const { nats, links, retentionMs } = this.#options
    const { counts, firstMs, lastMs } = tally
    const query = queryText({ since: isoMillis(firstMs), until: isoMillis(lastMs + 1) })
    const json = operatorEventJson({
      kind: 'dead_letters_expiring.v0',
      accountId,
      identity: [String(window * this.#windowMs)],
      at: nowMs,
      object: {
        count: total(counts),
        counts,
        first_removed_at: isoMillis(firstMs + retentionMs),
        last_removed_at: isoMillis(lastMs + retentionMs),
        uri: links.uri(`${deadLettersPath}?${query}`),
      },
    })
    return announce(nats, {
      accountId,
      topic: 'dead_letters',
      position: window * this.#windowMs,
      at: nowMs,
      json,
    })
  }

  close(): void {
    this.#timer.stop()
  }
}

const emptyTally = (atMs: number): Tally => ({
  counts: { record: 0, event: 0, audit: 0 },
  firstMs: atMs,
  lastMs: atMs,
})

const total = ({ record, event, audit }: Readonly<Record<DeadLetterType, number>>): number =>
  record + event + audit
