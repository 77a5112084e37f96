/**
 * Sums of the decisions for which a filter is true. The sums that the log keeps know one dimension each, so these are made from
 * the rows: ClickHouse groups them by what the filter reads, and the filter itself decides about each group. So it means the
 * same as everywhere, and a day of rows becomes as few groups as its names have values.
 */
import { yieldTurn } from '../../core/clock.js'
import { badRequest } from '../../core/errors.js'
import { getOrMake } from '../../core/maps.js'
import { type DecisionRow, decisionColumns } from '../../wire/decision-rows.js'
import { isGroupsExceeded } from '../clickhouse/errors.js'
import type { CountRow, Counts, CountsQuery } from './count-query.js'
import type { ReadRows } from './log-queries.js'
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

/** Groups of one statement; a range with more of them is read in parts, within the time of a search. */
const groupsMax = 50_000
const partsOfRange = 8
/** A shorter range is not parted any more. */
const partMsMin = 1_000
const groupsBeforePause = 2_000

export async function countFilteredRows(
  read: ReadRows,
  query: CountsQuery,
  filter: CountFilter,
): Promise<RowCounts> {
  const points = new Map<string, MutableCount>()
  for await (const groups of groupsIn(read, query, filter))
    for (const [index, group] of groups.entries()) {
      if (index % groupsBeforePause === groupsBeforePause - 1) await yieldTurn()
      if (filter.matches(group)) add(points, group, query.sources)
    }
  return { ...ranked([...points.values()], query.valuesMax), rowsBeginMs: await rowsBegin(read, query) }
}

async function* groupsIn(
  read: ReadRows,
  query: CountsQuery,
  filter: CountFilter,
): AsyncGenerator<readonly Group[]> {
  const { sinceMs, untilMs } = query
  const groups = await readGroups(read, query, filter)
  if (groups !== undefined) {
    yield groups
    return
  }
  if (untilMs - sinceMs <= partMsMin) throw tooMany(filter)
  const partMs = Math.ceil((untilMs - sinceMs) / partsOfRange)
  for (let fromMs = sinceMs; fromMs < untilMs; fromMs += partMs)
    yield* groupsIn(read, { ...query, sinceMs: fromMs, untilMs: Math.min(fromMs + partMs, untilMs) }, filter)
}

const tooMany = ({ names }: CountFilter): Error =>
  badRequest(
    `The "filter" is about ${names.join(', ')}, which have too many different values together: more than ${groupsMax} in a second.`,
  )

/** Undefined if there are more than `groupsMax`: then ClickHouse stops early, and answers none of them. */
async function readGroups(
  read: ReadRows,
  query: CountsQuery,
  { reads, condition }: CountFilter,
): Promise<Group[] | undefined> {
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
    const groups = await read<Group>(sql, params)
    // Each thread of ClickHouse counts its own groups.
    return groups.length <= groupsMax ? groups : undefined
  } catch (error) {
    if (isGroupsExceeded(error)) return undefined
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
