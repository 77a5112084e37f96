/** Statements that read the decision log: bounded in time, and few at once. */
import { monotonicMs } from '../../../ground/core/clock.js'
import { Turns } from '../../../ground/core/concurrency.js'
import { TimeLimitPassed, unavailable, WeirError } from '../../../ground/core/errors.js'
import type { Clickhouse } from '../clickhouse/clickhouse.js'
import { shardReadSettings } from '../clickhouse/cluster.js'
import { isTimeExceeded } from '../clickhouse/errors.js'

/** Searches of the log run concurrently; each may keep the disk and the cores busy for seconds. */
const logSearchesAtOnceMax = 2
const logSearchesWaitingMax = 64

/** A client waits, and other statements wait for the same disk. */
const searchTimeoutMs = 5_000
/** How much longer an answer may take until ClickHouse counts as unavailable. */
const answerDelayMs = 5_000

/** `atMostMs`: a time limit of the statement, within that of the search. */
export type ReadRows = <T>(
  sql: string,
  params: Readonly<Record<string, unknown>>,
  atMostMs?: number,
) => Promise<T[]>

const searches = new Turns(logSearchesAtOnceMax, logSearchesWaitingMax)

export class LogQueries {
  readonly #clickhouse: Clickhouse
  readonly #isOn: boolean
  /** How long a search may take. */
  readonly timeoutMs: number

  constructor(clickhouse: Clickhouse, isOn: boolean, timeoutMs = searchTimeoutMs) {
    this.#clickhouse = clickhouse
    this.#isOn = isOn
    this.timeoutMs = timeoutMs
  }

  /** One statement. */
  rows<T>(sql: string, params: Readonly<Record<string, unknown>>): Promise<T[]> {
    return this.search((rows) => rows<T>(sql, params))
  }

  /** Statements that together take no longer than one may. */
  search<T>(statements: (rows: ReadRows) => Promise<T>): Promise<T> {
    if (!this.#isOn) {
      throw new WeirError(
        'ERR_LOG_OFF',
        'The decision log is off: the operator of this deployment can turn it on with WEIR_DECISION_LOG.',
      )
    }
    return searches.take(async () => {
      const endMs = monotonicMs() + this.timeoutMs
      try {
        return await statements((sql, params, atMostMs = this.timeoutMs) =>
          this.#read(sql, params, Math.max(1, Math.min(atMostMs, endMs - monotonicMs()))),
        )
      } catch (error) {
        if (isTimeExceeded(error)) throw tooLong(this.timeoutMs)
        // The request itself is refused.
        if (error instanceof WeirError) throw error
        throw unavailable('The decision log was not read: ClickHouse does not answer.', error)
      }
    })
  }

  /** ClickHouse ends a statement itself that takes too long, because an embedded one can't be aborted. */
  #read<T>(sql: string, params: Readonly<Record<string, unknown>>, timeoutMs: number): Promise<T[]> {
    const sent = Object.fromEntries(Object.entries(params).filter(([, value]) => value !== undefined))
    const settings = [
      `max_execution_time = ${timeoutMs / 1000}`,
      ...(this.#clickhouse.cluster === undefined ? [] : shardReadSettings),
    ]
    return this.#clickhouse.rows<T>(
      `${sql}\nSETTINGS ${settings.join(', ')}`,
      sent,
      timeoutMs + answerDelayMs,
    )
  }
}

const tooLong = (timeoutMs: number) =>
  new TimeLimitPassed(
    `The search took longer than ${timeoutMs / 1000} s: ask for a shorter time if the request takes "since" and "until", or again when this machine is less busy.`,
    Math.ceil(timeoutMs / 1000),
  )

/** A statement of a search whose answer may be missing: undefined if the time of the search is over. */
export async function inTime<T>(answer: () => Promise<T>): Promise<T | undefined> {
  try {
    return await answer()
  } catch (error) {
    if (isTimeExceeded(error)) return undefined
    throw error
  }
}

export const timeOf = (parameter: string): string => `fromUnixTimestamp64Milli({${parameter}:Int64}, 'UTC')`
