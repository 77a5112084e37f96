/**
 * Publishes rows of the decision log in batches that nothing waits for. What NATS does not take at the first attempt is
 * lost and counted; events are never delayed by it.
 */
import { after, type Timer } from '../core/clock.js'
import { messageOf } from '../core/errors.js'
import { decisionBatchAgeMaxMs, decisionBatchBytes, decisionBatchesInFlightMax } from '../core/limits.js'
import type { Occurrences } from '../core/occurrences.js'
import type { Nats } from '../nats/nats.js'
import { rowsHeader } from './names.js'
import { RowWriter } from './rows.js'

/** Rows that are published together. */
export class RowBatch {
  readonly writer = new RowWriter(decisionBatchBytes + decisionBatchBytes / 8)
  readonly #take: (data: Uint8Array, rows: number) => void
  #due: Timer | undefined

  constructor(take: (data: Uint8Array, rows: number) => void) {
    this.#take = take
  }

  /** A row was written. */
  added(): void {
    if (this.writer.byteLength >= decisionBatchBytes) this.publish()
    else this.#due ??= after(decisionBatchAgeMaxMs, () => this.publish())
  }

  publish(): void {
    this.#due?.stop()
    this.#due = undefined
    const { rows } = this.writer
    if (rows > 0) this.#take(this.writer.take(), rows)
  }
}

/** Which rows are logged: all, those of what was stopped or failed, or none. */
export type LogMode = 'all' | 'blocked' | 'off'

export const isLogged = (mode: LogMode, isBlocked: boolean): boolean =>
  mode === 'all' || (mode === 'blocked' && isBlocked)

interface LogPublisherOptions {
  readonly nats: Pick<Nats, 'publish'>
  readonly subject: string
  readonly occurrences: Pick<Occurrences, 'decisionRowsLost'>
}

export class LogPublisher {
  readonly batch = new RowBatch((data, rows) => this.#store(data, rows))
  readonly #options: LogPublisherOptions
  readonly #underWay = new Set<Promise<void>>()

  constructor(options: LogPublisherOptions) {
    this.#options = options
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
