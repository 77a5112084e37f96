/** The ClickHouse rows of a change. */
import { getOrMake } from '../core/maps.js'
import type { Row } from '../resource/define.js'
import { resourceOf } from '../resource/registry.js'
import { type Change, changedBy, policiesOfRules } from './change.js'
import type { Clickhouse } from './clickhouse.js'
import { ruleKind } from './keys.js'
import type { RowWriter } from './row-writer.js'
import { decodeRow, encodeRow, tableOf } from './tables.js'

/** A rule that was taken away or replaced as part of all its policy's rules, as it is after that, or was last. */
export interface ChangedRule {
  readonly rule: Row
  readonly verb: 'created' | 'updated' | 'deleted'
}

/** Rules that replacements put, and those that they take away as they were last. */
export interface ReplacedRules {
  readonly put: Row[]
  readonly removed: Row[]
}

/** Many rules are read so many at a time: more would hold up others while they are decoded. */
const rulesPerPage = 4_000

export class ChangeRows {
  readonly #clickhouse: Clickhouse
  readonly #writer: RowWriter

  constructor(clickhouse: Clickhouse, writer: RowWriter) {
    this.#clickhouse = clickhouse
    this.#writer = writer
  }

  /** Inserts exactly the change's rows; rows that are there already merge with theirs. */
  async insert(accountId: string, version: number, change: Change, replaced: ReplacedRules): Promise<void> {
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
    for (const rule of replaced.put) add(ruleKind, rule, false)
    for (const rule of replaced.removed) add(ruleKind, rule, true)
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

  /** Rules that a change took away or replaced as a whole, in the order of their ids, a page at a time. */
  async *changedRules(
    accountId: string,
    version: number,
    change: Change,
  ): AsyncGenerator<readonly ChangedRule[]> {
    const policies = policiesOfRules(change)
    if (policies.length === 0) return
    const table = tableOf(ruleKind)
    const ofPolicies = 'account_id = {account:String} AND ip_policy_id IN {policies:Array(String)}'
    let after = ''
    for (let count = rulesPerPage; count === rulesPerPage; ) {
      const rows = await this.#clickhouse.rows<Record<string, unknown>>(
        `SELECT *, id IN (SELECT id FROM ${table} WHERE ${ofPolicies} AND id > {after:String}
AND version < {version:UInt64}) AS existed
FROM ${table} FINAL WHERE ${ofPolicies} AND id > {after:String} AND version = {version:UInt64}
ORDER BY id LIMIT ${rulesPerPage}`,
        { account: accountId, version, policies: [...policies], after },
      )
      count = rows.length
      after = String(rows.at(-1)?.['id'] ?? after)
      yield rows.map((row) => ({
        rule: decodeRow(resourceOf(ruleKind), row),
        verb: row['deleted'] ? 'deleted' : row['existed'] ? 'updated' : 'created',
      }))
    }
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
