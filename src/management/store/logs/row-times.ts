/**
 * The time by which rows of decisions are searched and summed: when they were stored, which is their order in the table, or
 * their own times. A row's own time is no later than some minutes after it was stored, so parts that were stored before a
 * range are left out; of the others, an index of own times tells which granules may have rows of the range.
 */
import { ownTimeAheadMs } from '../../../delivery/record/own-time.js'
import { timeOf } from './log-queries.js'

export const rowTimes = ['stored', 'own'] as const
export type RowTime = (typeof rowTimes)[number]

export const timeColumn = (time: RowTime): string => (time === 'own' ? 'own_time' : 'time')

/** Rows of the time that the parameter `since` has, or later. */
export function sinceSql(time: RowTime): readonly string[] {
  const begins = `${timeColumn(time)} >= ${timeOf('since')}`
  if (time === 'stored') return [begins]
  return [begins, `time >= fromUnixTimestamp64Milli({since:Int64} - ${ownTimeAheadMs}, 'UTC')`]
}

/** Rows before the time that the parameter `until` has. */
export const untilSql = (time: RowTime): string => `${timeColumn(time)} < ${timeOf('until')}`

/** The columns that order rows: by the time, and by their place in the stream of records within a millisecond. */
const orderOf = (time: RowTime): readonly string[] => [
  ...(time === 'own' ? ['own_time'] : []),
  ...['time', 'sequence', 'line', 'partition'],
]

export const newestFirst = (time: RowTime): string =>
  orderOf(time)
    .map((column) => `${column} DESC`)
    .join(', ')

/** Rows that come after a place in this order: its values are parameters. */
export function beforeSql(time: RowTime): readonly string[] {
  const first = time === 'own' ? timeOf('own') : timeOf('at')
  const values = [
    ...(time === 'own' ? [first] : []),
    timeOf('at'),
    '{sequence:UInt64}',
    '{line:UInt32}',
    '{partition:UInt8}',
  ]
  // Only the first condition helps ClickHouse to find granules.
  return [`${timeColumn(time)} <= ${first}`, `(${orderOf(time).join(', ')}) < (${values.join(', ')})`]
}
