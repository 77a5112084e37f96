/**
 * Sums of the decisions for which a filter is true. The sums that the log keeps know one dimension each, so these are made
 * from the rows: ClickHouse groups them by what the filter reads, and the filter itself decides about each group. So it
 * means the same as everywhere, and a day of rows becomes as few groups as its names have values. Of names with many values,
 * such as paths, an answer may have no time for all of the range: it is then about the newest part of it, and says where
 * that begins.
 */

import { type DecisionRow, decisionColumns } from '../../../delivery/wire/decision-rows.js'
import { monotonicMs, yieldTurn } from '../../../ground/core/clock.js'
import { badRequest } from '../../../ground/core/errors.js'
import { getOrMake } from '../../../ground/core/maps.js'
import { isGroupsExceeded } from '../clickhouse/errors.js'
import type { CountRow, Counts, CountsQuery } from './count-query.js'
import { inTime, type ReadRows } from './log-queries.js'
import { selectionSql } from './log-selection.js'
import { conditionSql, type LogCondition, selected } from './log-sql.js'
import { decisionsTable } from './log-tables.js'
import { isSeen, type RowCounts, rowsBegin, seenSources, valueSql } from './row-counts.js'
import { sinceSql, timeColumn, untilSql } from './row-times.js'

export interface CountFilter {
  /** The members of a row that it reads. */
  readonly reads: readonly (keyof DecisionRow)[]
  /** The names that it uses, for messages. */
  readonly names: readonly string[]
  /** A condition that all rows meet for which the filter is true. */
  readonly condition: LogCondition | undefined
  /** Only the members that it reads are set. */
  readonly matches: (row: DecisionRow) => boolean
}

interface Group extends DecisionRow {
  readonly bucket: number
  readonly counted: string
  readonly sumOfDecisions: number
  readonly sumOfBytesIn: number
  readonly sumOfBytesOut: number
}

type MutableCount = { -readonly [Name in keyof CountRow]: CountRow[Name] }

/** Groups of one statement; a range with more of them is read in parts. */
const groupsMax = 50_000
/** A part of a range that has too many groups, or takes too long. */
const partsOfRange = 8
/** Parts are as long as they may have such a share of the groups, and take so long. */
const groupsShare = 0.8
const partTookMaxMs = 500
/** Whole seconds; a shorter range is not parted any more. */
const partMsMin = 1_000
/** As long as nothing is counted, a part that needs more than this share of what time is left is made shorter. */
const firstShare = 0.25
const groupsBeforePause = 2_000
/** Answers of the filter that are remembered. */
const knownMax = 200_000

export interface FilteredCounts extends RowCounts {
  /** Milliseconds since the epoch: what came before is not counted, because there was no time for it; undefined: all is. */
  readonly reachedMs: number | undefined
}

/** `endMs`: what is counted by then is the answer, the newest part of the range; later, if nothing is. */
export async function countFilteredRows(
  read: ReadRows,
  query: CountsQuery,
  filter: CountFilter,
  endMs: number,
): Promise<FilteredCounts> {
  const points = new Map<string, MutableCount>()
  const matches = remembering(filter)
  let reachedMs = query.untilMs
  for await (const { sinceMs, groups } of partsOf(read, query, filter, endMs)) {
    for (const [index, group] of groups.entries()) {
      if (index % groupsBeforePause === groupsBeforePause - 1) await yieldTurn()
      if (matches(group)) add(points, group, query.sources)
    }
    reachedMs = sinceMs
  }
  return {
    ...ranked([...points.values()], query.valuesMax),
    rowsBeginMs: await inTime(() => rowsBegin(read, query)),
    reachedMs: reachedMs > query.sinceMs ? reachedMs : undefined,
  }
}

/** Groups of other intervals and other decisions often have what the filter reads in common. */
function remembering({ reads, matches }: CountFilter): (group: Group) => boolean {
  const known = new Map<string, boolean>()
  return (group) => {
    const key = reads.map((name) => group[name]).join('\n')
    const found = known.get(key)
    if (found !== undefined) return found
    const isMatch = matches(group)
    if (known.size < knownMax) known.set(key, isMatch)
    return isMatch
  }
}

interface Part {
  readonly sinceMs: number
  readonly groups: readonly Group[]
}

/** Adjoining parts of the range, the newest first: the whole of it, if it has few groups. They end when the time does. */
async function* partsOf(
  read: ReadRows,
  { sinceMs, ...query }: CountsQuery,
  filter: CountFilter,
  endMs: number,
): AsyncGenerator<Part> {
  let lengthMs = query.untilMs - sinceMs
  let tookMs = 0
  for (let untilMs = query.untilMs; untilMs > sinceMs; ) {
    const part = { ...query, sinceMs: Math.max(sinceMs, untilMs - lengthMs), untilMs }
    const partMs = untilMs - part.sinceMs
    const isFirst = untilMs === query.untilMs
    const isShortest = partMs <= partMsMin
    const leftMs = endMs - monotonicMs()
    // One that would take too long is not begun.
    if (leftMs <= tookMs && !isFirst) return
    const beganMs = monotonicMs()
    const ask = (atMostMs?: number) => readGroups(read, part, filter, atMostMs)
    // Nothing can be answered without the newest part, so the shortest one may take all the time of the search.
    const found = await (isFirst && isShortest
      ? ask()
      : inTime(() => ask(isFirst ? Math.max(1, leftMs * firstShare) : leftMs)))
    if (found === undefined && !isFirst) return
    if (found === undefined || found === 'too many') {
      if (isShortest) throw tooMany(filter)
      lengthMs = Math.ceil(partMs / partsOfRange / partMsMin) * partMsMin
      continue
    }
    yield { sinceMs: part.sinceMs, groups: found }
    untilMs = part.sinceMs
    tookMs = monotonicMs() - beganMs
    const growth = Math.min(
      partsOfRange,
      (groupsMax * groupsShare) / Math.max(1, found.length),
      partTookMaxMs / Math.max(1, tookMs),
    )
    lengthMs = Math.max(1, Math.floor((partMs * growth) / partMsMin)) * partMsMin
  }
}

const tooMany = ({ names }: CountFilter): Error =>
  badRequest(
    `The "filter" is about ${names.join(', ')}, which have too many different values together: more than ${groupsMax} in a second.`,
  )

/** If there are more than `groupsMax`, ClickHouse stops early, and answers none of them. */
async function readGroups(
  read: ReadRows,
  query: CountsQuery,
  { reads, condition }: CountFilter,
  atMostMs: number | undefined,
): Promise<readonly Group[] | 'too many'> {
  const { accountId, dimension, intervalMs, sinceMs, untilMs, time = 'stored' } = query
  const params: Record<string, unknown> = {
    account: accountId,
    since: sinceMs,
    until: untilMs,
    seconds: intervalMs / 1000,
    limit: groupsMax + 1,
    seen: seenSources(query),
  }
  const keys = [...new Set([...reads, 'source', 'decision'] as const)]
  const required = condition === undefined ? '' : ` AND ${conditionSql(condition, params)}`
  const { narrow, exact } = selectionSql(query.selection ?? { values: {} }, params)
  const selection = [...narrow, ...exact].map((each) => ` AND ${each}`).join('')
  const sql = `SELECT * FROM (
SELECT intDiv(toUnixTimestamp(${timeColumn(time)}), {seconds:UInt32}) * {seconds:UInt32} * 1000 AS bucket,
${valueSql(dimension)} AS counted, ${selected(decisionColumns, keys)}, sum(weight) AS sumOfDecisions,
sum(${decisionsTable}.bytes_in) AS sumOfBytesIn, sum(${decisionsTable}.bytes_out) AS sumOfBytesOut
FROM ${decisionsTable} WHERE account_id = {account:String} AND ${[...sinceSql(time), untilSql(time), isSeen].join(' AND ')}${selection}${required}
GROUP BY bucket, counted, ${keys.join(', ')}
SETTINGS max_rows_to_group_by = ${groupsMax}, group_by_overflow_mode = 'throw') LIMIT {limit:UInt32}`
  try {
    const groups = await read<Group>(sql, params, atMostMs)
    // Each thread of ClickHouse counts its own groups.
    return groups.length <= groupsMax ? groups : 'too many'
  } catch (error) {
    if (isGroupsExceeded(error)) return 'too many'
    throw error
  }
}

function add(
  points: Map<string, MutableCount>,
  group: Group,
  sources: readonly DecisionRow['source'][],
): void {
  const { bucket, counted, decision, sumOfDecisions } = group
  const point = getOrMake(points, `${bucket} ${counted}`, () => emptyPoint(bucket, counted))
  if (group.source === 'asked') point.asked += sumOfDecisions
  if (!sources.includes(group.source)) return
  point[decision] += sumOfDecisions
  point.bytes_in += group.sumOfBytesIn
  point.bytes_out += group.sumOfBytesOut
}

const emptyPoint = (at: number, value: string): MutableCount => ({
  at,
  value,
  allow: 0,
  block: 0,
  deny: 0,
  bytes_in: 0,
  bytes_out: 0,
  asked: 0,
})

/** The values with the most decisions; counts oldest first. */
function ranked(points: readonly CountRow[], valuesMax: number): Counts {
  const totals = new Map<string, number>()
  for (const point of points) totals.set(point.value, (totals.get(point.value) ?? 0) + sizeOf(point))
  const values = [...totals]
    .toSorted(([one, a], [other, b]) => b - a || (one < other ? -1 : 1))
    .slice(0, valuesMax)
    .map(([value]) => value)
  const counts = points
    .filter(({ value }) => values.includes(value))
    .toSorted(
      (one, other) => one.at - other.at || sizeOf(other) - sizeOf(one) || (one.value < other.value ? -1 : 1),
    )
  return { counts, valuesLeftOut: totals.size - values.length }
}

const sizeOf = ({ allow, block, deny, asked }: CountRow): number => allow + block + deny + asked
