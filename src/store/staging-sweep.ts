/** Deletes staged rules of processes that died before they committed them. */
import { monotonicMs } from '../core/clock.js'
import { stagingAbandonedAfterMs } from '../core/limits.js'
import type { View } from '../view/view.js'
import type { IdleGeneration } from '../view/view-state.js'

export class StagingSweep {
  readonly #view: Pick<View, 'state'>
  readonly #drop: (idle: IdleGeneration) => Promise<void>
  readonly #abandonedAfterMs: number
  /** When this process first saw each generation that does not count. */
  #since = new Map<string, number>()

  constructor(
    view: Pick<View, 'state'>,
    drop: (idle: IdleGeneration) => Promise<void>,
    abandonedAfterMs = stagingAbandonedAfterMs,
  ) {
    this.#view = view
    this.#drop = drop
    this.#abandonedAfterMs = abandonedAfterMs
  }

  /** A process that was only slow stages its rules again. */
  async run(): Promise<void> {
    const since = new Map<string, number>()
    for (const idle of [...this.#view.state.idleGenerations()]) {
      const known = this.#since.get(idle.generation) ?? monotonicMs()
      if (monotonicMs() - known >= this.#abandonedAfterMs) await this.#drop(idle)
      else since.set(idle.generation, known)
    }
    this.#since = since
  }
}
