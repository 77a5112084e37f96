/** Events that failed in an answered request. They wait for a backoff that depends on how often they failed. */
import { after, randomFraction } from '../../core/clock.js'
import { getOrMake } from '../../core/maps.js'
import type { Item } from '../job.js'
import { type Backoff, backoffMs } from './backoff.js'

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
