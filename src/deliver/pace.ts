/**
 * How fast a lane may go: how many requests at once, what has to be waited for before the next, and whether it
 * only probes. Success speeds up bit by bit, throttling and failures halve.
 */
import { now, randomFraction } from '../core/clock.js'
import { type Backoff, backoffMs, ceilingMs } from './backoff.js'

export interface PaceSettings {
  /** Requests under way at once. */
  readonly concurrencyMax: number
  /** A probing lane tries after a time between these two. */
  readonly probeMinMs: number
  readonly probeMaxMs: number
}

export class Pace {
  readonly #settings: PaceSettings
  /** May be fractional: success adds to it bit by bit. */
  #concurrency: number
  #failuresInARow = 0
  /** Nothing is sent before. */
  #gateMs = 0
  #probing = false

  constructor(settings: PaceSettings) {
    this.#settings = settings
    this.#concurrency = settings.concurrencyMax
  }

  get probing(): boolean {
    return this.#probing
  }

  /** How many requests may be under way now; one at a time while it is not known whether any is accepted. */
  get concurrency(): number {
    if (this.waitMs() > 0) return 0
    return this.#probing || this.#failuresInARow > 0 ? 1 : Math.floor(this.#concurrency)
  }

  /** Time to go until anything may be sent. */
  waitMs(): number {
    return Math.max(0, Math.ceil(this.#gateMs - now()))
  }

  /** A request was accepted. */
  flow(): void {
    this.#probing = false
    this.#gateMs = 0
    this.#failuresInARow = 0
  }

  speedUp(): void {
    this.#concurrency = Math.min(this.#settings.concurrencyMax, this.#concurrency + 1 / this.#concurrency)
  }

  slowDown(): void {
    this.#concurrency = Math.max(1, this.#concurrency / 2)
  }

  /** A whole request failed and is to be sent again; false where that has gone on to the backoff's cap. */
  backOff(backoff: Backoff): boolean {
    this.slowDown()
    this.#failuresInARow += 1
    if (this.#probing || ceilingMs(backoff, this.#failuresInARow) >= backoff.capMs) return false
    this.#gateMs = now() + backoffMs(backoff, this.#failuresInARow, randomFraction())
    return true
  }

  probe(): void {
    const { probeMinMs, probeMaxMs } = this.#settings
    this.#probing = true
    this.#gateMs = now() + probeMinMs + randomFraction() * (probeMaxMs - probeMinMs)
  }

  /** Another target: what was learned of the old one says nothing. */
  reset(): void {
    this.flow()
    this.#concurrency = this.#settings.concurrencyMax
  }
}
