/**
 * Lets other messages pass those that take long. A message may hold 20,000 records, and each may cost an account's policies
 * many steps: seconds in all. The walk of such a message pauses after every **section** of its records; the intake then goes
 * on with the next messages, and takes turns with the sections of all walks that are paused.
 *
 * At any time either the intake or one section puts events into packs. A section runs when the intake has nothing to do, or
 * has had its time.
 */
import { monotonicMs, yieldTurn } from '../../ground/core/clock.js'
import { deferred } from '../../ground/core/concurrency.js'

/** The intake goes on for so long while walks wait: about as long as an expensive section takes. */
const intakeMs = 100
/** Messages of walks that stepped aside are held in memory. At the bound, the intake waits until one has ended. */
const asideMax = 32

export class LongWalks {
  /** Walks that wait for their next section. */
  readonly #paused: (() => void)[] = []
  /** Walks that stepped aside and have not ended. */
  #aside = 0
  /** Called when the message that the intake waits for steps aside. */
  #stepAside: (() => void) | undefined
  /** A message stepped aside before the intake could wait for it. */
  #isAsideAtOnce = false
  /** The section that runs now. */
  #section: ReturnType<typeof deferred> | undefined
  #intakeUntilMs = 0
  #isDriven = false

  // --- the intake ---

  /** Resolves when the intake may process its next message; mostly at once. */
  turn(): Promise<void> | undefined {
    return this.#mustWait() ? this.#waitForTurn() : undefined
  }

  #mustWait(): boolean {
    if (this.#aside === 0) return false
    return this.#section !== undefined || this.#aside >= asideMax || monotonicMs() >= this.#intakeUntilMs
  }

  async #waitForTurn(): Promise<void> {
    do await this.#runSection()
    while (this.#section !== undefined || this.#aside >= asideMax)
    this.#intakeUntilMs = monotonicMs() + intakeMs
  }

  /** Resolves when the message is processed, or has stepped aside. */
  async processedOrAside(processing: Promise<void>): Promise<void> {
    const { promise, resolve } = deferred()
    this.#stepAside = resolve
    if (this.#isAsideAtOnce) resolve()
    this.#isAsideAtOnce = false
    await Promise.race([processing, promise])
    this.#stepAside = undefined
    if (this.#aside > 0) void this.#drive()
  }

  // --- walks ---

  /** Ends a section. Resolves when the next one begins. */
  pause(): Promise<void> {
    return new Promise((resolve) => {
      this.#paused.push(resolve)
      if (this.#section !== undefined) return this.#endSection()
      this.#aside += 1
      if (this.#stepAside === undefined) this.#isAsideAtOnce = true
      else this.#stepAside()
    })
  }

  /** The walk has ended, also if it never paused. */
  end(): void {
    if (this.#section === undefined) return
    this.#aside -= 1
    this.#endSection()
  }

  #endSection(): void {
    this.#section?.resolve()
    this.#section = undefined
  }

  /** Resolves when the section that runs, or else that of the walk that waits longest, has ended. */
  #runSection(): Promise<void> {
    if (this.#section === undefined) {
      const resume = this.#paused.shift()
      if (resume === undefined) return Promise.resolve()
      this.#section = deferred()
      resume()
    }
    return this.#section.promise
  }

  /** Runs sections while the intake waits for messages. */
  async #drive(): Promise<void> {
    if (this.#isDriven) return
    this.#isDriven = true
    // Messages that the intake has at hand come first; it calls again when it waits.
    for (await yieldTurn(); this.#aside > 0 && this.#stepAside === undefined; await yieldTurn())
      await this.#runSection()
    this.#isDriven = false
  }
}
