/**
 * How much of what the service allows a request holds. An endpoint may take less than its limits say: a proxy with a
 * bound of its own, say. When a request was refused though no event of it is refused alone, requests become smaller;
 * they grow back slowly, so that a bound that stays costs few searches.
 */
import type { BatchLimits } from './destination.js'

/** Of what a request may hold. */
const shareMin = 1 / 512
/** A request that is accepted adds one part in a thousand: after a halving, 700 of them restore the size. */
const growth = 1.001

export class RequestSize {
  #share = 1

  of(limits: BatchLimits): BatchLimits {
    if (this.#share === 1) return limits
    return {
      ...limits,
      eventsMax: Math.max(1, Math.floor(limits.eventsMax * this.#share)),
      requestBytesMax: Math.max(1, Math.floor(limits.requestBytesMax * this.#share)),
    }
  }

  shrink(): void {
    this.#share = Math.max(shareMin, this.#share / 2)
  }

  grow(): void {
    this.#share = Math.min(1, this.#share * growth)
  }

  reset(): void {
    this.#share = 1
  }
}
