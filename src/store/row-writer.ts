/** Inserts with one group commit per table: ClickHouse syncs a group of rows once. */
import { GroupCommit } from '../core/group-commit.js'
import { getOrMake } from '../core/maps.js'
import { type Clickhouse, isRefusedByClickhouse } from './clickhouse.js'

export class RowWriter {
  readonly #clickhouse: Clickhouse
  readonly #tables = new Map<string, GroupCommit<Iterable<object>>>()

  constructor(clickhouse: Clickhouse) {
    this.#clickhouse = clickhouse
  }

  /** Resolves when the rows are durable: all of them at once. They may be iterated several times. */
  insert(table: string, rows: Iterable<object>): Promise<void> {
    const open = () =>
      new GroupCommit<Iterable<object>>({
        write: (changes) => this.#clickhouse.insert(table, allOf(changes)),
        // One change that ClickHouse refuses must not keep the others from being stored.
        isItemRefused: isRefusedByClickhouse,
      })
    return getOrMake(this.#tables, table, open).add(rows)
  }
}

function* allOf(changes: readonly Iterable<object>[]): Generator<object> {
  for (const rows of changes) yield* rows
}
