/** Reads expressions without a result: those of one account, by their places. */
import type { FailureRow } from '../../../delivery/wire/failure-rows.js'
import type { LogMode } from '../../../delivery/wire/log-publisher.js'
import type { Clickhouse } from '../clickhouse/clickhouse.js'
import { failuresTable } from './failure-table.js'
import { LogQueries, timeOf } from './log-queries.js'

/** A policy or a filter, and what is known of its failures since the time that was asked for. */
export interface FailedPlace
  extends Omit<FailureRow, 'accountId' | 'minute' | 'failures' | 'firstAt' | 'lastAt'> {
  readonly count: number
  /** Milliseconds since the epoch. */
  readonly firstMs: number
  readonly lastMs: number
}

interface FailuresQuery {
  readonly accountId: string
  /** From the beginning of its minute. */
  readonly sinceMs: number
  readonly edgeIds?: readonly string[] | undefined
  readonly subscriptionId?: string | undefined
  readonly limit: number
}

export interface FailedPlaces {
  /** Those that failed most often first. */
  readonly places: readonly FailedPlace[]
  readonly placesLeftOut: number
}

const place = 'edge_id, route_id, policy, subscription_id, event_kind'

const failuresSql = (conditions: readonly string[]) => `SELECT edge_id AS edgeId, route_id AS routeId, policy,
subscription_id AS subscriptionId, event_kind AS eventKind, sum(failures) AS count,
toUnixTimestamp64Milli(min(first_at)) AS firstMs, toUnixTimestamp64Milli(max(last_at)) AS lastMs,
argMax(${failuresTable}.expression, last_at) AS expression, argMax(${failuresTable}.message, last_at) AS message,
argMax(record_id, last_at) AS recordId, count() OVER () AS places
FROM ${failuresTable} WHERE ${conditions.join(' AND ')}
GROUP BY ${place} ORDER BY count DESC, lastMs DESC, ${place} LIMIT {limit:UInt32}`

export class FailureReader {
  readonly #queries: LogQueries
  /** Nothing is written, and no question answered, while it is off. */
  readonly mode: LogMode

  constructor(clickhouse: Clickhouse, mode: LogMode) {
    this.#queries = new LogQueries(clickhouse, mode !== 'off')
    this.mode = mode
  }

  async places({ accountId, sinceMs, edgeIds, subscriptionId, limit }: FailuresQuery): Promise<FailedPlaces> {
    const conditions = ['account_id = {account:String}', `minute >= toStartOfMinute(${timeOf('since')})`]
    if (edgeIds !== undefined) conditions.push('edge_id IN {edges:Array(String)}')
    if (subscriptionId !== undefined) conditions.push('subscription_id = {subscription:String}')
    const found = await this.#queries.rows<FailedPlace & { readonly places: number }>(
      failuresSql(conditions),
      { account: accountId, since: sinceMs, edges: edgeIds, subscription: subscriptionId, limit },
    )
    return {
      places: found.map(({ places: _, ...each }) => each),
      placesLeftOut: (found[0]?.places ?? 0) - found.length,
    }
  }
}
