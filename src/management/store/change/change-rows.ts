/** The ClickHouse rows of a change. */
import { ahead } from '../../../ground/core/concurrency.js'
import { GroupCommit } from '../../../ground/core/group-commit.js'
import { getOrMake } from '../../../ground/core/maps.js'
import { account } from '../../../words/resource/account.js'
import type { Row } from '../../../words/resource/kind/define.js'
import { resourceOf } from '../../../words/resource/registry.js'
import { ruleKind } from '../../../words/view/keys.js'
import type { Clickhouse } from '../clickhouse/clickhouse.js'
import { isRefusedByClickhouse } from '../clickhouse/errors.js'
import { decodeRow, rowColumnsOf, rowEncoder, tableOf } from '../clickhouse/tables.js'
import { type Change, changedBy, policiesOfRules, removedBelow } from './change.js'

/** A row whose audit event the change does not hold: its new version, or the last one if it was deleted. */
export interface ChangedRow {
  readonly kind: string
  readonly row: Row
  readonly verb: 'created' | 'updated' | 'deleted'
}

/** The rules that replacements put, and the last rows of those that they remove. */
export interface ReplacedRules {
  readonly put: Row[]
  readonly removed: Row[]
}

/** Rows of one kind that a change puts or removes. */
interface WrittenRows {
  readonly rows: readonly Row[]
  readonly deleted: boolean
}

/** The rows of one change for one table. */
interface TableRows {
  /** The account and version of the change. */
  readonly token: string
  /** May be iterated several times. */
  readonly rows: Iterable<object>
}

/** Rows read at a time: decoding more would block the event loop. */
const rowsPerPage = 10_000
/** Values in one statement: they are part of its URL. */
const valuesPerStatement = 100

function* inGroups<T>(items: readonly T[], size: number): Generator<readonly T[]> {
  for (let first = 0; first < items.length; first += size) yield items.slice(first, first + size)
}

export class ChangeRows {
  readonly #clickhouse: Clickhouse
  /** A group commit per table: ClickHouse syncs a group of rows once. */
  readonly #tables = new Map<string, GroupCommit<TableRows>>()

  constructor(clickhouse: Clickhouse) {
    this.#clickhouse = clickhouse
  }

  /** Inserts exactly the change's rows; those inserted before merge with them. */
  async insert(accountId: string, version: number, change: Change, replaced: ReplacedRules): Promise<void> {
    const written = new Map<string, WrittenRows[]>()
    const add = (kind: string, rows: readonly Row[], deleted: boolean): void => {
      if (rows.length > 0) getOrMake(written, kind, () => []).push({ rows, deleted })
    }
    for (const { kind, row } of change.puts) add(kind, [row], false)
    /** Removed rows that are not in the change itself. */
    const left = new Map<string, string[]>()
    for (const { kind, id, row } of change.removals) {
      if (row !== null) add(kind, [row], true)
      else getOrMake(left, kind, () => []).push(id)
    }
    for (const [kind, ids] of left) {
      for await (const rows of this.before(accountId, version, kind, 'id', ids)) add(kind, rows, true)
    }
    const { emptiedPolicies } = change
    for await (const rules of this.before(accountId, version, ruleKind, 'ip_policy_id', emptiedPolicies)) {
      add(ruleKind, rules, true)
    }
    add(ruleKind, replaced.put, false)
    add(ruleKind, replaced.removed, true)
    const token = `${accountId}:${version}`
    const write = ([kind, rows]: [string, readonly WrittenRows[]]) =>
      this.#write(tableOf(kind), { token, rows: encodedRows(kind, version, change, rows) })
    // An account has no row of another kind without its own: see `highestVersion`.
    const ofAccount = written.get(account.kind)
    if (ofAccount !== undefined) await write([account.kind, ofAccount])
    written.delete(account.kind)
    await Promise.all([...written].map(write))
  }

  /** Resolves when the rows are durable: all of them at once. */
  #write(table: string, rows: TableRows): Promise<void> {
    const open = () =>
      new GroupCommit<TableRows>({
        write: (changes) => this.#insert(table, changes),
        // One change that ClickHouse refuses must not keep the others from being stored.
        isItemRefused: isRefusedByClickhouse,
      })
    return getOrMake(this.#tables, table, open).add(rows)
  }

  /** On a cluster, each change is an insert of its own: a process that carries it out again repeats exactly this insert. */
  async #insert(table: string, changes: readonly TableRows[]): Promise<void> {
    if (this.#clickhouse.cluster === undefined) return this.#clickhouse.insert(table, allOf(changes))
    for (const { rows, token } of changes) await this.#clickhouse.insert(table, rows, token)
  }

  /** The rows of a kind before a version, without deleted ones, a page at a time. `field` never changes. */
  async *before(
    accountId: string,
    version: number,
    kind: string,
    field: string,
    values: readonly string[],
  ): AsyncGenerator<Row[]> {
    const pages = this.#pagesOf(
      values,
      `SELECT * FROM (SELECT * FROM ${tableOf(kind)}
WHERE account_id = {account:String} AND version < {version:UInt64} AND id > {after:String}
AND ${field} IN {values:Array(String)} ORDER BY id, version DESC LIMIT 1 BY id) WHERE NOT deleted`,
      { account: accountId, version },
    )
    for await (const rows of ahead(pages)) yield rows.map((row) => decodeRow(resourceOf(kind), row))
  }

  /** The rows whose audit events the change does not hold, always in the same order, a page at a time. */
  async *bulkRows(accountId: string, version: number, change: Change): AsyncGenerator<readonly ChangedRow[]> {
    for (const [kind, ids] of removedBelow(change)) {
      const sql = `SELECT * FROM ${tableOf(kind)}
WHERE account_id = {account:String} AND id IN {values:Array(String)} AND id > {after:String} AND version = {version:UInt64}`
      for await (const rows of ahead(this.#pagesOf(ids, sql, { account: accountId, version })))
        yield rows.map((row) => ({ kind, row: decodeRow(resourceOf(kind), row), verb: 'deleted' }))
    }
    yield* this.#changedRules(accountId, version, change)
  }

  /** Rules that a change removed, replaced or edited many at once. */
  async *#changedRules(
    accountId: string,
    version: number,
    change: Change,
  ): AsyncGenerator<readonly ChangedRow[]> {
    const policies = policiesOfRules(change)
    if (policies.length === 0) return
    const table = tableOf(ruleKind)
    const later = `account_id = {account:String} AND ip_policy_id IN {policies:Array(String)} AND id > {after:String}`
    const pages = this.#pages(
      `SELECT ${rowColumnsOf(resourceOf(ruleKind))}, deleted, id IN (SELECT id FROM ${table} WHERE ${later} AND version < {version:UInt64}
GROUP BY id HAVING NOT argMax(deleted, version)) AS existed
FROM ${table} WHERE ${later} AND version = {version:UInt64}`,
      { account: accountId, version, policies: [...policies] },
    )
    for await (const rows of ahead(pages)) {
      yield rows.map((row) => ({
        kind: ruleKind,
        row: decodeRow(resourceOf(ruleKind), row),
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

  /** Pages of a query for some of these values at a time, which it finds as `values`. */
  async *#pagesOf(
    values: readonly string[],
    sql: string,
    params: Readonly<Record<string, unknown>>,
  ): AsyncGenerator<Record<string, unknown>[]> {
    for (const some of inGroups(values, valuesPerStatement))
      yield* this.#pages(sql, { ...params, values: some })
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

/** The rows for ClickHouse; each is encoded when it is iterated. */
const encodedRows = (
  kind: string,
  version: number,
  { at, principal, baseRevision }: Change,
  written: readonly WrittenRows[],
): Iterable<object> => ({
  *[Symbol.iterator]() {
    const { clientAddress, operationId, skipsTests: testsSkipped } = principal
    const author = { changedBy: changedBy(principal), clientAddress, operationId, testsSkipped }
    const origin = { changedAt: at, ...author, baseRevision }
    const encode = rowEncoder(resourceOf(kind), origin)
    for (const { rows, deleted } of written)
      for (const row of rows) yield encode({ ...row, version }, deleted)
  },
})

function* allOf(changes: readonly TableRows[]): Generator<object> {
  for (const { rows } of changes) yield* rows
}
