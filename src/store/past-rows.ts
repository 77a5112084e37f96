/** Reads rows of the past: who changed a resource last, and when. */
import { isoMillis } from '../core/clock.js'
import type { LastChange } from '../resource/decision.js'
import type { Clickhouse } from './clickhouse.js'
import { tableOf } from './tables.js'

/** A client waits, and what it asks for is an addition to its answer. */
const lastChangeTimeoutMs = 2_000

export class PastRows {
  readonly #clickhouse: Clickhouse

  constructor(clickhouse: Clickhouse) {
    this.#clickhouse = clickhouse
  }

  /** The last change of a resource up to a version of its account; undefined if ClickHouse does not know or answer. */
  async lastChange(
    accountId: string,
    kind: string,
    id: string,
    version: number,
  ): Promise<LastChange | undefined> {
    const rows = this.#clickhouse.rows<{ version: number; at: number; by: string }>(
      `SELECT version, toUnixTimestamp64Milli(changed_at) AS at, changed_by AS by FROM ${tableOf(kind)}
WHERE account_id = {account:String} AND id = {id:String} AND version <= {version:UInt64}
ORDER BY version DESC LIMIT 1`,
      { account: accountId, id, version },
      lastChangeTimeoutMs,
    )
    const [last] = await rows.catch(() => [])
    return last && { version: last.version, at: isoMillis(last.at), by: last.by }
  }
}
