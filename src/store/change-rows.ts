/** The ClickHouse rows of a change. */
import { ahead } from '../core/concurrency.js'
import { getOrMake } from '../core/maps.js'
import type { Row } from '../resource/define.js'
import { resourceOf } from '../resource/registry.js'
import { ruleKind } from '../view/keys.js'
import { type Change, changedBy, policiesOfRules } from './change.js'
import type { Clickhouse } from './clickhouse.js'
import type { RowWriter } from './row-writer.js'
import { decodeRow, rowEncoder, tableOf } from './tables.js'

/** A rule of a policy whose rules were removed or replaced all at once: its new row, or its last one if deleted. */
export interface ChangedRule {
  readonly rule: Row
  readonly verb: 'created' | 'updated' | 'deleted'
}

/** The rules that replacements put, and the last rows of those that they remove. */
export interface ReplacedRules {
  readonly put: Row[]
  readonly removed: Row[]
}

/** Rows of one kind that a change puts or removes, for ClickHouse; each is encoded when it is iterated. */
class WrittenRows implements Iterable<object> {
  readonly #kind: string
  readonly #version: number
  readonly #change: Change
  readonly #parts: { readonly rows: readonly Row[]; readonly deleted: boolean }[] = []

  constructor(kind: string, version: number, change: Change) {
    this.#kind = kind
    this.#version = version
    this.#change = change
  }

  add(rows: readonly Row[], deleted: boolean): void {
    this.#parts.push({ rows, deleted })
  }

  *[Symbol.iterator](): Generator<object> {
    const { at, principal } = this.#change
    const encode = rowEncoder(resourceOf(this.#kind), { changedAt: at, changedBy: changedBy(principal) })
    const version = this.#version
    for (const { rows, deleted } of this.#parts) {
      for (const row of rows) yield encode({ ...row, version }, deleted)
    }
  }
}

/** Rows read at a time: decoding more would block the event loop. */
const rowsPerPage = 10_000

export class ChangeRows {
  readonly #clickhouse: Clickhouse
  readonly #writer: RowWriter

  constructor(clickhouse: Clickhouse, writer: RowWriter) {
    this.#clickhouse = clickhouse
    this.#writer = writer
  }

  /** Inserts exactly the change's rows; those inserted before merge with them. */
  async insert(accountId: string, version: number, change: Change, replaced: ReplacedRules): Promise<void> {
    const written = new Map<string, WrittenRows>()
    const add = (kind: string, rows: readonly Row[], deleted: boolean): void => {
      if (rows.length === 0) return
      getOrMake(written, kind, () => new WrittenRows(kind, version, change)).add(rows, deleted)
    }
    for (const { kind, row } of change.puts) add(kind, [row], false)
    for (const { kind, row } of change.removals) if (row !== null) add(kind, [row], true)
    for (const [kind, ids] of leftToClickhouse(change)) {
      for await (const rows of this.#present(accountId, version, kind, 'id', ids)) add(kind, rows, true)
    }
    const { emptiedPolicies } = change
    for await (const rules of this.#present(accountId, version, ruleKind, 'ip_policy_id', emptiedPolicies)) {
      add(ruleKind, rules, true)
    }
    add(ruleKind, replaced.put, false)
    add(ruleKind, replaced.removed, true)
    await Promise.all([...written].map(([kind, rows]) => this.#writer.insert(tableOf(kind), rows)))
  }

  /** The rows before a version, without deleted ones, a page at a time. */
  async *#present(
    accountId: string,
    version: number,
    kind: string,
    field: string,
    values: readonly string[],
  ): AsyncGenerator<Row[]> {
    if (values.length === 0) return
    const pages = this.#pages(
      `SELECT * FROM (SELECT * FROM ${tableOf(kind)}
WHERE account_id = {account:String} AND version < {version:UInt64} AND id > {after:String}
AND ${field} IN {values:Array(String)} ORDER BY id, version DESC LIMIT 1 BY id) WHERE NOT deleted`,
      { account: accountId, version, values: [...values] },
    )
    for await (const rows of ahead(pages)) yield rows.map((row) => decodeRow(resourceOf(kind), row))
  }

  /** Rules that a change removed or replaced all at once, in the order of their ids, a page at a time. */
  async *changedRules(
    accountId: string,
    version: number,
    change: Change,
  ): AsyncGenerator<readonly ChangedRule[]> {
    const policies = policiesOfRules(change)
    if (policies.length === 0) return
    const table = tableOf(ruleKind)
    const later = `account_id = {account:String} AND ip_policy_id IN {policies:Array(String)} AND id > {after:String}`
    const pages = this.#pages(
      `SELECT *, id IN (SELECT id FROM ${table} WHERE ${later} AND version < {version:UInt64}) AS existed
FROM ${table} WHERE ${later} AND version = {version:UInt64}`,
      { account: accountId, version, policies: [...policies] },
    )
    for await (const rows of ahead(pages)) {
      yield rows.map((row) => ({
        rule: decodeRow(resourceOf(ruleKind), row),
        verb: row['deleted'] ? 'deleted' : row['existed'] ? 'updated' : 'created',
      }))
    }
  }

  /** Did the change write rows of the policy's rules? */
  async hasRules(accountId: string, version: number, policyId: string): Promise<boolean> {
    const found = await this.#clickhouse.rows(
      `SELECT id FROM ${tableOf(ruleKind)}
WHERE account_id = {account:String} AND ip_policy_id = {policy:String} AND version = {version:UInt64} LIMIT 1`,
      { account: accountId, version, policy: policyId },
    )
    return found.length > 0
  }

  /** Pages of a query for ids beyond `after`; each id comes once, even if its row was written twice. */
  async *#pages(
    sql: string,
    params: Readonly<Record<string, unknown>>,
  ): AsyncGenerator<Record<string, unknown>[]> {
    let after = ''
    for (let count = rowsPerPage; count === rowsPerPage; ) {
      const rows = await this.#clickhouse.rows<Record<string, unknown>>(
        `${sql} ORDER BY account_id, id LIMIT 1 BY id LIMIT ${rowsPerPage}`,
        { ...params, after },
      )
      count = rows.length
      after = String(rows.at(-1)?.['id'] ?? after)
      yield rows
    }
  }
}

/** Ids of removed rows that are not in the change itself, by kind. */
function leftToClickhouse(change: Change): Map<string, string[]> {
  const ids = new Map<string, string[]>()
  for (const { kind, id, row } of change.removals) {
    if (row === null) getOrMake(ids, kind, () => []).push(id)
  }
  return ids
}
