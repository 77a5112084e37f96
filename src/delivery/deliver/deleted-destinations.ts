/** Deleted destinations: what waits for them is dropped, and counted. */
import { messageOf } from '../../ground/core/errors.js'
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import { type BacklogDeps, dropBacklog } from './backlog.js'

interface DeletedDeps extends BacklogDeps {
  readonly occurrences: Pick<Occurrences, 'backlogDropped' | 'deliveryFaulted'>
}

export class DeletedDestinations {
  readonly #deps: DeletedDeps
  readonly #dropped = new Set<string>()
  readonly #dropping = new Map<string, Promise<void>>()

  constructor(deps: DeletedDeps) {
    this.#deps = deps
  }

  /** Is its backlog dropped? */
  has(id: string): boolean {
    return this.#dropped.has(id)
  }

  /**
   * Drops a backlog after `end`, once; one that can't be dropped is at the next call. No other destination waits for that:
   * the last requests of a deleted one may take long. `target`: its kind, if this process knew it.
   */
  drop(id: string, target: string | undefined, end: () => Promise<void>): void {
    if (this.#dropped.has(id) || this.#dropping.has(id)) return
    const dropping = this.#drop(id, target, end).finally(() => this.#dropping.delete(id))
    this.#dropping.set(id, dropping)
  }

  async #drop(id: string, target: string | undefined, end: () => Promise<void>): Promise<void> {
    const { ledger, occurrences } = this.#deps
    try {
      await end()
      // The books need its kind. One that shared a consumer may not have entered it.
      if (target !== undefined) await ledger.write([{ type: 'destination', destination: id, target }])
      if (await dropBacklog(this.#deps, id)) occurrences.backlogDropped({ destination_id: id })
      this.#dropped.add(id)
    } catch (error) {
      occurrences.deliveryFaulted({ destination_id: id, reason: messageOf(error) })
    }
  }

  /** Resolves when nothing is being dropped any more. */
  async settled(): Promise<void> {
    await Promise.all(this.#dropping.values())
  }
}
