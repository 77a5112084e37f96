/**
 * Sums of decisions per quarter of an hour, by autonomous system and by server name: projections of the table of decisions.
 *
 * ClickHouse keeps them in each part, next to its rows. So they are inserted, merged, expire and are dropped together, and
 * always say the same as the rows. Parts of an earlier version have none: ClickHouse sums their rows instead, in the same
 * statement. Minutes would be almost as many as the rows.
 */

/** Hours and days are whole quarters. */
export const quarterMs = 15 * 60_000

const keys = ['source', 'decision']
const sums = ['weight', 'bytes_in', 'bytes_out']
const summedColumns = ['asn', 'server_name']

/** Do sums know these columns together? Each is about one of its own. */
export function areSummed(columns: ReadonlySet<string>): boolean {
  const own = [...columns].filter((column) => !keys.includes(column))
  return own.length === 1 && summedColumns.includes(own[0]!)
}

/** Do all sums have this column? */
export const isSummedBy = (column: string): boolean => keys.includes(column)

const quarterOf = (time: string): string => `toStartOfFifteenMinutes(${time})`

export interface Projection {
  readonly name: string
  /** As `CREATE TABLE` and `ALTER TABLE ADD` take it. */
  readonly sql: string
}

export const quarterProjections: readonly Projection[] = summedColumns.map((column) => {
  const name = `quarters_by_${column}`
  const groups = ['account_id', column, quarterOf('time'), ...keys].join(', ')
  return {
    name,
    sql: `${name} (SELECT ${groups}, ${sums.map((each) => `sum(${each})`).join(', ')} GROUP BY ${groups})`,
  }
})

/**
 * Rows with sums in place of each quarter's decisions, as a subquery of these columns; `time` is the start of the quarter.
 * `conditions`: on columns by which the sums are kept. `from`, `until`: whole quarters. ClickHouse recognizes the sums by
 * their expressions. Columns are named with their table, because sums have the same names.
 */
export function quartersSql(
  table: string,
  columns: readonly string[],
  conditions: readonly string[],
  { from, until }: { readonly from: string; readonly until: string },
): string {
  const quarter = quarterOf(`${table}.time`)
  const selected = columns.map((column) => {
    if (column === 'time') return `${quarter} AS time`
    return sums.includes(column) ? `sum(${table}.${column}) AS ${column}` : column
  })
  const groups = columns
    .filter((column) => !sums.includes(column))
    .map((column) => (column === 'time' ? quarter : column))
  const found = [...conditions, `${quarter} >= ${from}`, `${quarter} < ${until}`]
  return `SELECT ${selected.join(', ')} FROM ${table} WHERE ${found.join(' AND ')}${groups.length === 0 ? '' : ` GROUP BY ${groups.join(', ')}`}`
}
