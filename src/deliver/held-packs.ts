/**
 * The packs that a lane holds, and which of them stay when it can't deliver.
 *
 * - A pack of which nothing was concluded is given back: another process may have better luck, and memory is freed.
 * - A pack of which some events were accepted stays: given back, those events would be sent again. Such packs take a
 *   bounded share of the budget that all destinations have together; only beyond it they are given back, too.
 */
import type { Batcher } from './batcher.js'
import type { Item, Job } from './job.js'

/** Bytes of packs that lanes may hold for as long as nothing is delivered. */
export interface HoldingBudget {
  /** Sets bytes apart; false if there is no room for them. */
  hold(bytes: number): boolean
  release(bytes: number): void
}

export class HeldPacks {
  readonly #budget: HoldingBudget
  readonly #queue: Batcher<Item>
  readonly #delayMs: () => number
  /** The oldest first. */
  readonly #jobs = new Set<Job>()
  /** Those whose bytes the budget counts as held. */
  readonly #counted = new Set<Job>()

  /** Events of packs that are given back leave the `queue`; they are to come again after `delayMs`. */
  constructor(budget: HoldingBudget, queue: Batcher<Item>, delayMs: () => number) {
    this.#budget = budget
    this.#queue = queue
    this.#delayMs = delayMs
  }

  get isEmpty(): boolean {
    return this.#jobs.size === 0
  }

  /** Is there a pack that would be given back, because nothing of it was concluded? */
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

  /** Gives back what can go without being sent twice. */
  giveBackUntouched(): void {
    this.#giveBack((job) => !this.#mayStay(job))
  }

  /** The same, but one pack stays in any case. */
  giveBackAllButOne(): void {
    const staying = new Set([...this.#jobs].filter((job) => !job.ended && this.#mayStay(job)))
    const oldest = [...this.#jobs].find((job) => !job.ended)
    if (staying.size === 0 && oldest !== undefined) staying.add(oldest)
    this.#giveBack((job) => !staying.has(job))
  }

  #mayStay(job: Job): boolean {
    // Some of its events may be accepted any moment.
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
