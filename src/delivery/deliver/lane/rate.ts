/**
 * The number of events, or of requests, per second that a lane may try. There is no limit until the service throttles
 * some. A service that answers for each event is asked for fewer events; one that refuses a request as a whole, for
 * fewer requests. The following says "events" for both.
 *
 * Events are throttled for one of two reasons, which need opposite reactions. Either the stream is at its limit: then
 * fewer tries deliver as much. Or a share of them fails at any rate (one hot shard among many, bursts of another
 * producer, a fault of the endpoint): then fewer tries only deliver less. A single request looks the same in both cases;
 * they differ in what happens when less is tried. So, in rounds of two seconds:
 *
 * - **More is throttled than is known to fail at any rate.** The rate falls to what the service took, or to half if it
 *   took nothing. The next round decides: if the failing share has fallen, too, the stream is limited and the rate
 *   stays; if not, that share is known to fail at any rate from now on, and the rate is restored.
 * - **No more is throttled.** The rate grows, slowly at first and then faster, until it no longer limits anything.
 * - **Every half minute**, one round runs at the accepted rate, in case the known share was misjudged or has become
 *   smaller.
 */
import { monotonicMs } from '../../../ground/core/clock.js'

/** Services count per second, but their seconds do not start with ours. */
const roundMs = 2_000
const flowingMs = 1_000

interface RateBounds {
  /** Fewer tries prove nothing about shares … */
  readonly triesMin: number
  /** … and if they take this long, the tries are few for another reason than this rate. */
  readonly roundMsMax: number
  readonly perSecondMin: number
}

export const eventBounds: RateBounds = { triesMin: 50, roundMsMax: 5_000, perSecondMin: 10 }
export const requestBounds: RateBounds = { triesMin: 8, roundMsMax: 10_000, perSecondMin: 1 }
/** The longest that one request keeps others waiting: the rate may be wrong, and is looked at when one is answered. */
const gateMsMax = 5_000
/** A share has not fallen if this much of the expected difference remains … */
const unchangedFrom = 0.75
/** … and a smaller difference proves nothing. */
const differenceMin = 0.1
const growthMin = 1.1
const growthMax = 4
/** A rate this far above the tried one limits nothing. */
const idleFactor = 4
const lookAgainMs = 30_000
/** The known share falls slowly to the observed one, so that chance does not push it down. */
const smoothing = 0.2
/** One request holds at most this share of a second's events, which spreads them over the second. */
const requestShare = 0.25

/** A round that shows whether fewer tries help. */
interface Trial {
  readonly kind: 'reduced' | 'look'
  readonly rateBefore: number
  readonly shareBefore: number
  /** Events per second that the service accepted before. */
  readonly taken: number
}

export class Rate {
  readonly #bounds: RateBounds
  /** Events per second. */
  #rate = Number.POSITIVE_INFINITY
  #growth = growthMin
  /** The share of events that is known to be throttled at any rate. */
  #ambient = 0
  #trial: Trial | undefined
  #lookedMs = Number.NEGATIVE_INFINITY
  /** Nothing is sent before this time. */
  #gateMs = 0
  #lastTakenMs = Number.NEGATIVE_INFINITY
  #startMs = monotonicMs()
  #tried = 0
  #throttled = 0

  constructor(bounds: RateBounds) {
    this.#bounds = bounds
  }

  /** Did the service accept anything within the last second? */
  get isFlowing(): boolean {
    return monotonicMs() - this.#lastTakenMs < flowingMs
  }

  /** Monotonic. */
  get gateMs(): number {
    return this.#gateMs
  }

  /** How many events a request may hold. */
  get eventsMax(): number {
    return Math.max(1, Math.ceil(this.#rate * requestShare))
  }

  /** A request is sent: the next one waits for the time that these events take at the rate. */
  sent(events: number): void {
    if (this.#rate === Number.POSITIVE_INFINITY) return
    const costMs = Math.min(gateMsMax, (events / this.#rate) * 1000)
    this.#gateMs = Math.max(this.#gateMs, monotonicMs()) + costMs
  }

  /** A request was answered. */
  answered(events: number, throttled: number): void {
    if (throttled < events) this.#lastTakenMs = monotonicMs()
    this.#tried += events
    this.#throttled += throttled
    const elapsedMs = monotonicMs() - this.#startMs
    if (elapsedMs < roundMs) return
    if (this.#tried >= this.#bounds.triesMin) this.#endRound(elapsedMs)
    else if (elapsedMs < this.#bounds.roundMsMax) return
    else if (this.#throttled < this.#tried) this.#endScarceRound(elapsedMs)
    this.#startMs = monotonicMs()
    this.#tried = 0
    this.#throttled = 0
  }

  reset(): void {
    this.#free()
    this.#ambient = 0
    this.#trial = undefined
  }

  #endRound(elapsedMs: number): void {
    const tried = (this.#tried / elapsedMs) * 1000
    const share = this.#throttled / this.#tried
    const taken = tried * (1 - share)
    if (this.#trial !== undefined) this.#judge(this.#trial, tried, share)
    else if (share > this.#ambient + this.#margin()) this.#reduce(tried, taken, share)
    else this.#goOn(tried, taken, share)
  }

  /** Something holds the tries below the rate, such as the waits that the service asks for: the rate need not. */
  #endScarceRound(elapsedMs: number): void {
    this.#trial = undefined
    this.#grow((this.#tried / elapsedMs) * 1000)
  }

  /** How much chance may add to a share; smaller differences are ignored. */
  #margin(): number {
    return 0.05 + 1 / Math.sqrt(this.#tried)
  }

  #reduce(tried: number, taken: number, share: number): void {
    this.#trial = { kind: 'reduced', rateBefore: this.#rate, shareBefore: share, taken }
    this.#limit(taken > 0 ? taken / (1 - this.#ambient) : tried / 2)
    this.#growth = growthMin
  }

  #judge(trial: Trial, tried: number, share: number): void {
    this.#trial = undefined
    if (trial.kind === 'look') this.#ambient = Math.min(this.#ambient, share)
    else if (this.#isAmbient(trial, tried, share)) this.#ambient = share
    else return
    this.#limit(trial.rateBefore)
  }

  /** Does the share fail at any rate? No, if there is too little to compare. */
  #isAmbient({ shareBefore, taken }: Trial, tried: number, share: number): boolean {
    const ifLimited = Math.max(this.#ambient, 1 - taken / tried)
    const difference = shareBefore - ifLimited
    const isUnchanged = share >= ifLimited + difference * unchangedFrom
    return isUnchanged && difference >= differenceMin && taken > 0
  }

  #goOn(tried: number, taken: number, share: number): void {
    if (share < this.#ambient) this.#ambient += (share - this.#ambient) * smoothing
    if (this.#ambient > this.#margin() && monotonicMs() - this.#lookedMs > lookAgainMs)
      this.#look(taken, share)
    else this.#grow(tried)
  }

  #look(taken: number, share: number): void {
    this.#lookedMs = monotonicMs()
    this.#trial = { kind: 'look', rateBefore: this.#rate, shareBefore: share, taken }
    this.#limit(taken)
  }

  #grow(tried: number): void {
    this.#limit(this.#rate * this.#growth)
    this.#growth = Math.min(growthMax, this.#growth ** 2)
    if (this.#rate > tried * idleFactor) this.#free()
  }

  #limit(rate: number): void {
    this.#rate = Math.max(this.#bounds.perSecondMin, rate)
    this.#gateMs = Math.min(this.#gateMs, monotonicMs() + roundMs)
  }

  #free(): void {
    this.#rate = Number.POSITIVE_INFINITY
    this.#growth = growthMin
    this.#gateMs = 0
  }
}
