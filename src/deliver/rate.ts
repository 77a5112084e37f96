/**
 * How many records a second a lane may try. Without limit, until the service throttles some.
 *
 * Records fail as throttled for one of two reasons, which ask for opposite answers. The stream is limited: then fewer
 * tries deliver as much. Or a share of the records fails whatever the rate (one hot shard among many, another
 * producer's bursts, an endpoint's whim): then fewer tries only deliver less. One request looks the same in both
 * cases; they differ in what happens when less is tried. So, round by round of two seconds:
 *
 * - **More is throttled than is known to fail at any rate.** The rate falls to what the service took, or to half if it
 *   took nothing. The next round judges: if the share that fails has fallen, too, the stream is limited and the rate
 *   stays; if not, that share is known from now on to fail at any rate, and the rate is again what it was.
 * - **No more is throttled.** The rate grows, slowly at first and then faster, until it limits nothing any more.
 * - **Every half minute** one round is tried at the rate of what is taken, in case the known share was misjudged, or
 *   has become smaller.
 */
import { now } from '../core/clock.js'

/** Two of the seconds that services count by, whose borders are not ours. */
const roundMs = 2_000
const flowingMs = 1_000
/** Fewer records say nothing about shares … */
const recordsMin = 50
/** … and are no load worth limiting if they take so long to come together. */
const roundMsMax = 5_000
const ratePerSecondMin = 10
/** A share has not fallen if this much is left of the difference that was expected … */
const unchangedFrom = 0.75
/** … and a smaller difference than this shows nothing. */
const differenceMin = 0.1
const growthMin = 1.1
const growthMax = 4
/** A rate this far above what is tried limits nothing. */
const idleFactor = 4
const lookAgainMs = 30_000
/** A share that fails at any rate falls slowly to what is seen, so that chance does not push it down. */
const smoothing = 0.2
/** Of a second's records in one request, so that they are spread over the second. */
const requestShare = 0.25

/** A round that shows whether fewer tries help. */
interface Trial {
  readonly kind: 'reduced' | 'look'
  readonly rateBefore: number
  readonly shareBefore: number
  /** Records a second that the service took before. */
  readonly taken: number
}

export class Rate {
  /** Records a second. */
  #rate = Number.POSITIVE_INFINITY
  #growth = growthMin
  /** Of the records tried: known to be throttled at any rate. */
  #ambient = 0
  #trial: Trial | undefined
  #lookedMs = 0
  /** Nothing is sent before. */
  #gateMs = 0
  #lastTakenMs = Number.NEGATIVE_INFINITY
  #startMs = now()
  #tried = 0
  #throttled = 0

  /** Did the service take anything within the last second? */
  get isFlowing(): boolean {
    return now() - this.#lastTakenMs < flowingMs
  }

  get gateMs(): number {
    return this.#gateMs
  }

  /** How many records a request should hold at most. */
  get recordsMax(): number {
    return Math.max(1, Math.ceil(this.#rate * requestShare))
  }

  /** A request is sent: the next one waits until these records have used up their time. */
  sent(records: number): void {
    if (this.#rate === Number.POSITIVE_INFINITY) return
    this.#gateMs = Math.max(this.#gateMs, now()) + (records / this.#rate) * 1000
  }

  /** A request was answered. */
  answered(records: number, throttled: number): void {
    if (throttled < records) this.#lastTakenMs = now()
    this.#tried += records
    this.#throttled += throttled
    const elapsedMs = now() - this.#startMs
    if (elapsedMs < roundMs) return
    if (this.#tried >= recordsMin) this.#endRound(elapsedMs)
    else if (elapsedMs < roundMsMax) return
    this.#startMs = now()
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

  /** What chance may add to a share, and what is too little to care. */
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

  /** Does the share fail at any rate? Not known, and taken for no, if there is too little to compare. */
  #isAmbient({ shareBefore, taken }: Trial, tried: number, share: number): boolean {
    const ifLimited = Math.max(this.#ambient, 1 - taken / tried)
    const difference = shareBefore - ifLimited
    const isUnchanged = share >= ifLimited + difference * unchangedFrom
    return isUnchanged && difference >= differenceMin && taken > 0
  }

  #goOn(tried: number, taken: number, share: number): void {
    if (share < this.#ambient) this.#ambient += (share - this.#ambient) * smoothing
    if (this.#ambient > this.#margin() && now() - this.#lookedMs > lookAgainMs) this.#look(taken, share)
    else this.#grow(tried)
  }

  #look(taken: number, share: number): void {
    this.#lookedMs = now()
    this.#trial = { kind: 'look', rateBefore: this.#rate, shareBefore: share, taken }
    this.#limit(taken)
  }

  #grow(tried: number): void {
    this.#limit(this.#rate * this.#growth)
    this.#growth = Math.min(growthMax, this.#growth ** 2)
    if (this.#rate > tried * idleFactor) this.#free()
  }

  #limit(rate: number): void {
    this.#rate = Math.max(ratePerSecondMin, rate)
    this.#gateMs = Math.min(this.#gateMs, now() + roundMs)
  }

  #free(): void {
    this.#rate = Number.POSITIVE_INFINITY
    this.#growth = growthMin
    this.#gateMs = 0
  }
}
