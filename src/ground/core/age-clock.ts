/**
 * The time of day for judging how old something is that must not be lost too early. A clock that is set wrong, or set right,
 * makes everything look hours older at once; only the time that has passed in this process shows that it is not.
 *
 * So a **jump** is seen by comparing the time of day with the time that has passed. After one, both clocks count for as long
 * as anything may carry a time of the clock before it: `now` is the earlier of the two. Nothing then looks older than it is.
 */
import { every, monotonicMs, now, type Timer } from './clock.js'

/** A clock that is corrected gradually drifts by less between two looks. */
const jumpMsMin = 5_000
const lookEveryMs = 10_000

interface AgeClockOptions {
  /** Anything older is too old in any case: an earlier clock counts for so long after a jump. */
  readonly holdMs: number
  /** `byMs`: how far the time of day jumped; negative: back. */
  readonly jumped: (byMs: number) => void
  readonly wall?: () => number
  readonly monotonic?: () => number
}

/** A clock as it was: the time of day less the time that had passed. */
interface Former {
  readonly offsetMs: number
  /** Monotonic. */
  readonly untilMs: number
}

export class AgeClock {
  readonly #options: Required<AgeClockOptions>
  readonly #timer: Timer
  #offsetMs: number
  #former: readonly Former[] = []

  constructor(options: AgeClockOptions) {
    this.#options = { wall: now, monotonic: monotonicMs, ...options }
    this.#offsetMs = this.#options.wall() - this.#options.monotonic()
    this.#timer = every(lookEveryMs, () => this.now())
  }

  /** Milliseconds since the epoch: the earliest time that it may be. */
  now(): number {
    const { wall, monotonic, holdMs, jumped } = this.#options
    const passedMs = monotonic()
    const offsetMs = wall() - passedMs
    const byMs = offsetMs - this.#offsetMs
    if (Math.abs(byMs) >= jumpMsMin) {
      this.#former = [...this.#former, { offsetMs: this.#offsetMs, untilMs: passedMs + holdMs }]
      jumped(byMs)
    }
    this.#offsetMs = offsetMs
    if (this.#former.length > 0) this.#former = counting(this.#former, passedMs, offsetMs)
    return passedMs + Math.min(offsetMs, ...this.#former.map((each) => each.offsetMs))
  }

  close(): void {
    this.#timer.stop()
  }
}

/** Those that still count: of a clock that jumps back and forth, the earliest ones. */
const counting = (former: readonly Former[], passedMs: number, offsetMs: number): readonly Former[] =>
  former
    .filter((each) => each.untilMs > passedMs && each.offsetMs < offsetMs)
    .toSorted((a, b) => a.offsetMs - b.offsetMs)
    .slice(0, formerMax)

const formerMax = 16
