/**
 * The tables of attempts to deliver:
 *
 * - `deliveries`: a row per request and outcome, in the layout of `wire/delivery-rows.ts`, sorted by account, destination
 *   and time. An event is found by its tag among the rows whose events have its time.
 * - `delivery_counts`: sums per minute and destination.
 */
import { deliveryColumns } from '../../../delivery/wire/delivery-rows.js'
import { type Cluster, feedOn, storedRows } from '../clickhouse/cluster.js'
import { type LogBounds, type LogTable, minuteColumn, rowsTable, sumsTable } from './log-table.js'

export const deliveriesTable = 'deliveries'
export const deliveryCountsTable = 'delivery_counts'
export const deliverySums = ['delivered', 'failed', 'dead_lettered', 'requests'] as const

/** Rows hold hundreds of tags each, so a granule has few rows. */
const rowsPerGranule = 256

const { accountId, destinationId, eventsFrom, eventsUntil } = deliveryColumns

const indexOf = (column: string): string => `INDEX by_${column} ${column} TYPE minmax GRANULARITY 1`

const rows = {
  name: deliveriesTable,
  columns: Object.values(deliveryColumns),
  indices: [eventsFrom, eventsUntil].map(({ name }) => indexOf(name)),
  order: 'account_id, destination_id, time',
  settings: { index_granularity: rowsPerGranule },
}

const sums = {
  name: deliveryCountsTable,
  columns: [accountId, minuteColumn, destinationId],
  sums: deliverySums,
  order: 'account_id, minute, destination_id',
}

export const deliveryTables = (bounds: LogBounds): LogTable[] => [
  rowsTable(rows, bounds),
  sumsTable(sums, bounds),
]

/** Fills the sums. The columns of the table have the names of sums, so they are named with their table. */
export const deliveryCountsFeed = {
  name: `${deliveryCountsTable}_feed`,
  create: (
    cluster: Cluster | undefined,
  ) => `CREATE MATERIALIZED VIEW IF NOT EXISTS ${feedOn(cluster, `${deliveryCountsTable}_feed`, deliveryCountsTable)} AS
SELECT account_id, toStartOfMinute(time) AS minute, destination_id,
  sumIf(${deliveriesTable}.events, outcome = 'delivered') AS delivered,
  sumIf(${deliveriesTable}.events, outcome = 'failed') AS failed,
  sumIf(${deliveriesTable}.events, outcome = 'dead_lettered') AS dead_lettered,
  sum(toUInt64(${deliveriesTable}.requests)) AS requests
FROM ${storedRows(cluster, deliveriesTable)}
GROUP BY account_id, minute, destination_id`,
}
