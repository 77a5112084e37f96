/**
 * Decisions, deliveries and dead letters as they happen, for those who watch. Decisions come from the pipelines' messages
 * to the decision log; those that are not logged, and deliveries, are published on request. A watcher sees only its own
 * account.
 */

import type { DeadLetterOrigin, DeadLetterType } from '../../delivery/wire/dead-letter.js'
import { readDecisionRows } from '../../delivery/wire/decision-rows.js'
import {
  auditInStream,
  deadAuditsSubject,
  deadEventsSubject,
  deadLetterHeaders,
  deadRecordsSubject,
  decisionRowsSubject,
  watchedDeliveriesSubject,
  watchedRowsSubject,
  watchedSubject,
} from '../../delivery/wire/names.js'
import { lettersIn, type StoredLetter } from '../../delivery/wire/shared-dead-letters.js'
import { readWatchedDelivery, type WatchedIds } from '../../delivery/wire/watched.js'
import { every, isoMillis, now, type Timer } from '../../ground/core/clock.js'
import { WeirError } from '../../ground/core/errors.js'
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import type { Nats } from '../../ground/nats/nats.js'
import type { LoggedDecision } from '../../words/shape/decisions/logged-decision.js'
import type { LiveDeadLetter, LiveDelivery } from '../../words/shape/live.js'
import type { OwnerOf } from './dead-letter-owner.js'
import { type HeaderOf, LiveFeed, type OfferedLine, type WatcherOptions } from './live-feed.js'
import { shownDecision } from './shown-decision.js'

/** Watchers of one account, and of one API process. */
export const watchersPerAccountMax = 10
const watchersMax = 100

interface LiveOptions {
  readonly nats: Pick<Nats, 'subscribe' | 'emit'>
  readonly occurrences: Pick<Occurrences, 'watchersUnheard' | 'watchedRowsMalformed'>
  readonly ownerOf: OwnerOf
}

const secondMs = 1_000
const sayWatchedEverySeconds = 2

export class Live {
  readonly #nats: LiveOptions['nats']
  /** By account. */
  readonly #decisions: LiveFeed<LoggedDecision>
  /** By destination. */
  readonly #deliveries: LiveFeed<LiveDelivery>
  /** By account. */
  readonly #deadLetters: LiveFeed<LiveDeadLetter>
  /** The number of watchers of each account. */
  readonly #watchers = new Map<string, number>()
  #count = 0
  #timer: Timer | undefined

  constructor(options: LiveOptions) {
    this.#nats = options.nats
    const subjects = [decisionRowsSubject, watchedRowsSubject]
    this.#decisions = new LiveFeed({ ...options, subjects, read: decisionsIn })
    this.#deliveries = new LiveFeed({ ...options, subjects: [watchedDeliveriesSubject], read: deliveriesIn })
    const dead = [deadEventsSubject, deadRecordsSubject, deadAuditsSubject]
    this.#deadLetters = new LiveFeed({ ...options, subjects: dead, read: deadLettersIn(options.ownerOf) })
  }

  /** Throws a `WeirError` if there are too many watchers; the result ends the watching. */
  watchDecisions(accountId: string, watcher: WatcherOptions<LoggedDecision>): () => void {
    return this.#watch(accountId, () => this.#decisions.watch(accountId, watcher))
  }

  /** The same for a destination of the account. */
  watchDeliveries(
    accountId: string,
    destinationId: string,
    watcher: WatcherOptions<LiveDelivery>,
  ): () => void {
    return this.#watch(accountId, () => this.#deliveries.watch(destinationId, watcher))
  }

  /** The same for dead letters. */
  watchDeadLetters(accountId: string, watcher: WatcherOptions<LiveDeadLetter>): () => void {
    return this.#watch(accountId, () => this.#deadLetters.watch(accountId, watcher))
  }

  #watch(accountId: string, begin: () => () => void): () => void {
    const others = this.#watchers.get(accountId) ?? 0
    if (others >= watchersPerAccountMax || this.#count >= watchersMax) {
      throw new WeirError('ERR_RATE_LIMIT', 'Too many clients watch already: end one of them.', {
        retryAfterSeconds: 10,
      })
    }
    this.#add(accountId, 1)
    const end = begin()
    this.#sayWatched()
    let hasEnded = false
    return () => {
      if (hasEnded) return
      hasEnded = true
      end()
      this.#add(accountId, -1)
    }
  }

  #add(accountId: string, change: 1 | -1): void {
    const watchers = (this.#watchers.get(accountId) ?? 0) + change
    if (watchers === 0) this.#watchers.delete(accountId)
    else this.#watchers.set(accountId, watchers)
    this.#count += change
    if (this.#count > 0) this.#timer ??= this.#countSeconds()
    else {
      this.#timer?.stop()
      this.#timer = undefined
    }
  }

  #countSeconds(): Timer {
    let seconds = 0
    return every(secondMs, () => {
      seconds += 1
      if (seconds % sayWatchedEverySeconds === 0) this.#sayWatched()
      this.#decisions.endSecond()
      this.#deliveries.endSecond()
      this.#deadLetters.endSecond()
    })
  }

  #sayWatched(): void {
    const watched: WatchedIds = { accounts: this.#decisions.keys, destinations: this.#deliveries.keys }
    this.#nats.emit(watchedSubject, JSON.stringify(watched))
  }

  close(): void {
    this.#decisions.close()
    this.#deliveries.close()
    this.#deadLetters.close()
  }
}

function* decisionsIn(
  data: Uint8Array,
  isWatched: (accountId: string) => boolean,
): Generator<OfferedLine<LoggedDecision>> {
  // Records of the past that are loaded are no news.
  for (const row of readDecisionRows(data, isWatched))
    if (row.source !== 'history') yield { key: row.accountId, line: shownDecision(row), weight: row.weight }
}

function* deliveriesIn(
  data: Uint8Array,
  isWatched: (destinationId: string) => boolean,
): Generator<OfferedLine<LiveDelivery>> {
  const { attempt, events } = readWatchedDelivery(data)
  const { destinationId, requestId, errorCode, error } = attempt
  if (!isWatched(destinationId)) return
  const common = {
    at: isoMillis(attempt.at),
    destination_id: destinationId,
    outcome: attempt.outcome,
    attempt: attempt.attempt,
    request_id: requestId || null,
    error: errorCode === '' ? null : { code: errorCode, msg: error },
  }
  for (const json of events) {
    const event = JSON.parse(json)
    const { event_id, event_type, event_timestamp } = event
    const line = { ...common, event_id, event_type, event_timestamp, event }
    yield { key: destinationId, line, weight: attempt.events / events.length }
  }
}

/** Bytes of a dead letter that a watcher is shown. */
const watchedDeadLetterBytesMax = 1_024

/** Dead letters for those who watch. */
const deadLettersIn = (ownerOf: OwnerOf) =>
  function* (
    data: Uint8Array,
    isWatched: (accountId: string) => boolean,
    headerOf: HeaderOf,
  ): Generator<OfferedLine<LiveDeadLetter>> {
    const letters = lettersIn(data, headerOf)
    for (let index = 0; index < letters.size; index += 1) {
      const letter = letters.at(index)
      const owner = ownerOf(letter.origin, letter.data)
      if (owner !== undefined && isWatched(owner))
        yield { key: owner, line: lineOf(letter, headerOf), weight: 1 }
    }
  }

const lineOf = ({ origin, data }: StoredLetter, headerOf: HeaderOf): LiveDeadLetter => ({
  at: isoMillis(now()),
  kind: typeOf(origin, headerOf),
  reason: origin.reason,
  sequence: origin.sequence,
  line: origin.line,
  subject: origin.subject,
  destination_id: origin.destinationId,
  event_id: origin.eventId,
  text: Buffer.from(data.subarray(0, watchedDeadLetterBytesMax)).toString(),
  size: origin.originalSize ?? data.length,
})

/** By its origin: the subject on which a letter arrives is not passed on. */
function typeOf({ destinationId }: DeadLetterOrigin, headerOf: HeaderOf): DeadLetterType {
  if (destinationId !== null) return 'event'
  return headerOf(deadLetterHeaders.stream) === auditInStream ? 'audit' : 'record'
}
