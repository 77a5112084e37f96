/**
 * The packs that a lane holds, and which of them stay when it can't deliver.
 *
 * - A pack without any outcome is given back to the stream: another process may be able to deliver it, and memory is
 *   freed.
 * - A pack with accepted events stays, because these would be sent again. Such packs take a bounded share of the budget
 *   of all destinations; beyond it, they are given back, too.
 */

import type { Batcher } from './batcher.js'
import type { ByteBudget } from './byte-budget.js'
import type { Item, Job } from './job.js'

/** Bounds the bytes of packs that lanes hold while they can't deliver. */
export type HoldingBudget = Pick<ByteBudget, 'hold' | 'release'>

export class HeldPacks {
  readonly #budget: HoldingBudget
  readonly #queue: Batcher<Item>
  readonly #delayMs: () => number
  /** The oldest first. */
  readonly #jobs = new Set<Job>()
  /** Packs whose bytes the budget counts as held. */
  readonly #counted = new Set<Job>()

  /** Events of packs that are given back leave the `queue`. These packs are redelivered after `delayMs`. */
  constructor(budget: HoldingBudget, queue: Batcher<Item>, delayMs: () => number) {
    this.#budget = budget
    this.#queue = queue
    this.#delayMs = delayMs
  }

  get isEmpty(): boolean {
    return this.#jobs.size === 0
  }

  /** Is there a pack without any outcome, which would be given back? */
  get hasUntouched(): boolean {
    return [...this.#jobs].some((job) => !job.ended && !isPartlyDone(job))
  }

  add(job: Job): void {
    this.#jobs.add(job)
    void job.result.then(() => {
      this.#jobs.delete(job)
      if (this.#counted.delete(job)) this.#budget.release(job.byteLength)
    })
  }

  giveBackAll(): void {
    this.#giveBack(() => true)
  }

  giveBackUnsent(): void {
    this.#giveBack((job) => !job.isBegun)
  }

  /** Gives back the packs of which no event would be sent twice. */
  giveBackUntouched(): void {
    this.#giveBack((job) => !this.#mayStay(job))
  }

  /** The same, but one pack always stays. */
  giveBackAllButOne(): void {
    const staying = new Set([...this.#jobs].filter((job) => !job.ended && this.#mayStay(job)))
    const oldest = [...this.#jobs].find((job) => !job.ended)
    if (staying.size === 0 && oldest !== undefined) staying.add(oldest)
    this.#giveBack((job) => !staying.has(job))
  }

  /** Ends packs that were stored before this time, unless an outcome of some of their events is on its way. */
  expire(beforeMs: number): void {
    for (const job of this.#jobs)
      if (!job.ended && job.deciding === 0 && job.storedAtMs < beforeMs) job.expire()
    this.#queue.dropAbandoned()
  }

  #mayStay(job: Job): boolean {
    // Some of its events may be accepted at any time.
    if (job.isInRequest) return true
    if (!isPartlyDone(job)) return false
    if (this.#counted.has(job)) return true
    if (!this.#budget.hold(job.byteLength)) return false
    this.#counted.add(job)
    return true
  }

  #giveBack(isWanted: (job: Job) => boolean): void {
    for (const job of this.#jobs) if (!job.ended && isWanted(job)) job.giveBack(this.#delayMs())
    this.#queue.dropAbandoned()
  }
}

const isPartlyDone = ({ concluded }: Job): boolean => concluded > 0
