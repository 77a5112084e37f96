/**
 * A pause that someone asked for. Nothing is fetched from then on. Packs that were begun get a short time to be
 * finished, so that none of their events is sent twice; then the lane halts.
 */
import { after, type Timer } from '../../../ground/core/clock.js'
import { type LaneStatus, pausedByHand } from './health.js'
import type { Lane } from './lane.js'

/** A pause takes effect within two seconds, the time in which the configuration arrives included. */
const finishWithinMs = 1_000

export class HandPause {
  readonly #lane: Pick<Lane, 'finish' | 'halt' | 'resume'>
  #since: string | undefined
  #timer: Timer | undefined

  constructor(lane: Pick<Lane, 'finish' | 'halt' | 'resume'>) {
    this.#lane = lane
  }

  get isOn(): boolean {
    return this.#since !== undefined
  }

  /** `since`: when it was paused; undefined: it is not. */
  change(since: string | undefined): void {
    const wasOn = this.isOn
    this.#since = since
    if (this.isOn === wasOn) return
    this.#timer?.stop()
    if (this.isOn) this.#begin()
    else this.#lane.resume()
  }

  #begin(): void {
    this.#lane.finish()
    this.#timer = after(finishWithinMs, () => this.#lane.halt())
  }

  /** The status of the lane, or that it is paused. */
  over(status: LaneStatus): LaneStatus {
    if (this.#since === undefined) return status
    return { ...status, state: 'paused', cause: pausedByHand, since: this.#since }
  }

  close(): void {
    this.#timer?.stop()
  }
}
