/**
 * Decisions as they happen, for those who watch. Rows come from the pipelines' messages to the decision log, to which
 * this process listens only while someone watches; for accounts whose decisions are not logged, pipelines are asked to
 * publish them. A watcher sees only its own account. Nothing waits for a slow one: lines are left out, and counted for it.
 */
import { every, type Timer } from '../core/clock.js'
import { messageOf, WeirError } from '../core/errors.js'
import { watchedLinesPerSecondMax, watchersMax, watchersPerAccountMax } from '../core/limits.js'
import type { Occurrences } from '../core/occurrences.js'
import type { Nats } from '../nats/nats.js'
import type { LoggedDecision } from '../resource/logged-decision.js'
import { readDecisionRows } from '../wire/decision-rows.js'
import { decisionRowsSubject, watchedRowsSubject, watchedSubject } from '../wire/names.js'
import { shownDecision } from './shown-decision.js'

/** What a watcher was sent of the last second, and what it was not. */
export interface WatchRate {
  /** Decisions that it asked for. */
  readonly seen: number
  readonly sent: number
  /** Not sent, because it reads too slowly. */
  readonly lost: number
}

export interface WatcherOptions {
  readonly accountId: string
  readonly wants: (line: LoggedDecision) => boolean
  /** False if the reader is too slow to take it. */
  readonly send: (line: LoggedDecision) => boolean
  /** Once a second. */
  readonly rate: (rate: WatchRate) => void
  /** The API stops. */
  readonly ended: () => void
}

class Watcher {
  readonly options: WatcherOptions
  #seen = 0
  #sent = 0
  #lost = 0
  /** Every so many lines one is sent: as the rate of the last second asks for. */
  #stride = 1

  constructor(options: WatcherOptions) {
    this.options = options
  }

  offer(line: LoggedDecision): void {
    if (!this.options.wants(line)) return
    this.#seen += 1
    if (this.#seen % this.#stride !== 0 || this.#sent + this.#lost >= watchedLinesPerSecondMax) return
    if (this.options.send(line)) this.#sent += 1
    else this.#lost += 1
  }

  endSecond(): void {
    this.options.rate({ seen: this.#seen, sent: this.#sent, lost: this.#lost })
    this.#stride = Math.max(1, Math.ceil(this.#seen / watchedLinesPerSecondMax))
    this.#seen = 0
    this.#sent = 0
    this.#lost = 0
  }
}

interface LiveOptions {
  readonly nats: Pick<Nats, 'subscribe' | 'emit'>
  readonly occurrences: Pick<Occurrences, 'watchersUnheard' | 'watchedRowsMalformed'>
}

const secondMs = 1_000
const sayWatchedEverySeconds = 2

export class LiveDecisions {
  readonly #options: LiveOptions
  readonly #watchers = new Map<string, Set<Watcher>>()
  #count = 0
  #stopListening: (() => void) | undefined

  constructor(options: LiveOptions) {
    this.#options = options
  }

  /** Throws a `WeirError` if there are too many watchers; the result ends the watching. */
  watch(options: WatcherOptions): () => void {
    const { accountId } = options
    const others = this.#watchers.get(accountId) ?? new Set()
    if (others.size >= watchersPerAccountMax || this.#count >= watchersMax) {
      throw new WeirError('ERR_RATE_LIMIT', 'Too many clients watch decisions already: end one of them.', {
        retryAfterSeconds: 10,
      })
    }
    const watcher = new Watcher(options)
    this.#watchers.set(accountId, others.add(watcher))
    this.#count += 1
    this.#stopListening ??= this.#listen()
    this.#sayWatched()
    return () => this.#end(accountId, watcher)
  }

  #end(accountId: string, watcher: Watcher): void {
    const watchers = this.#watchers.get(accountId)
    if (watchers?.delete(watcher) !== true) return
    if (watchers.size === 0) this.#watchers.delete(accountId)
    this.#count -= 1
    if (this.#count > 0) return
    this.#stopListening?.()
    this.#stopListening = undefined
  }

  #listen(): () => void {
    const { nats, occurrences } = this.#options
    const refused = (error: Error): void => occurrences.watchersUnheard({ reason: messageOf(error) })
    const subscriptions = [decisionRowsSubject, watchedRowsSubject].map((subject) =>
      nats.subscribe(subject, (data) => this.#receive(data), refused),
    )
    let seconds = 0
    const timer: Timer = every(secondMs, () => {
      seconds += 1
      if (seconds % sayWatchedEverySeconds === 0) this.#sayWatched()
      for (const watchers of this.#watchers.values()) for (const watcher of watchers) watcher.endSecond()
    })
    return () => {
      timer.stop()
      for (const subscription of subscriptions) subscription.close()
    }
  }

  #sayWatched(): void {
    this.#options.nats.emit(watchedSubject, JSON.stringify({ accounts: [...this.#watchers.keys()] }))
  }

  /** A message that holds no rows must not end this process. */
  #receive(data: Uint8Array): void {
    try {
      this.#offer(data)
    } catch (error) {
      this.#options.occurrences.watchedRowsMalformed({ reason: messageOf(error) })
    }
  }

  #offer(data: Uint8Array): void {
    for (const row of readDecisionRows(data)) {
      const watchers = this.#watchers.get(row.accountId)
      if (watchers === undefined) continue
      const line = shownDecision(row)
      for (const watcher of watchers) watcher.offer(line)
    }
  }

  close(): void {
    for (const watchers of [...this.#watchers.values()])
      for (const { options } of [...watchers]) options.ended()
  }
}
