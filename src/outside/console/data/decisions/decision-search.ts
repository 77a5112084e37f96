/**
 * A search of the log in steps. One that finds little does not go on for as long as the log is: after some time it says how
 * far it has come, and someone decides whether it goes on.
 */
import type { DecisionsPage } from '../../../../words/client/decisions.js'
import type { LoggedDecision } from '../../../../words/shape/decisions/logged-decision.js'
import type { Listed, Steps } from '../asking/more.js'
import { monotonicMs } from '../clock.js'

export interface FoundDecisions extends Listed<LoggedDecision> {
  /**
   * Down to this time all that match are listed, and older ones were not looked at. Undefined: the search ended otherwise.
   */
  readonly reachedAt: string | undefined
}

/** No further page is asked for after this time. The API ends a page after some 3 s, so a step takes less than 5. */
const stepMs = 1_500

export class DecisionSearch implements Steps<FoundDecisions> {
  readonly #pages: AsyncIterator<DecisionsPage>
  readonly #entries: LoggedDecision[] = []
  /** How many entries were asked for. */
  #wanted = 0
  #reachedAt: string | null = null
  #hasEnded = false
  #hasFailed = false

  constructor(pages: AsyncIterable<DecisionsPage>) {
    this.#pages = pages[Symbol.asyncIterator]()
  }

  get hasFailed(): boolean {
    return this.#hasFailed
  }

  get count(): number {
    return Math.min(this.#entries.length, this.#wanted)
  }

  async read(count: number): Promise<FoundDecisions> {
    this.#wanted = this.count + count
    const endMs = monotonicMs() + stepMs
    do await this.#readPage()
    while (!this.#hasEnded && this.#entries.length < this.#wanted && monotonicMs() < endMs)
    const isCut = !this.#hasEnded && this.#entries.length < this.#wanted
    return {
      entries: this.#entries.slice(0, this.#wanted),
      hasMore: !this.#hasEnded || this.#entries.length > this.#wanted,
      reachedAt: isCut ? (this.#reachedAt ?? undefined) : undefined,
    }
  }

  /** Nothing if there are enough entries. */
  async #readPage(): Promise<void> {
    if (this.#hasEnded || this.#entries.length > this.#wanted) return
    try {
      const { value, done } = await this.#pages.next()
      if (done === true) {
        this.#hasEnded = true
        return
      }
      this.#entries.push(...value.decisions)
      this.#reachedAt = value.reached_at
      this.#hasEnded = value.reached_at === null
    } catch (error) {
      this.#hasFailed = true
      throw error
    }
  }
}
