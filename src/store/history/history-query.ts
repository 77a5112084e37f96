/**
 * Queries of the history, and their statements. Rows can be stored twice until ClickHouse merges them, so every
 * statement counts a row once.
 */
import { apiKey } from '../../resource/api-key.js'
import { policyKind, ruleKind } from '../../view/keys.js'
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

/** A change of a resource in one version. */
export interface Step extends Origin {
  readonly id: string
  readonly version: number
  readonly deleted: boolean
  readonly previous: number
  readonly previous_deleted: boolean
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

/** An id and a version. */
export const stepOf = (id: string, version: number): string => `${id} ${version}`

/** Versions of resources, by kind and, within it, by their step. */
export type StepsByKind = ReadonlyMap<string, ReadonlyMap<string, number>>

/** A statement with a part for each kind, and the parameters of all. */
function ofEachKind(
  accountId: string,
  wanted: StepsByKind,
  part: (kind: string, parameters: { readonly [Name in 'ids' | 'steps' | 'versions']: string }) => string,
) {
  const params: Record<string, unknown> = { account: accountId }
  const parts = [...wanted].map(([kind, steps], index) => {
    params[`ids_${index}`] = [...new Set([...steps.keys()].map((step) => step.split(' ')[0]))]
    params[`steps_${index}`] = [...steps.keys()]
    params[`versions_${index}`] = [...new Set(steps.values())]
    return part(kind, {
      ids: `{ids_${index}:Array(String)}`,
      steps: `{steps_${index}:Array(String)}`,
      versions: `{versions_${index}:Array(UInt64)}`,
    })
  })
  return { sql: parts.join('\nUNION ALL\n'), params }
}

/** For each step: its verb, its author, and the version before it. */
export const stepsStatement = (accountId: string, wanted: StepsByKind) =>
  ofEachKind(
    accountId,
    wanted,
    (kind, { ids, steps, versions }) => `SELECT * FROM (
SELECT id, version, deleted, ${origin.join(', ')}, lagInFrame(version, 1, 0) OVER earlier AS previous,
lagInFrame(deleted, 1, true) OVER earlier AS previous_deleted
FROM (SELECT id, version, deleted, ${origin.join(', ')} FROM ${tableOf(kind)}
WHERE account_id = {account:String} AND id IN ${ids} AND version <= arrayMax(${versions}) LIMIT 1 BY id, version)
WINDOW earlier AS (PARTITION BY id ORDER BY version ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW))
WHERE concat(id, ' ', toString(version)) IN ${steps}`,
  )

export interface VersionRow {
  readonly kind: string
  /** JSON. */
  readonly text: string
}

/** The rows of these steps. */
export const rowsStatement = (accountId: string, wanted: StepsByKind) =>
  ofEachKind(
    accountId,
    wanted,
    (kind, { ids, steps, versions }) =>
      `SELECT '${kind}' AS kind, formatRowNoNewline('JSONEachRow', *) AS text FROM ${tableOf(kind)}
WHERE account_id = {account:String} AND id IN ${ids} AND version IN ${versions}
AND concat(id, ' ', toString(version)) IN ${steps} LIMIT 1 BY id, version`,
  )

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
