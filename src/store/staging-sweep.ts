/** Takes out rules that were staged by who died before they were committed. */
import { monotonicMs } from '../core/clock.js'
import { stagingAbandonedAfterMs } from '../core/limits.js'
import type { View } from '../view/view.js'
import type { ResourceStore } from './store.js'

export class StagingSweep {
  readonly #view: Pick<View, 'state'>
  readonly #store: Pick<ResourceStore, 'dropStaging'>
  readonly #abandonedAfterMs: number
  /** Since when this process has known of generations that don't count. */
  #since = new Map<string, number>()

  constructor(
    view: Pick<View, 'state'>,
    store: Pick<ResourceStore, 'dropStaging'>,
    abandonedAfterMs = stagingAbandonedAfterMs,
  ) {
    this.#view = view
    this.#store = store
    this.#abandonedAfterMs = abandonedAfterMs
  }

  /** Who still was at it, however slow, stages anew. */
  async run(): Promise<void> {
    const since = new Map<string, number>()
    for (const idle of [...this.#view.state.idleGenerations()]) {
      const known = this.#since.get(idle.generation) ?? monotonicMs()
      if (monotonicMs() - known >= this.#abandonedAfterMs) await this.#store.dropStaging(idle)
      else since.set(idle.generation, known)
    }
    this.#since = since
  }
}
