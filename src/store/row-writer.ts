/**
 * Inserts with a group commit: while one insert of a table is being synced, the rows of all that want to write to
 * that table gather, and go together in the next.
 */
import type { Clickhouse } from './clickhouse.js'

interface Waiting {
  readonly rows: readonly object[]
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

  /** Resolves when the rows are durable. */
  insert(table: string, rows: readonly object[]): Promise<void> {
    if (rows.length === 0) return Promise.resolve()
    return new Promise((resolve, reject) => {
      const waiting = this.#waiting.get(table) ?? []
      this.#waiting.set(table, waiting)
      waiting.push({ rows, resolve, reject })
      if (!this.#writing.has(table)) void this.#write(table)
    })
  }

  async #write(table: string): Promise<void> {
    this.#writing.add(table)
    for (let group = this.#take(table); group.length > 0; group = this.#take(table)) {
      try {
        await this.#clickhouse.insert(
          table,
          group.flatMap(({ rows }) => rows),
        )
        for (const { resolve } of group) resolve()
      } catch (error) {
        for (const { reject } of group) reject(error)
      }
    }
    this.#writing.delete(table)
  }

  #take(table: string): Waiting[] {
    const group = this.#waiting.get(table) ?? []
    this.#waiting.delete(table)
    return group
  }
}
