/** Reads the log of attempts to deliver. Each statement is about one account. */
import { type DeliveryRow, deliveryColumns } from '../../../delivery/wire/delivery-rows.js'
import { tagOf } from '../../../delivery/wire/event-tag.js'
import type { LogMode } from '../../../delivery/wire/log-publisher.js'
import type { Clickhouse } from '../clickhouse/clickhouse.js'
import { type CountsQuery, readSums } from './count-query.js'
import { deliveriesTable, deliveryCountsTable, deliverySums } from './delivery-tables.js'
import { LogQueries, timeOf } from './log-queries.js'
import { selected } from './log-sql.js'
import { decisionsTable } from './log-tables.js'

interface EventsQuery {
  readonly accountId: string
  readonly destinationIds: readonly string[]
  /** The time of the events: when JetStream stored their record. */
  readonly at: number
  readonly eventIds: readonly string[]
}

interface DeliveryCountsQuery extends Omit<CountsQuery, 'dimension' | 'sources'> {
  /** Only this one. */
  readonly destinationId?: string | undefined
}

/** Events and requests of one destination in one interval. */
interface DeliveryCountRow {
  /** The start of the interval. */
  readonly at: number
  readonly value: string
  readonly delivered: number
  readonly failed: number
  readonly dead_lettered: number
  readonly requests: number
  /** Null if the log has no row of the interval any more. */
  readonly took_ms: Percentiles | null
  readonly age_ms: Percentiles | null
}

/** Milliseconds. */
interface Percentiles {
  readonly p50: number
  readonly p95: number
  readonly p99: number
}

/** A percentile of no rows is null. */
interface Latencies {
  readonly at: number
  readonly value: string
  readonly took: readonly (number | null)[]
  readonly ages: readonly (number | null)[]
}

const percentilesOf = (values: readonly (number | null)[] = []): Percentiles | null => {
  const [p50, p95, p99] = values
  return p50 == null || p95 == null || p99 == null ? null : { p50, p95, p99 }
}

const attemptMembers = [
  'destinationId',
  'at',
  'tookMs',
  'outcome',
  'requestId',
  'shard',
  'receipt',
  'errorCode',
  'error',
] as const

/** An attempt that some of the events were part of. */
export interface Attempt extends Pick<DeliveryRow, (typeof attemptMembers)[number]> {
  readonly includes: (eventId: string) => boolean
}

/** Percentiles; null for no rows. Negative values count as 0, because the clocks of two hosts differ. */
const percentilesSql = (value: string, condition: string): string =>
  `arrayMap(each -> if(isNaN(each), NULL, toUInt64(greatest(each, 0))), quantilesTDigestIf(0.5, 0.95, 0.99)(${value}, ${condition}))`

const outcomes = ['delivered', 'failed', 'dead_lettered'] as const

/** An event that fails for days has a row for each probe: the last ones show what became of it. */
const attemptsMax = 200
/** The clock of a deliverer may be behind that of NATS. */
const clockSkewMs = 5 * 60_000
/** Rows that may hold an event: more than one only if its tag is also that of others, or it was sent again. */
const candidatesMax = 5

export class DeliveryReader {
  readonly #queries: LogQueries
  readonly #mode: LogMode

  constructor(clickhouse: Clickhouse, mode: LogMode) {
    this.#queries = new LogQueries(clickhouse, mode !== 'off')
    this.#mode = mode
  }

  /** Has every attempt a row, also those that delivered? */
  get isComplete(): boolean {
    return this.#mode === 'all'
  }

  /** The last attempts to deliver these events, oldest first. */
  async attempts({ accountId, destinationIds, at, eventIds }: EventsQuery): Promise<Attempt[]> {
    if (eventIds.length === 0 || destinationIds.length === 0) return []
    const rows = await this.#queries.rows<Attempt & { tags: number[] }>(
      `SELECT ${selected(deliveryColumns, attemptMembers)},
arrayIntersect(event_tags, {tags:Array(UInt32)}) AS tags
FROM ${deliveriesTable} WHERE account_id = {account:String} AND destination_id IN {destinations:Array(String)}
AND time >= ${timeOf('since')} AND events_from <= ${timeOf('at')} AND events_until >= ${timeOf('at')}
AND hasAny(event_tags, {tags:Array(UInt32)})
ORDER BY deliveries.time DESC LIMIT ${attemptsMax}`,
      {
        account: accountId,
        destinations: destinationIds,
        at,
        since: at - clockSkewMs,
        tags: eventIds.map(tagOf),
      },
    )
    return rows.reverse().map(({ tags, ...attempt }) => {
      const found = new Set(tags)
      return { ...attempt, includes: (eventId) => found.has(tagOf(eventId)) }
    })
  }

  /** Sums by interval and destination, oldest first, and how many destinations have too few events to be listed. */
  async counts(query: DeliveryCountsQuery): Promise<{ counts: DeliveryCountRow[]; valuesLeftOut: number }> {
    const { destinationId } = query
    const table = {
      table: deliveryCountsTable,
      value: 'destination_id',
      condition: `account_id = {account:String}${destinationId === undefined ? '' : ' AND destination_id = {destination:String}'}`,
      params: {
        account: query.accountId,
        ...(destinationId !== undefined && { destination: destinationId }),
      },
      ranked: outcomes,
      sums: deliverySums.map((name) => `sum(${deliveryCountsTable}.${name}) AS ${name}`),
      total: outcomes.join(' + '),
    }
    type Sums = Omit<DeliveryCountRow, 'took_ms' | 'age_ms'>
    const { counts, valuesLeftOut } = await readSums<Sums>(this.#queries, table, query)
    const destinations = [...new Set(counts.map(({ value }) => value))]
    const latencies = await this.#latencies(query, destinations)
    return {
      counts: counts.map((each) => {
        const found = latencies.get(`${each.at} ${each.value}`)
        return { ...each, took_ms: percentilesOf(found?.took), age_ms: percentilesOf(found?.ages) }
      }),
      valuesLeftOut,
    }
  }

  /** How long requests took, and how old the oldest event of those was that delivered, by interval and destination. */
  async #latencies(
    { accountId, intervalMs, sinceMs, untilMs }: DeliveryCountsQuery,
    destinations: readonly string[],
  ): Promise<ReadonlyMap<string, Latencies>> {
    if (destinations.length === 0) return new Map()
    const rows = await this.#queries.rows<Latencies>(
      `SELECT intDiv(toUnixTimestamp(deliveries.time), {seconds:UInt32}) * {seconds:UInt32} * 1000 AS at,
destination_id AS value, ${percentilesSql('took_ms', 'requests > 0')} AS took,
${percentilesSql('toUnixTimestamp64Milli(deliveries.time) - toUnixTimestamp64Milli(events_from)', "outcome = 'delivered'")} AS ages
FROM ${deliveriesTable} WHERE account_id = {account:String} AND destination_id IN {destinations:Array(String)}
AND time >= ${timeOf('since')} AND time < ${timeOf('until')} GROUP BY at, value`,
      { account: accountId, destinations, since: sinceMs, until: untilMs, seconds: intervalMs / 1000 },
    )
    return new Map(rows.map((each) => [`${each.at} ${each.value}`, each]))
  }

  /** The id of the record that made an event; undefined if no row of an attempt holds the event. */
  recordOf(accountId: string, eventId: string): Promise<string | undefined> {
    return this.#queries.search(async (rows) => {
      const candidates = await rows<{ since: number; until: number }>(
        `SELECT DISTINCT toUnixTimestamp64Milli(events_from) AS since, toUnixTimestamp64Milli(events_until) AS until
FROM ${deliveriesTable} WHERE account_id = {account:String} AND has(event_tags, {tag:UInt32})
ORDER BY until - since LIMIT ${candidatesMax}`,
        { account: accountId, tag: tagOf(eventId) },
      )
      for (const { since, until } of candidates) {
        // An id begins with a hash of the record's id (`event/envelope.ts`), which as a column would double the rows.
        const [found] = await rows<{ id: string }>(
          `SELECT record_id AS id FROM ${decisionsTable} WHERE account_id = {account:String}
AND time >= ${timeOf('since')} AND time <= ${timeOf('until')}
AND startsWith({event:String}, concat('ev_', lower(substring(hex(SHA256(record_id)), 1, 32)))) LIMIT 1`,
          { account: accountId, since, until, event: eventId },
        )
        if (found !== undefined) return found.id
      }
      return undefined
    })
  }
}
