/**
 * Reads from the decision log the decisions of a challenger next to those of the configuration in force. Each record counts
 * once.
 */
import { type DecisionRow, decisionColumns } from '../../../delivery/wire/decision-rows.js'
import { inTime, type ReadRows, timeOf } from './log-queries.js'
import { selected } from './log-sql.js'
import { decisionsTable } from './log-tables.js'

export interface ChallengerQuery {
  readonly accountId: string
  readonly challengerId: string
  readonly sinceMs: number
  readonly untilMs: number
}

type Word = 'allow' | 'block' | 'deny'

/** How many records have a pair of decisions. */
export interface ComparedPair {
  readonly before: Word
  readonly after: Word
  readonly records: number
}

export interface ComparedValue extends ComparedPair {
  /** Empty: unknown. */
  readonly value: string
}

interface ComparedInterval extends ComparedPair {
  /** Its number since the epoch. */
  readonly interval: number
}

/** The parts that decided: live, and by the draft. */
export interface ComparedDeciders extends ComparedPair {
  readonly before_type: string
  readonly before_id: string
  readonly before_policy: string
  readonly before_rule: string
  readonly after_type: string
  readonly after_id: string
  readonly after_policy: string
  readonly after_rule: string
}

/** How many records were compared. */
export interface ComparedPairs {
  readonly pairs: readonly ComparedPair[]
  /** The first and the last record: milliseconds since the epoch, 0 without any. */
  readonly firstMs: number
  readonly lastMs: number
}

/** Parts that are read after the pairs, the most useful first: those that there is no time for are missing. */
export type ComparedPart = 'deciders' | 'examples' | 'overTime' | 'clients' | 'edges' | 'countries'

export interface ComparedRows extends ComparedPairs {
  /** They took too long, and are empty. */
  readonly missing: readonly ComparedPart[]
  readonly intervalSeconds: number
  /** By the number of the interval since the epoch. */
  readonly overTime: readonly ComparedInterval[]
  readonly edges: readonly ComparedValue[]
  readonly countries: readonly ComparedValue[]
  readonly clients: readonly ComparedValue[]
  readonly deciders: readonly ComparedDeciders[]
  readonly examples: readonly DecisionRow[]
}

const valuesListed = 30
const examplesMax = 10

const where = `account_id = {account:String} AND time >= ${timeOf('since')} AND time < ${timeOf('until')}
AND source = 'record' AND challenger_id = {challenger:String}`

/** A row that was stored twice is read once. */
const compared = (columns: string, condition = '') => `(SELECT toString(decision) AS before,
toString(challenger_decision) AS after, ${columns} FROM ${decisionsTable} WHERE ${where} ${condition} LIMIT 1 BY time, sequence, line, partition)`

const differing = 'AND toString(decision) != toString(challenger_decision)'

const pairsSql = `SELECT before, after, count() AS records, toUnixTimestamp64Milli(min(time)) AS firstMs,
toUnixTimestamp64Milli(max(time)) AS lastMs FROM ${compared('time')} GROUP BY before, after`

const overTimeSql = `SELECT intDiv(toUnixTimestamp64Milli(time), {length:Int64}) AS interval, before, after, count() AS records
FROM ${compared('time')} GROUP BY interval, before, after`

const valuesSql = (value: string) => `SELECT value, before, after, count() AS records
FROM ${compared(`${value} AS value`, differing)} GROUP BY value, before, after
ORDER BY records DESC, value, before, after LIMIT ${valuesListed}`

const deciders = `toString(decided_by) AS before_type, toString(decided_by_id) AS before_id, toString(policy) AS before_policy,
toString(rule_id) AS before_rule, toString(challenger_decided_by) AS after_type, toString(challenger_decided_by_id) AS after_id,
toString(challenger_policy) AS after_policy, toString(challenger_rule_id) AS after_rule`

const decidersSql = `SELECT *, count() AS records FROM ${compared(deciders, differing)} GROUP BY ALL
ORDER BY records DESC, before_id, before_policy, before_rule, after_id, after_policy, after_rule LIMIT ${valuesListed}`

const examplesSql = `SELECT ${selected(decisionColumns)} FROM ${decisionsTable} WHERE ${where} ${differing}
ORDER BY time, sequence, line LIMIT 1 BY client_ip, edge_id, decision, challenger_decision LIMIT ${examplesMax}`

/** How many records were compared, by pairs of decisions, and when the first and the last was stored. */
export async function readPairs(read: ReadRows, query: ChallengerQuery): Promise<ComparedPairs> {
  const pairs = await read<ComparedPair & { firstMs: number; lastMs: number }>(pairsSql, paramsOf(query))
  return {
    pairs,
    firstMs: pairs.length === 0 ? 0 : Math.min(...pairs.map((pair) => Number(pair.firstMs))),
    lastMs: Math.max(0, ...pairs.map((pair) => Number(pair.lastMs))),
  }
}

/** Records that are decided differently; they differ in client, edge or decision. */
export const readExamples = (read: ReadRows, query: ChallengerQuery): Promise<DecisionRow[]> =>
  read<DecisionRow>(examplesSql, paramsOf(query))

const paramsOf = ({ accountId, challengerId, sinceMs, untilMs }: ChallengerQuery) => ({
  account: accountId,
  challenger: challengerId,
  since: sinceMs,
  until: untilMs,
})

/** `secondsFor`: the length of the intervals between two times. */
export async function readCompared(
  read: ReadRows,
  query: ChallengerQuery,
  secondsFor: (firstMs: number, lastMs: number) => number,
): Promise<ComparedRows> {
  const { pairs, firstMs, lastMs } = await readPairs(read, query)
  // Records that came since are in none of the parts, so that all count the same.
  const counted = { ...query, untilMs: lastMs + 1 }
  const params = paramsOf(counted)
  const intervalSeconds = secondsFor(firstMs, lastMs)
  const missing: ComparedPart[] = []
  // Without records there is nothing to read; after the time is over, nothing more is read.
  const part = async <T>(name: ComparedPart, answer: () => Promise<T[]>): Promise<T[]> => {
    if (pairs.length === 0) return []
    const rows = missing.length > 0 ? undefined : await inTime(answer)
    if (rows === undefined) missing.push(name)
    return rows ?? []
  }
  const values = (name: ComparedPart, column: string) =>
    part(name, () => read<ComparedValue>(valuesSql(column), params))
  const length = intervalSeconds * 1000
  return {
    pairs,
    firstMs,
    lastMs,
    missing,
    intervalSeconds,
    deciders: await part('deciders', () => read<ComparedDeciders>(decidersSql, params)),
    examples: await part('examples', () => readExamples(read, counted)),
    overTime: await part('overTime', () => read<ComparedInterval>(overTimeSql, { ...params, length })),
    clients: await values('clients', 'toString(client_ip)'),
    edges: await values('edges', 'toString(edge_id)'),
    countries: await values('countries', 'toString(country)'),
  }
}
