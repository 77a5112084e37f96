/** The ClickHouse rows of a change. */
import type { Row } from '../resource/define.js'
import { resourceOf } from '../resource/registry.js'
import { type Change, changedBy } from './change.js'
import type { Clickhouse } from './clickhouse.js'
import { ruleKind } from './keys.js'
import type { RowWriter } from './row-writer.js'
import { decodeRow, encodeRow, tableOf, viewOf } from './tables.js'

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
      const rows = byTable.get(tableOf(kind)) ?? []
      byTable.set(tableOf(kind), rows)
      rows.push(encoded)
    }
    for (const { kind, row } of change.puts) add(kind, row, false)
    for (const { kind, row } of change.removals) add(kind, row, true)
    for (const rule of await this.#rulesOf(accountId, change.emptiedPolicies)) add(ruleKind, rule, true)
    await Promise.all([...byTable].map(([table, rows]) => this.#writer.insert(table, rows)))
  }

  async #rulesOf(accountId: string, policyIds: readonly string[]): Promise<Row[]> {
    if (policyIds.length === 0) return []
    const rows = await this.#clickhouse.rows<Record<string, unknown>>(
      `SELECT * FROM ${viewOf(ruleKind)} WHERE account_id = {account:String} AND ip_policy_id IN {policies:Array(String)}`,
      { account: accountId, policies: [...policyIds] },
    )
    return rows.map((row) => decodeRow(resourceOf(ruleKind), row))
  }

  /** Rules that a change took away as a whole, as they were last. */
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
