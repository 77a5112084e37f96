/**
 * Inserts with a group commit: while one insert of a table is being synced, the rows of all that want to write to
 * that table gather, and go together in the next.
 */
import { getOrMake } from '../core/maps.js'
import { type Clickhouse, isRefusedByClickhouse } from './clickhouse.js'

interface Waiting {
  /** May be gone through more than once. */
  readonly rows: Iterable<object>
  resolve(): void
  reject(error: unknown): void
}

export class RowWriter {
  readonly #clickhouse: Clickhouse
  readonly #waiting = new Map<string, Waiting[]>()
  readonly #writing = new Set<string>()

  constructor(clickhouse: Clickhouse) {
    this.#clickhouse = clickhouse
  }

  /** Resolves when the rows are durable: all of them at once. They may be gone through several times. */
  insert(table: string, rows: Iterable<object>): Promise<void> {
    return new Promise((resolve, reject) => {
      getOrMake(this.#waiting, table, () => []).push({ rows, resolve, reject })
      if (!this.#writing.has(table)) void this.#write(table)
    })
  }

  /** Never rejects: each group hears of its own end. */
  async #write(table: string): Promise<void> {
    this.#writing.add(table)
    for (let group = this.#take(table); group.length > 0; group = this.#take(table)) {
      await this.#insert(table, group)
    }
    this.#writing.delete(table)
  }

  async #insert(table: string, group: readonly Waiting[]): Promise<void> {
    try {
      await this.#clickhouse.insert(table, rowsOf(group))
      for (const { resolve } of group) resolve()
    } catch (error) {
      // One change that ClickHouse refuses must not keep the others from being stored.
      if (group.length > 1 && isRefusedByClickhouse(error)) {
        for (const waiting of group) await this.#insert(table, [waiting])
      } else for (const { reject } of group) reject(error)
    }
  }

  #take(table: string): Waiting[] {
    const group = this.#waiting.get(table) ?? []
    this.#waiting.delete(table)
    return group
  }
}

function* rowsOf(group: readonly Waiting[]): Generator<object> {
  for (const { rows } of group) yield* rows
}
