import { monotonicMs } from '../../ground/core/clock.js'

/** Work of this time counts as recent. */
const recentMs = 1_000

/** Which part of the time was spent on work lately; older work counts less and less. */
export class RecentWork {
  readonly #nowMs: () => number
  #ms = 0
  #atMs = 0

  constructor(nowMs: () => number = monotonicMs) {
    this.#nowMs = nowMs
  }

  get share(): number {
    return this.#decayedTo(this.#nowMs()) / recentMs
  }

  /** Did none end in the last second? */
  get isOver(): boolean {
    return this.#nowMs() - this.#atMs >= recentMs
  }

  /** Work that began then and ends now. */
  addSince(begunMs: number): void {
    const atMs = this.#nowMs()
    this.#ms = this.#decayedTo(atMs) + atMs - begunMs
    this.#atMs = atMs
  }

  #decayedTo(atMs: number): number {
    return this.#ms * Math.exp((this.#atMs - atMs) / recentMs)
  }
}
