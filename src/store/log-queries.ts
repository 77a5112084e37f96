/** Statements that read the decision log: bounded in time, and few at once. */
import { Turns } from '../core/concurrency.js'
import { badRequest, unavailable, WeirError } from '../core/errors.js'
import { logSearchesAtOnceMax, logSearchesWaitingMax } from '../core/limits.js'
import { type Clickhouse, isTimeExceeded } from './clickhouse.js'

/** A client waits, and other statements wait for the same disk. */
const statementTimeoutMs = 5_000
/** How much longer an answer may take until ClickHouse counts as unavailable. */
const answerTimeoutMs = 2 * statementTimeoutMs

const searches = new Turns(logSearchesAtOnceMax, logSearchesWaitingMax)

export class LogQueries {
  readonly #clickhouse: Clickhouse
  readonly #isOn: boolean

  constructor(clickhouse: Clickhouse, isOn: boolean) {
    this.#clickhouse = clickhouse
    this.#isOn = isOn
  }

  /** ClickHouse ends a statement itself that takes too long, because an embedded one can't be aborted. */
  rows<T>(sql: string, params: Readonly<Record<string, unknown>>): Promise<T[]> {
    if (!this.#isOn) {
      throw new WeirError(
        'ERR_LOG_OFF',
        'The decision log is off: the operator of this deployment can turn it on with WEIR_DECISION_LOG.',
      )
    }
    const sent = Object.fromEntries(Object.entries(params).filter(([, value]) => value !== undefined))
    const limited = `${sql}\nSETTINGS max_execution_time = ${statementTimeoutMs / 1000}`
    return searches.take(async () => {
      try {
        return await this.#clickhouse.rows<T>(limited, sent, answerTimeoutMs)
      } catch (error) {
        if (isTimeExceeded(error)) throw tooLong
        throw unavailable('The decision log was not read: ClickHouse does not answer.', error)
      }
    })
  }
}

const tooLong = badRequest(
  `The search took longer than ${statementTimeoutMs / 1000} s: narrow it with "since" and "until".`,
)

export const timeOf = (parameter: string): string => `fromUnixTimestamp64Milli({${parameter}:Int64}, 'UTC')`
