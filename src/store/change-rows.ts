/** The ClickHouse rows of a change. */
import { getOrMake } from '../core/maps.js'
import type { Row } from '../resource/define.js'
import { resourceOf } from '../resource/registry.js'
import { type Change, changedBy } from './change.js'
import type { Clickhouse } from './clickhouse.js'
import { ruleKind } from './keys.js'
import type { RowWriter } from './row-writer.js'
import { decodeRow, encodeRow, tableOf } from './tables.js'

export class ChangeRows {
  readonly #clickhouse: Clickhouse
  readonly #writer: RowWriter

  constructor(clickhouse: Clickhouse, writer: RowWriter) {
    this.#clickhouse = clickhouse
    this.#writer = writer
  }

  /** Inserts exactly the change's rows; rows that are there already merge with theirs. */
  async insert(accountId: string, version: number, change: Change): Promise<void> {
    const byTable = new Map<string, object[]>()
    const add = (kind: string, row: Row, deleted: boolean): void => {
      const encoded = encodeRow(resourceOf(kind), {
        row: { ...row, version },
        deleted,
        changedAt: change.at,
        changedBy: changedBy(change.principal),
      })
      getOrMake(byTable, tableOf(kind), () => []).push(encoded)
    }
    for (const { kind, row } of change.puts) add(kind, row, false)
    for (const { kind, row } of change.removals) if (row !== null) add(kind, row, true)
    for (const [kind, ids] of leftToClickhouse(change)) {
      for (const row of await this.#present(accountId, version, kind, 'id', ids)) add(kind, row, true)
    }
    const { emptiedPolicies } = change
    for (const rule of await this.#present(accountId, version, ruleKind, 'ip_policy_id', emptiedPolicies)) {
      add(ruleKind, rule, true)
    }
    await Promise.all([...byTable].map(([table, rows]) => this.#writer.insert(table, rows)))
  }

  /** Rows as they were before a version, those that were not deleted by then. */
  async #present(
    accountId: string,
    version: number,
    kind: string,
    field: string,
    values: readonly string[],
  ): Promise<Row[]> {
    if (values.length === 0) return []
    const rows = await this.#clickhouse.rows<Record<string, unknown>>(
      `SELECT * FROM (SELECT * FROM ${tableOf(kind)} FINAL
WHERE account_id = {account:String} AND version < {version:UInt64} AND ${field} IN {values:Array(String)}
ORDER BY version DESC LIMIT 1 BY id) WHERE NOT deleted`,
      { account: accountId, version, values: [...values] },
    )
    return rows.map((row) => decodeRow(resourceOf(kind), row))
  }

  /** Rules that a change took away as a whole, as they were last, in the order of their ids. */
  async removedRules(accountId: string, version: number, policyIds: readonly string[]): Promise<Row[]> {
    if (policyIds.length === 0) return []
    const rows = await this.#clickhouse.rows<Record<string, unknown>>(
      `SELECT * FROM ${tableOf(ruleKind)} FINAL WHERE account_id = {account:String} AND version = {version:UInt64}
AND deleted AND ip_policy_id IN {policies:Array(String)} ORDER BY id`,
      { account: accountId, version, policies: [...policyIds] },
    )
    return rows.map((row) => decodeRow(resourceOf(ruleKind), row))
  }
}

/** Ids of removed rows that the change does not hold, by kind. */
function leftToClickhouse(change: Change): Map<string, string[]> {
  const ids = new Map<string, string[]>()
  for (const { kind, id, row } of change.removals) {
    if (row === null) getOrMake(ids, kind, () => []).push(id)
  }
  return ids
}
