/** The number of decisions by each rule of IP policies, from the sums of the decision log. */
import { countsTable } from './log-tables.js'

/** The blocks of one deny rule: records, and questions of ingress nodes and proxies. */
export interface RuleUse {
  readonly ruleId: string
  readonly blocked: number
  readonly asked: number
  /** The last minute in which it blocked anything: milliseconds since the epoch. */
  readonly lastMs: number
}

export const ruleUsesSql = `SELECT value AS ruleId, sumIf(block, dimension = 'rule') AS blocked,
sumIf(block, dimension = 'asked_rule') AS asked, toUnixTimestamp(max(minute)) * 1000 AS lastMs
FROM ${countsTable} WHERE account_id = {account:String} AND dimension IN ('rule', 'asked_rule')
AND minute >= toStartOfMinute(toDateTime({since:UInt32}, 'UTC')) AND value IN {rules:Array(String)} AND block > 0
GROUP BY value`
