import { after, randomFraction } from '../../../ground/core/clock.js'
import { getOrMake } from '../../../ground/core/maps.js'
import type { Item } from './job.js'

/**
 * Exponential backoff with full jitter, so that senders that failed together do not retry together.
 * https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
 */
export interface Backoff {
  readonly baseMs: number
  readonly capMs: number
}

/** For whole requests, by the class of the fault: a throttled service needs more time than a broken connection. */
export const backoffs: Readonly<Record<'throttle' | 'transient' | 'record', Backoff>> = {
  throttle: { baseMs: 1_000, capMs: 30_000 },
  transient: { baseMs: 100, capMs: 30_000 },
  // For records that failed while others were accepted: the rate bounds the load, so the waits can be short.
  record: { baseMs: 25, capMs: 1_000 },
}

/** The longest wait for an attempt; the first failure is attempt 1. */
export const ceilingMs = ({ baseMs, capMs }: Backoff, attempt: number): number =>
  Math.min(capMs, baseMs * 2 ** (attempt - 1))

/** The wait before the next attempt; `fraction` in [0, 1) is the jitter. */
export const backoffMs = (backoff: Backoff, attempt: number, fraction: number): number =>
  Math.floor(ceilingMs(backoff, attempt) * fraction)

/** Events that failed in an answered request. They wait for a backoff that depends on how often they failed. */
export class Retries {
  readonly #backoff: Backoff
  readonly #resume: (items: readonly Item[]) => void
  readonly #waiting = new Set<readonly Item[]>()

  /** `resume` gets events whose wait is over. */
  constructor(backoff: Backoff, resume: (items: readonly Item[]) => void) {
    this.#backoff = backoff
    this.#resume = resume
  }

  /** Is no event waiting? Those of packs that were given back do not count. */
  get isEmpty(): boolean {
    return [...this.#waiting].every((items) => items.every(({ abandoned }) => abandoned))
  }

  add(items: readonly Item[]): void {
    const groups = new Map<number, Item[]>()
    for (const item of items) getOrMake(groups, item.again(), () => []).push(item)
    for (const [attempts, group] of groups) {
      this.#waiting.add(group)
      after(backoffMs(this.#backoff, attempts, randomFraction()), () => {
        this.#waiting.delete(group)
        this.#resume(group)
      })
    }
  }
}
