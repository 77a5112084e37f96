/**
 * Values that decisions about records that began since a time named, of loaded records of the past, too: from the rows,
 * because sums know no own times.
 */
import type { ReadRows } from './log-queries.js'
import { decisionsTable } from './log-tables.js'
import { sinceSql } from './row-times.js'

/** Edges, policies and rules. */
export type Reached = Record<'edge' | 'policy' | 'rule', Set<string>>

interface ReachedByOwnTime extends Reached {
  /** When the first of these records was stored, in milliseconds since the epoch. */
  readonly firstStoredMs: number
}

const rows = `FROM ${decisionsTable} PREWHERE account_id = {account:String} WHERE ${sinceSql('own').join(' AND ')}`

const namedSql = `SELECT pair.1 AS named, pair.2 AS value FROM (
SELECT DISTINCT arrayJoin([('edge', toString(edge_id)), ('policy', toString(policy)), ('rule', toString(rule_id))]) AS pair
${rows}) WHERE value != '' LIMIT 500000`

const firstStoredSql = `SELECT toUnixTimestamp64Milli(min(time)) AS at ${rows}`

export interface NamedValue {
  readonly named: string
  readonly value: string
}

export function reachedOf(found: readonly NamedValue[]): Reached {
  const named = (what: string): Set<string> =>
    new Set(found.filter((row) => row.named === what).map(({ value }) => value))
  return { edge: named('edge'), policy: named('policy'), rule: named('rule') }
}

export async function readReachedByOwnTime(
  read: ReadRows,
  accountId: string,
  sinceMs: number,
): Promise<ReachedByOwnTime> {
  const params = { account: accountId, since: sinceMs }
  const [first] = await read<{ at: number }>(firstStoredSql, params)
  const found = await read<NamedValue>(namedSql, params)
  return { ...reachedOf(found), firstStoredMs: first?.at ?? 0 }
}
