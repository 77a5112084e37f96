/**
 * The share of the service's limits that a request uses. An endpoint may accept less than documented, for instance behind
 * a proxy with its own limit. If a request is refused but none of its events is refused alone, requests become smaller.
 * They grow back slowly, so that a lasting limit costs few searches.
 */
import type { BatchLimits } from '../destination.js'

/** The smallest share. */
const shareMin = 1 / 512
/** Each accepted request adds one part in a thousand: 700 of them undo a halving. */
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
