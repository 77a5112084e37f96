/** Rows of ClickHouse, all versions, out of the tables of resources and into those of an empty database. */
import { gunzipSync, gzipSync } from 'node:zlib'
import { eachOf } from '../../../ground/core/concurrency.js'
import { StartFault } from '../../../ground/core/errors.js'
import { account } from '../../../words/resource/account.js'
import type { AnyResource } from '../../../words/resource/kind/define.js'
import type { ViewState } from '../../../words/view/view-state.js'
import type { Clickhouse } from '../clickhouse/clickhouse.js'
import { columnsOf, tableOf } from '../clickhouse/tables.js'
import type { Store } from '../store.js'

/** The version of each account at the moment of the backup. */
export type Versions = Readonly<Record<string, number>>

/** Where a page of rows ended. */
export interface RowPlace {
  readonly account_id: string
  readonly id: string
  readonly version: number
}

export interface RowPage {
  readonly rows: readonly Readonly<Record<string, unknown>>[]
  /** Undefined at the end. */
  readonly next: RowPlace | undefined
}

const accountsAtOnce = 8
/** A row may have half a mebibyte. */
const pageRows = 200

/** Of every account, once its last change is carried out: all rows of these versions are in ClickHouse. */
export async function settledVersions(store: Pick<Store, 'view' | 'settled'>): Promise<Versions> {
  const versions: Record<string, number> = {}
  await eachOf([...store.view.state.accounts.keys()], accountsAtOnce, async (id) => {
    const state: ViewState = await store.settled(id)
    versions[id] = state.versionOf(id)
  })
  return versions
}

/** The rows of a kind that follow, in the order of the table's key, with all columns. */
export async function pageOfRows(
  clickhouse: Pick<Clickhouse, 'rows'>,
  resource: AnyResource,
  after: RowPlace | undefined,
): Promise<RowPage> {
  const columns = columnsOf(resource).map(({ name }) => `\`${name}\``)
  const { account_id, id, version } = after ?? { account_id: '', id: '', version: 0 }
  const rows = await clickhouse.rows<RowPlace & Record<string, unknown>>(
    `SELECT ${columns.join(', ')} FROM ${tableOf(resource.kind)} FINAL
WHERE (account_id, id, version) > ({account:String}, {id:String}, {version:UInt64})
ORDER BY account_id, id, version LIMIT ${pageRows}`,
    { account: account_id, id, version },
  )
  const last = rows.at(-1)
  return { rows, next: rows.length < pageRows || last === undefined ? undefined : placeOf(last) }
}

const placeOf = ({ account_id, id, version }: RowPlace): RowPlace => ({ account_id, id, version })

export const countOfRows = async (clickhouse: Pick<Clickhouse, 'rows'>, kind: string): Promise<number> => {
  const [found] = await clickhouse.rows<{ count: number }>(
    `SELECT count() AS count FROM ${tableOf(kind)} FINAL`,
  )
  return Number(found?.count ?? 0)
}

/** A row for each line. */
export const packedRows = (rows: readonly object[]): Buffer =>
  gzipSync(rows.map((row) => `${JSON.stringify(row)}\n`).join(''))

const unpackedRows = (bytes: Uint8Array): Record<string, unknown>[] =>
  gunzipSync(bytes)
    .toString()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>)

/** Stores rows in a table that has none of them. */
export async function insertRows(
  clickhouse: Pick<Clickhouse, 'insert'>,
  resource: AnyResource,
  bytes: Uint8Array,
): Promise<void> {
  const known = new Set(columnsOf(resource).map(({ name }) => name))
  const rows = unpackedRows(bytes)
  const unknown = Object.keys(rows[0] ?? {}).find((name) => !known.has(name))
  if (unknown !== undefined)
    throw new StartFault(
      `The backup has the column ${unknown} of ${tableOf(resource.kind)}, which this version does not know.`,
    )
  await clickhouse.insert(tableOf(resource.kind), rows)
}

/** The account's own row comes last: a database in which none is has no accounts, whatever else was stored. */
export const restoreOrder = (resources: readonly AnyResource[]): AnyResource[] => [
  ...resources.filter(({ kind }) => kind !== account.kind),
  ...resources.filter(({ kind }) => kind === account.kind),
]
