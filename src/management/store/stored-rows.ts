/** Rows in ClickHouse: the last version of each resource, deletions included. */
import { getOrMake } from '../../ground/core/maps.js'
import { account } from '../../words/resource/account.js'
import type { AnyResource, Row } from '../../words/resource/kind/define.js'
import type { Clickhouse } from './clickhouse/clickhouse.js'
import { decodeRow, tableOf } from './clickhouse/tables.js'

export interface StoredRow {
  readonly kind: string
  readonly row: Row
  readonly deleted: boolean
}

/** A resource's last version, which may be a deletion. */
export interface StoredVersion {
  readonly id: string
  readonly version: number
  readonly deleted: boolean
}

/** Per account, per kind. */
export type StoredVersions = ReadonlyMap<string, ReadonlyMap<string, readonly StoredVersion[]>>

/** The rows by account, of these accounts or of all. */
export async function readStored(
  clickhouse: Clickhouse,
  resources: readonly AnyResource[],
  accountIds?: readonly string[],
): Promise<Map<string, StoredRow[]>> {
  const stored = new Map<string, StoredRow[]>()
  const where = accountIds === undefined ? '' : 'WHERE account_id IN {accounts:Array(String)}'
  for (const resource of resources) {
    const rows = await clickhouse.rows<Record<string, unknown>>(
      `SELECT * FROM ${tableOf(resource.kind)} FINAL ${where} ORDER BY version DESC LIMIT 1 BY account_id, id`,
      accountIds === undefined ? {} : { accounts: [...accountIds] },
    )
    for (const encoded of rows) {
      const row = decodeRow(resource, encoded)
      const deleted = Boolean(encoded['deleted'])
      getOrMake(stored, row.account_id, () => []).push({ kind: resource.kind, row, deleted })
    }
  }
  return stored
}

interface VersionsOfKind {
  readonly kind: string
  readonly account_id: string
  readonly found: readonly (readonly [id: string, version: number, deleted: boolean])[]
}

/** One statement, with a row per account and kind: a statement per kind and a row per resource cost four times the CPU. */
export async function readVersions(
  clickhouse: Clickhouse,
  resources: readonly AnyResource[],
): Promise<StoredVersions> {
  const ofKinds = resources.map(({ kind }) => {
    const table = tableOf(kind)
    return `SELECT '${kind}' AS kind, account_id, groupArray((id, version, deleted)) AS found FROM (
  SELECT account_id, id, max(version) AS version, argMax(deleted, ${table}.version) AS deleted
  FROM ${table} GROUP BY account_id, id) GROUP BY account_id`
  })
  const versions = new Map<string, Map<string, StoredVersion[]>>()
  for (const { kind, account_id, found } of await clickhouse.rows<VersionsOfKind>(
    ofKinds.join('\nUNION ALL\n'),
  )) {
    const rows = found.map(([id, version, deleted]) => ({ id, version, deleted: Boolean(deleted) }))
    getOrMake(versions, account_id, () => new Map<string, StoredVersion[]>()).set(kind, rows)
  }
  return versions
}

/**
 * The highest version of an account; 0 if it has no rows. Its own row is stored before all others of it, and alone says
 * that an account is new: to look into every table costs ten times the CPU.
 */
export async function highestVersion(
  clickhouse: Clickhouse,
  resources: readonly AnyResource[],
  accountId: string,
): Promise<number> {
  const ofAccount = { account: accountId }
  const sql = `SELECT 1 AS one FROM ${tableOf(account.kind)} WHERE account_id = {account:String} LIMIT 1`
  if ((await clickhouse.rows(sql, ofAccount)).length === 0) return 0
  const tables = resources.map(
    ({ kind }) => `SELECT max(version) AS version FROM ${tableOf(kind)} WHERE account_id = {account:String}`,
  )
  const [first] = await clickhouse.rows<{ version: number }>(
    `SELECT max(version) AS version FROM (${tables.join(' UNION ALL ')})`,
    ofAccount,
  )
  return Number(first?.version ?? 0)
}

/** Was the deployment used before? A new one has no tables or no account. */
export async function hasAccounts(clickhouse: Clickhouse): Promise<boolean> {
  const table = tableOf(account.kind)
  const [found] = await clickhouse.rows<{ result: number }>(`EXISTS TABLE ${table}`)
  if (found?.result !== 1) return false
  return (await clickhouse.rows(`SELECT 1 AS one FROM ${table} LIMIT 1`)).length > 0
}
