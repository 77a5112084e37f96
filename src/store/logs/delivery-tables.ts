/**
 * The tables of attempts to deliver:
 *
 * - `deliveries`: a row per request and outcome, in the layout of `wire/delivery-rows.ts`, sorted by account, destination
 *   and time. An event is found by its tag among the rows whose events have its time.
 * - `delivery_counts`: sums per minute and destination.
 */
import { outcomeNumbers } from '../../wire/delivery-rows.js'
import {
  countsExpiry,
  deltas,
  enumOf,
  expiring,
  expiry,
  type LogBounds,
  type LogTable,
  listed,
  mergingRows,
  milliseconds,
  narrowed,
  packed,
  word,
} from './log-table.js'

export const deliveriesTable = 'deliveries'
export const deliveryCountsTable = 'delivery_counts'

/** Name, type and codec, in the order of the rows' values. */
const columns = [
  ['account_id', word, packed],
  ['destination_id', word, packed],
  ['time', milliseconds, deltas],
  ['took_ms', 'UInt32', narrowed],
  ['outcome', enumOf(outcomeNumbers), packed],
  ['attempt', 'UInt32', narrowed],
  ['requests', 'UInt8', packed],
  ['pack', 'UInt64', deltas],
  ['request_id', 'String', packed],
  ['shard', word, packed],
  ['receipt', 'String', packed],
  ['error_code', word, packed],
  ['error', 'String', packed],
  ['events_from', milliseconds, deltas],
  ['events_until', milliseconds, deltas],
  ['events', 'UInt32', narrowed],
  // Hashes: they can't be packed.
  ['event_tags', 'Array(UInt32)', 'CODEC(NONE)'],
] as const

export const deliverySums = ['delivered', 'failed', 'dead_lettered', 'requests'] as const

/** Rows hold hundreds of tags each, so a granule has few rows. */
const rowsPerGranule = 256

export const deliveryTables = (bounds: LogBounds): LogTable[] => [
  {
    name: deliveriesTable,
    columns: listed([
      ...columns,
      ...['events_from', 'events_until'].map((column) => [
        `INDEX by_${column} ${column} TYPE minmax GRANULARITY 1`,
      ]),
    ]),
    engine: `MergeTree
PARTITION BY toStartOfInterval(time, INTERVAL 4 HOUR)
ORDER BY (account_id, destination_id, time)`,
    ttl: expiry('toDateTime(time)', bounds.retentionMs),
    settings: { ...expiring, ...mergingRows(bounds), index_granularity: rowsPerGranule },
  },
  {
    name: deliveryCountsTable,
    columns: listed([
      ['account_id', word, packed],
      ['minute', "DateTime('UTC')", deltas],
      ['destination_id', word, packed],
      ...deliverySums.map((name) => [name, 'UInt64', narrowed]),
    ]),
    engine: `SummingMergeTree((${deliverySums.join(', ')}))
PARTITION BY toDate(minute)
ORDER BY (account_id, minute, destination_id)`,
    ttl: countsExpiry(bounds),
    settings: expiring,
  },
]

/** Fills the sums. The columns of the table have the names of sums, so they are named with their table. */
export const deliveryCountsFeed = {
  name: `${deliveryCountsTable}_feed`,
  create: `CREATE MATERIALIZED VIEW IF NOT EXISTS ${deliveryCountsTable}_feed TO ${deliveryCountsTable} AS
SELECT account_id, toStartOfMinute(time) AS minute, destination_id,
  sumIf(${deliveriesTable}.events, outcome = 'delivered') AS delivered,
  sumIf(${deliveriesTable}.events, outcome = 'failed') AS failed,
  sumIf(${deliveriesTable}.events, outcome = 'dead_lettered') AS dead_lettered,
  sum(toUInt64(${deliveriesTable}.requests)) AS requests
FROM ${deliveriesTable}
GROUP BY account_id, minute, destination_id`,
}
