/**
 * Publishes rows of the decision log in batches that nothing waits for. What NATS does not take at the first attempt is
 * lost and counted; events are never delayed by it.
 */
import { after, type Timer } from '../../ground/core/clock.js'
import { messageOf } from '../../ground/core/errors.js'
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import type { Nats } from '../../ground/nats/nats.js'
import type { BlockWriter } from './blocks/block-writer.js'
import { rowsHeader } from './names.js'

/** Rows are published when the first of them is this old, if their block is not full before. */
const decisionBatchAgeMaxMs = 250
/** Batches that NATS has not acknowledged; rows of further ones are lost. */
const decisionBatchesInFlightMax = 20

/** Rows that are published together. */
export class RowBatch<Rows extends BlockWriter> {
  readonly collected: Rows
  readonly #publish: (data: Uint8Array, rows: number) => void
  #due: Timer | undefined

  constructor(collected: Rows, publish: (data: Uint8Array, rows: number) => void) {
    this.collected = collected
    this.#publish = publish
  }

  /** A row was written. */
  added(): void {
    if (this.collected.isFull) this.publish()
    else this.#due ??= after(decisionBatchAgeMaxMs, () => this.publish())
  }

  publish(): void {
    this.#due?.stop()
    this.#due = undefined
    const { rows } = this.collected
    if (rows > 0) this.#publish(this.collected.take(), rows)
  }
}

/** Which rows are logged: all, those of what was stopped or failed, or none. */
export type LogMode = 'all' | 'blocked' | 'off'

export const isLogged = (mode: LogMode, isBlocked: boolean): boolean =>
  mode === 'all' || (mode === 'blocked' && isBlocked)

interface LogPublisherOptions<Rows extends BlockWriter> {
  readonly rows: Rows
  readonly nats: Pick<Nats, 'publish'>
  readonly subject: string
  readonly occurrences: Pick<Occurrences, 'decisionRowsLost'>
}

export class LogPublisher<Rows extends BlockWriter> {
  readonly batch: RowBatch<Rows>
  readonly #options: LogPublisherOptions<Rows>
  readonly #underWay = new Set<Promise<void>>()

  constructor(options: LogPublisherOptions<Rows>) {
    this.#options = options
    this.batch = new RowBatch(options.rows, (data, rows) => this.#store(data, rows))
  }

  #store(data: Uint8Array, rows: number): void {
    if (this.#underWay.size >= decisionBatchesInFlightMax) {
      this.#lost(rows, 'NATS takes rows too slowly.')
      return
    }
    const { nats, subject } = this.#options
    const storing = nats
      .publish(subject, data, { headers: { [rowsHeader]: String(rows) }, triesMax: 1 })
      .then(
        () => {},
        (error) => this.#lost(rows, messageOf(error)),
      )
      .finally(() => this.#underWay.delete(storing))
    this.#underWay.add(storing)
  }

  #lost(rows: number, reason: string): void {
    this.#options.occurrences.decisionRowsLost({ reason }, rows)
  }

  /** Publishes what is left; waits for batches under way. */
  async close(): Promise<void> {
    this.batch.publish()
    await Promise.all(this.#underWay)
  }
}
