/**
 * Queries of the history, and their statements. Rows can be stored twice until ClickHouse merges them, so every
 * statement counts a row once.
 */
import { apiKey } from '../../../words/resource/api-key.js'
import { challenger } from '../../../words/resource/challenger.js'
import { policyKind, ruleKind } from '../../../words/view/keys.js'
import { tableOf } from '../clickhouse/tables.js'

/** Entries are sorted by version and, within one, by this id. */
export interface HistoryPosition {
  readonly version: number
  /** Empty: before every entry of the version. */
  readonly id: string
}

export interface HistoryQuery {
  readonly accountId: string
  /** The kinds to look at; the rules of IP policies come with their policies. */
  readonly kinds: readonly string[]
  /** One resource, of the only kind. */
  readonly id?: string | undefined
  /** Only entries that come after this one in the list. */
  readonly before?: HistoryPosition | undefined
  readonly sinceMs?: number | undefined
  readonly untilMs?: number | undefined
  readonly limit: number
}

/** The author of a change. */
export interface Origin {
  readonly changed_at: string
  readonly changed_by: string
  readonly client_address: string | null
  readonly operation_id: string | null
  readonly tests_skipped: boolean
}

export interface Header {
  /** Empty if only rules of the policy were changed. */
  readonly kind: string
  readonly id: string
  readonly version: number
  readonly rules: number
  readonly rule_id: string
}

/** A version of a resource, as it is read. */
export interface StepRow extends Origin {
  readonly id: string
  readonly version: number
  readonly deleted: boolean
}

const ruleTable = tableOf(ruleKind)

/** The author of the change, in columns of the same names. */
const origin = ['changed_at', 'changed_by', 'client_address', 'operation_id', 'tests_skipped']

/**
 * Finds the changed resources, newest first. A statement of embedded ClickHouse costs milliseconds, and so does each of its
 * tables: those of all kinds are read at once, and only the columns that say what to show.
 */
export function headersSql(query: HistoryQuery): string {
  const { kinds, id } = query
  const isWhole = id === undefined
  const own = kinds.filter((kind) => !isWhole || kind !== ruleKind)
  const branches = own.map((kind) => ownRowsSql(kind, query))
  const hasRules = kinds.includes(policyKind) || (isWhole && kinds.includes(ruleKind))
  if (hasRules) branches.push(ruleGroupsSql(query))
  return `SELECT max(kind) AS kind, id, version, max(rules) AS rules, max(rule_id) AS rule_id
FROM (${branches.join('\nUNION ALL\n')})
GROUP BY version, id ORDER BY version DESC, id DESC LIMIT {limit:UInt32}`
}

const ownRowsSql = (kind: string, query: HistoryQuery): string =>
  `SELECT '${kind}' AS kind, id, version, 0 AS rules, '' AS rule_id
FROM ${tableOf(kind)} WHERE ${conditions(query, 'id')}`

/**
 * The rules of a policy that were changed together: how many rows, at least, and the first and last rule. There can be
 * millions of rows, so only narrow columns are read: who made the change is read by `originsSql`.
 */
const ruleGroupsSql = (query: HistoryQuery): string =>
  `SELECT '' AS kind, policy AS id, version, if(min(rule) = max(rule), 1, count()) AS rules, min(rule) AS rule_id
FROM (SELECT assumeNotNull(ip_policy_id) AS policy, version, id AS rule
FROM ${ruleTable} WHERE ${conditions(query, 'assumeNotNull(ip_policy_id)')})
GROUP BY version, policy ORDER BY version DESC, policy DESC LIMIT {limit:UInt32}`

/** The authors of the changes of these rules. */
export const originsSql = `SELECT version, ${origin.join(', ')} FROM ${ruleTable}
WHERE account_id = {account:String} AND id IN {ids:Array(String)} AND version IN {versions:Array(UInt64)}
LIMIT 1 BY version`

/** The last description of each key, as it was before a deletion. */
export const keyDescriptionsSql = `SELECT id, argMaxIf(ifNull(description, ''), version, NOT deleted) AS text
FROM ${tableOf(apiKey.kind)} WHERE account_id = {account:String} AND id IN {ids:Array(String)} GROUP BY id`

function conditions({ id, before, sinceMs, untilMs }: HistoryQuery, idColumn: string): string {
  const time = 'toUnixTimestamp64Milli(changed_at)'
  return [
    'account_id = {account:String}',
    ...(id === undefined ? [] : [`${idColumn} = {id:String}`]),
    ...(before === undefined
      ? []
      : [
          `(version < {before_version:UInt64} OR (version = {before_version:UInt64} AND ${idColumn} < {before_id:String}))`,
        ]),
    ...(sinceMs === undefined ? [] : [`${time} >= {since:Int64}`]),
    ...(untilMs === undefined ? [] : [`${time} < {until:Int64}`]),
  ].join(' AND ')
}

/** A resource in one version of its account. */
export interface Place {
  readonly kind: string
  readonly id: string
  readonly version: number
}

/** Ids have their kind in them, so this names a place. */
export const stepOf = (id: string, version: number): string => `${id} ${version}`

interface Statement {
  readonly sql: string
  readonly params: Readonly<Record<string, unknown>>
}

/**
 * A part for each kind of these places. All parts share their parameters, because each is a statement of its own for
 * embedded ClickHouse; an id of another kind is in no key of a table, so it costs nothing there.
 */
const ofEachKind = (places: readonly Place[], part: (kind: string) => string): string =>
  [...new Set(places.map(({ kind }) => kind))].map(part).join('\nUNION ALL\n')

const idsOf = (places: readonly Place[]): string[] => [...new Set(places.map(({ id }) => id))]

/**
 * Each resource's versions between the first and the last of these places, and the last one before, each once. They are read
 * from narrow columns: a resource can have very many versions.
 */
export function stepsStatement(accountId: string, places: readonly Place[]): Statement {
  const versions = places.map(({ version }) => version)
  const [first, last] = [Math.min(...versions), Math.max(...versions)]
  const parts = ofEachKind(
    places,
    (kind) => `SELECT id, version, deleted, ${origin.join(', ')} FROM ${tableOf(kind)}
WHERE account_id = {account:String} AND id IN {ids:Array(String)} AND version <= {last:UInt64}`,
  )
  return {
    sql: `SELECT * FROM (${parts}) ORDER BY id, version DESC LIMIT 1 BY id, greatest(version, {before:UInt64})`,
    params: { account: accountId, ids: idsOf(places), before: first - 1, last },
  }
}

export interface VersionRow {
  readonly kind: string
  /** JSON. */
  readonly text: string
}

/** The rows of these places, and possibly others of the same resources. */
export function rowsStatement(accountId: string, places: readonly Place[]): Statement {
  const versions = [...new Set(places.map(({ version }) => version))]
  const sql = ofEachKind(
    places,
    (kind) => `SELECT '${kind}' AS kind, formatRowNoNewline('JSONEachRow', *) AS text FROM ${tableOf(kind)}
WHERE account_id = {account:String} AND id IN {ids:Array(String)} AND version IN {versions:Array(UInt64)}`,
  )
  return { sql, params: { account: accountId, ids: idsOf(places), versions } }
}

/** The versions, of these, that promoted a challenger: the first that says so. */
export const promotionsSql = `SELECT id, min(version) AS promoted FROM ${tableOf(challenger.kind)}
WHERE account_id = {account:String} AND promoted_at IS NOT NULL
GROUP BY id HAVING promoted IN {versions:Array(UInt64)}`

/** Counts the changed rules of policies: a rule is added if it did not exist just before. */
export const ruleCountsSql = `SELECT policy, version, countIf(deleted) AS removed,
countIf(NOT deleted AND was_deleted) AS added, countIf(NOT deleted AND NOT was_deleted) AS updated
FROM (SELECT policy, version, deleted,
lagInFrame(deleted, 1, true) OVER (PARTITION BY id ORDER BY version ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS was_deleted
FROM (SELECT DISTINCT assumeNotNull(ip_policy_id) AS policy, version, id, deleted FROM ${ruleTable}
WHERE account_id = {account:String} AND id IN (
SELECT id FROM ${ruleTable} WHERE account_id = {account:String} AND ip_policy_id IN {policies:Array(String)}
AND version IN {versions:Array(UInt64)})))
WHERE policy IN {policies:Array(String)} AND version IN {versions:Array(UInt64)}
GROUP BY policy, version`
