/**
 * The pace of a lane: requests at once, events and requests per second, events per request, the wait before the next
 * request, and whether the lane only probes. Its times are monotonic: a clock that is set must neither stop a destination
 * nor hurry it.
 */
import { monotonicMs, randomFraction } from '../../../ground/core/clock.js'
import { isAnswer } from '../../outgoing/faults.js'
import { throttledIn } from '../kind/outcomes.js'
import type { BatchLimits, SendOutcome } from '../kind/sender.js'
import { type Backoff, backoffMs, ceilingMs } from './backoff.js'
import { eventBounds, Rate, requestBounds } from './rate.js'
import { isPassing } from './refused-request.js'
import { RefusedSize } from './refused-size.js'

export interface PaceSettings {
  /** Requests under way at once. */
  readonly concurrencyMax: number
  /** The interval between probes is between these two. */
  readonly probeMinMs: number
  readonly probeMaxMs: number
}

/** A request under way. */
interface SentRequest {
  readonly events: number
  readonly isProbe: boolean
  /** Sent alone, after a wait: if it is refused all the same, it may be too large. */
  readonly isAlone: boolean
}

/** After failures, the number of requests at once grows by one per this time. */
const climbMs = 1_000
const holdMs = 200
/** The longest wait that a service may ask for: a header must not stop a destination for a day. */
const retryAfterMaxMs = 10 * 60_000

export class Pace {
  readonly #events = new Rate(eventBounds)
  readonly #requests = new Rate(requestBounds)
  readonly #size = new RefusedSize()
  readonly #settings: PaceSettings
  #concurrency: number
  #climbedMs = Number.NEGATIVE_INFINITY
  #failuresInARow = 0
  /** Nothing is sent before this time … */
  #gateMs = 0
  /** … nor before this one, which the service asked for, even if it accepts other requests meanwhile. */
  #askedMs = 0
  /** The next wait is left out. */
  #isHurried = false
  /** Was the last request that failed refused, for a time, and maybe for the number of its events? */
  #mayBeTooMany = false
  #lastSentMs = Number.NEGATIVE_INFINITY
  #probing = false
  #halted = false

  constructor(settings: PaceSettings) {
    this.#settings = settings
    this.#concurrency = settings.concurrencyMax
  }

  get probing(): boolean {
    return this.#probing
  }

  get halted(): boolean {
    return this.#halted
  }

  /**
   * How many requests may be under way now, and the time until the next one may be sent. Both come from one reading of
   * the clock: if time passed between them, a lane could see neither a free request nor a time to wait for.
   */
  allowance(): { readonly concurrency: number; readonly waitMs: number } {
    if (this.#halted) return { concurrency: 0, waitMs: 0 }
    const waitMs = this.waitMs()
    if (waitMs > 0) return { concurrency: 0, waitMs }
    // One request, until one is accepted after a failure.
    return { concurrency: this.#probing || this.#failuresInARow > 0 ? 1 : this.#concurrency, waitMs }
  }

  /** Time until the next request may be sent. */
  waitMs(): number {
    const rateGateMs = this.#probing ? 0 : Math.max(this.#events.gateMs, this.#requests.gateMs)
    return Math.max(0, Math.ceil(Math.max(this.#gateMs, this.#askedMs, rateGateMs) - monotonicMs()))
  }

  /** The limits of the next request, within those of the service. */
  limits(limits: BatchLimits): BatchLimits {
    // A service that takes events in bulk counts requests: smaller ones would be as many, with less in each.
    if (limits.wholePacks || limits.lingerMs !== undefined) return limits
    const eventsMax = Math.min(limits.eventsMax, this.#events.eventsMax, this.#size.eventsMax)
    return { ...limits, eventsMax: this.#probing ? 1 : eventsMax }
  }

  /** A request with so many events begins; the result is for `answered`. */
  sent(events: number): SentRequest {
    this.#lastSentMs = monotonicMs()
    this.#events.sent(events)
    this.#requests.sent(1)
    return { events, isProbe: this.#probing, isAlone: this.#failuresInARow > 0 && !this.#probing }
  }

  /** A service that refuses a whole request may count requests or events: only trying shows which. */
  answered({ events, isProbe, isAlone }: SentRequest, outcome: SendOutcome): void {
    const throttled = throttledIn(outcome, events)
    const isThrottled = outcome.outcome === 'failed' && throttled > 0
    this.#requests.answered(1, isThrottled ? 1 : 0)
    if (!isThrottled) this.#events.answered(events, throttled)
    if (outcome.outcome === 'failed') {
      const { fault } = outcome
      this.#mayBeTooMany = isPassing(fault) && isAnswer(fault)
      // A smaller request is another question: its backoff begins at the beginning.
      if (this.#mayBeTooMany && isAlone && this.#size.refused(events)) this.#failuresInARow = 1
    } else if (isProbe && this.#mayBeTooMany) this.#size.startSmall()
    else this.#size.accepted(events)
  }

  /** A request was accepted. */
  flow(): void {
    this.#probing = false
    this.#gateMs = 0
    this.#isHurried = false
    this.#failuresInARow = 0
    if (monotonicMs() - this.#climbedMs < climbMs) return
    this.#climbedMs = monotonicMs()
    this.#concurrency = Math.min(this.#settings.concurrencyMax, this.#concurrency + 1)
  }

  /** Halves the number of requests at once, or reduces it to one. */
  slowDown(toOne: boolean): void {
    this.#concurrency = toOne ? 1 : Math.max(1, Math.floor(this.#concurrency / 2))
    this.#climbedMs = monotonicMs()
  }

  /**
   * A whole request failed and will be sent again, not before the time that the service asked for; false if not now: it
   * halted, the backoff has reached its cap, or the service asked for as long a time.
   */
  backOff(backoff: Backoff, retryAfterMs = 0): boolean {
    this.#failuresInARow += 1
    const longestMs = Math.max(ceilingMs(backoff, this.#failuresInARow), retryAfterMs)
    if (this.#halted || this.#probing || longestMs >= backoff.capMs) return false
    this.#waitUntil(monotonicMs() + backoffMs(backoff, this.#failuresInARow, randomFraction()), retryAfterMs)
    return true
  }

  /** All of a request was throttled. A short wait is enough if others are accepted; false if they are not. */
  hold(): boolean {
    if (this.#probing || !this.#events.isFlowing) return false
    this.#gateMs = monotonicMs() + holdMs * randomFraction()
    return true
  }

  /** The interval is between the beginnings of probes, because a request without an answer takes long to fail. */
  probe(retryAfterMs = 0): void {
    const { probeMinMs, probeMaxMs } = this.#settings
    this.#probing = true
    const intervalMs = probeMinMs + randomFraction() * (probeMaxMs - probeMinMs)
    this.#waitUntil(this.#lastSentMs + intervalMs, retryAfterMs)
  }

  #waitUntil(ms: number, retryAfterMs: number): void {
    this.#gateMs = this.#isHurried ? 0 : ms
    const askedMs = retryAfterMs === 0 ? 0 : monotonicMs() + Math.min(retryAfterMs, retryAfterMaxMs)
    this.#askedMs = this.#isHurried ? 0 : Math.max(this.#askedMs, askedMs)
    this.#isHurried = false
  }

  /** Ends the present wait; `again`: also the one after the request that is under way. */
  hurry(again: boolean): void {
    this.#gateMs = 0
    this.#askedMs = 0
    this.#isHurried = again
  }

  /** No request until `resume`. */
  halt(): void {
    this.#halted = true
  }

  /** Ends a halt, and tries at once. */
  resume(): void {
    this.#halted = false
    this.#askedMs = 0
    this.flow()
  }

  /** Resets for another target: nothing that was learned about the old one applies. */
  reset(): void {
    this.#askedMs = 0
    this.flow()
    this.#events.reset()
    this.#requests.reset()
    this.#size.reset()
    this.#concurrency = this.#settings.concurrencyMax
  }
}
