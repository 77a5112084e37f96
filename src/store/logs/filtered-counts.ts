/**
 * Sums of the decisions for which a filter is true. The sums that the log keeps know one dimension each, so these are made from
 * the rows: ClickHouse groups them by what the filter reads, and the filter itself decides about each group. So it means the
 * same as everywhere, and a day of rows becomes as few groups as its names have values.
 */
import { yieldTurn } from '../../core/clock.js'
import { badRequest } from '../../core/errors.js'
import { getOrMake } from '../../core/maps.js'
import { type DecisionRow, decisionColumns } from '../../wire/decision-rows.js'
import type { CountRow, Counts, CountsQuery } from './count-query.js'
import { type ReadRows, timeOf } from './log-queries.js'
import { conditionSql, type LogCondition, selected } from './log-sql.js'
import { countsTable, decisionsTable } from './log-tables.js'

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

export interface FilteredCounts extends Counts {
  /** Milliseconds since the epoch: sums reach further back than rows, which begin here; undefined if rows are as old as the range. */
  readonly rowsBeginMs: number | undefined
}

interface Group extends DecisionRow {
  readonly bucket: number
  readonly counted: string
  readonly sumOfDecisions: number
  readonly sumOfBytesIn: number
  readonly sumOfBytesOut: number
}

type MutableCount = { -readonly [Name in keyof CountRow]: CountRow[Name] }

/** The answer has a line for each interval and value; groups are what must be read for it. */
const groupsMax = 50_000
const groupsBeforePause = 2_000

export async function countRows(
  read: ReadRows,
  query: CountsQuery,
  filter: CountFilter,
): Promise<FilteredCounts> {
  const groups = await readGroups(read, query, filter)
  const points = new Map<string, MutableCount>()
  for (const [index, group] of groups.entries()) {
    if (index % groupsBeforePause === groupsBeforePause - 1) await yieldTurn()
    if (filter.matches(group)) add(points, group, query.source)
  }
  return { ...ranked([...points.values()], query.valuesMax), rowsBeginMs: await rowsBegin(read, query) }
}

async function readGroups(read: ReadRows, query: CountsQuery, { reads, names, condition }: CountFilter) {
  const { accountId, dimension, intervalMs, sinceMs, untilMs } = query
  const params: Record<string, unknown> = {
    account: accountId,
    since: sinceMs,
    until: untilMs,
    seconds: intervalMs / 1000,
    limit: groupsMax + 1,
  }
  const keys = [...new Set([...reads, 'source', 'decision'] as const)]
  const required = condition === undefined ? '' : ` AND ${conditionSql(condition, params)}`
  const groups = await read<Group>(
    `SELECT intDiv(toUnixTimestamp(time), {seconds:UInt32}) * {seconds:UInt32} * 1000 AS bucket,
${valueColumns[dimension] ?? "''"} AS counted, ${selected(decisionColumns, keys)}, sum(weight) AS sumOfDecisions,
sum(${decisionsTable}.bytes_in) AS sumOfBytesIn, sum(${decisionsTable}.bytes_out) AS sumOfBytesOut
FROM ${decisionsTable} WHERE account_id = {account:String} AND time >= ${timeOf('since')} AND time < ${timeOf('until')}${required}
GROUP BY bucket, counted, ${keys.join(', ')} LIMIT {limit:UInt32}`,
    params,
  )
  if (groups.length <= groupsMax) return groups
  throw badRequest(
    `The "filter" is about ${names.join(', ')}, which have too many different values together in this range: more than ${groupsMax} groups would be counted. Narrow it with "since" and "until", or use names with fewer values.`,
  )
}

/** The column of each dimension. */
const valueColumns: Readonly<Record<string, string>> = {
  edge: 'edge_id',
  policy: 'policy',
  rule: 'rule_id',
  country: `${decisionsTable}.country`,
}

function add(points: Map<string, MutableCount>, group: Group, source: DecisionRow['source']): void {
  const { bucket, counted, decision, sumOfDecisions } = group
  const point = getOrMake(points, `${bucket} ${counted}`, () => emptyPoint(bucket, counted))
  if (group.source === 'asked') point.asked += sumOfDecisions
  if (group.source !== source) return
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

/** Sums are kept longer than rows. Both beginnings are those of the deployment, which ClickHouse knows without reading. */
async function rowsBegin(read: ReadRows, { sinceMs }: CountsQuery): Promise<number | undefined> {
  const [found] = await read<{ rows: number; sums: number }>(
    `SELECT (SELECT toUnixTimestamp64Milli(min(time)) FROM ${decisionsTable}) AS rows,
(SELECT toUnixTimestamp(min(minute)) * 1000 FROM ${countsTable}) AS sums`,
    {},
  )
  if (found === undefined) return undefined
  const { rows, sums } = found
  return sums < rows - minuteMs && sinceMs < rows - minuteMs ? rows : undefined
}

const minuteMs = 60_000
