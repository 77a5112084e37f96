/**
 * The configuration of one account as it was: its rows in ClickHouse up to a version.
 *
 * Elsewhere, a configuration is identified by the revision of `weir_config` that was used. Each row says which revision came
 * just before its change, so the last change that a revision includes is the newest one planned before it. A change
 * takes some milliseconds from its plan to the bucket; a revision that another account's change reached in between is
 * taken for one after it.
 */
import { isoMillis } from '../../../ground/core/clock.js'
import { badRequest, unavailable, WeirError } from '../../../ground/core/errors.js'
import type { AnyResource } from '../../../words/resource/kind/define.js'
import type { DeclaredRow, KindName } from '../../../words/resource/registry.js'
import type { LastChange } from '../../../words/shape/decisions/change-schema.js'
import type { ChangeRows } from '../change/change-rows.js'
import type { Clickhouse } from '../clickhouse/clickhouse.js'
import { columnsOfField, decodeField, type EncodedRow, tableOf } from '../clickhouse/tables.js'
import { keyDescriptionsSql } from './history-query.js'

/** Past rows read for one explanation: two policies of the largest size. */
const pastRowsMax = 200_000

/** A client waits, and this is only an addition to its answer. */
const lastChangeTimeoutMs = 2_000
const versionTimeoutMs = 10_000

/** Kinds that decisions and events depend on. An account's first change creates the account. */
const decidingKinds: readonly KindName[] = [
  'account',
  'tcp_edge',
  'https_edge',
  'https_edge_route',
  'ip_policy',
  'ip_policy_rule',
  'ip_list',
  'ip_restriction',
  'event_subscription',
]

/** Each change with the revision before it, newest first, next to that of the change after it. */
const changesSql = `SELECT version, base, lagInFrame(base) OVER
(ORDER BY version DESC ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS later
FROM (SELECT version, any(base_revision) AS base FROM (
${decidingKinds
  .map((kind) => `SELECT version, base_revision FROM ${tableOf(kind)} WHERE account_id = {account:String}`)
  .join(' UNION ALL ')}
) GROUP BY version)`

interface StoredChange {
  readonly version: number
  /** Milliseconds since the epoch. */
  readonly at: number
  /** Id of the API key, or `cli` or `nats`. */
  readonly by: string
}

/** A value of a field, from this change of its resource on. */
interface ChangedValue extends StoredChange {
  /** Undefined while the resource is deleted. */
  readonly value: unknown
}

interface PastValues {
  /** Newest first. */
  readonly values: readonly ChangedValue[]
  /** If false, there are older versions than were looked at: the last value may be older than it says. */
  readonly isComplete: boolean
}

interface PastField {
  readonly resource: AnyResource
  readonly id: string
  readonly name: string
}

export class PastRows {
  readonly #clickhouse: Clickhouse
  readonly #rows: ChangeRows

  constructor(clickhouse: Clickhouse, rows: ChangeRows) {
    this.#clickhouse = clickhouse
    this.#rows = rows
  }

  /** The last change of a resource up to a version of its account; undefined if ClickHouse does not know or answer. */
  async lastChange(
    accountId: string,
    kind: string,
    id: string,
    version: number,
  ): Promise<Omit<LastChange, 'by_description'> | undefined> {
    const rows = this.#clickhouse.rows<StoredChange>(
      `SELECT version, toUnixTimestamp64Milli(changed_at) AS at, changed_by AS by FROM ${tableOf(kind)}
WHERE account_id = {account:String} AND id = {id:String} AND version <= {version:UInt64}
ORDER BY version DESC LIMIT 1`,
      { account: accountId, id, version },
      lastChangeTimeoutMs,
    )
    const [last] = await rows.catch(() => [])
    return last && { version: last.version, at: isoMillis(last.at), by: last.by }
  }

  /** The changes that created these resources, after their last deletion; empty if ClickHouse does not answer. */
  created(
    accountId: string,
    kind: string,
    ids: readonly string[],
    version: number,
  ): Promise<(StoredChange & { readonly id: string })[]> {
    const found = this.#clickhouse.rows<StoredChange & { id: string }>(
      `SELECT id, first AS version, at, by FROM (
SELECT id, min(version) AS first, argMin(toUnixTimestamp64Milli(changed_at), version) AS at, argMin(changed_by, version) AS by
FROM (SELECT id, version, changed_at, changed_by, maxIf(version, deleted) OVER (PARTITION BY id) AS gone FROM ${tableOf(kind)}
WHERE account_id = {account:String} AND id IN {ids:Array(String)} AND version <= {version:UInt64})
WHERE version > gone GROUP BY id)`,
      { account: accountId, ids, version },
      lastChangeTimeoutMs,
    )
    return found.catch(() => [])
  }

  /**
   * The values of a field in the last versions of a resource up to a version of its account; none if ClickHouse does not
   * answer. `versionsMax`: how many versions are looked at.
   */
  async values(
    accountId: string,
    { resource, id, name }: PastField,
    version: number,
    versionsMax: number,
  ): Promise<PastValues> {
    const columns = columnsOfField(resource, name)
    const found = this.#clickhouse.rows<EncodedRow & StoredChange & { deleted: boolean; versions: number }>(
      `SELECT ${columns}, deleted, version, at, by, versions FROM (
SELECT *, count() OVER () AS versions,
lagInFrame(hash) OVER (ORDER BY version ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS hash_before
FROM (SELECT ${columns}, deleted, version, toUnixTimestamp64Milli(changed_at) AS at, changed_by AS by,
cityHash64(toString((deleted, ${columns}))) AS hash
FROM ${tableOf(resource.kind)} WHERE account_id = {account:String} AND id = {id:String} AND version <= {version:UInt64}
ORDER BY version DESC LIMIT 1 BY version LIMIT {versions_max:UInt32}))
WHERE hash != hash_before ORDER BY version DESC`,
      { account: accountId, id, version, versions_max: versionsMax },
      lastChangeTimeoutMs,
    )
    const rows = await found.catch(() => [])
    return {
      values: rows.map((row) => ({
        value: row.deleted ? undefined : decodeField(resource, name, row),
        version: Number(row.version),
        at: Number(row.at),
        by: row.by,
      })),
      isComplete: Number(rows[0]?.versions ?? 0) < versionsMax,
    }
  }

  /**
   * The description of an API key, also of a deleted one; undefined if it had none, or ClickHouse does not know or answer.
   */
  async keyDescription(accountId: string, id: string): Promise<string | undefined> {
    const params = { account: accountId, ids: [id] }
    const found = this.#clickhouse.rows<{ text: string }>(keyDescriptionsSql, params, lastChangeTimeoutMs)
    return (await found.catch(() => []))[0]?.text || undefined
  }

  /**
   * The version that the account had at a revision of the configuration; undefined if that is not known any more, or was
   * before the account. If revisions fall from one change to the next, the bucket was recreated in between.
   */
  versionAt(accountId: string, revision: number): Promise<number | undefined> {
    return answered(async () => {
      const [found] = await this.#clickhouse.rows<{ version: number; base: number | null }>(
        `SELECT version, base FROM (${changesSql})
WHERE base IS NULL OR base < {revision:UInt64} OR base > later ORDER BY version DESC LIMIT 1`,
        { account: accountId, revision },
        versionTimeoutMs,
      )
      return found === undefined || found.base === null ? undefined : found.version
    })
  }

  /** Ids of edges that ever served one of these hostports up to a version. */
  edgesServing(
    accountId: string,
    version: number,
    kind: 'tcp_edge' | 'https_edge',
    hostports: readonly string[],
  ): Promise<string[]> {
    return answered(async () => {
      const found = await this.#clickhouse.rows<{ id: string }>(
        `SELECT DISTINCT id FROM ${tableOf(kind)} WHERE account_id = {account:String}
AND version <= {version:UInt64} AND hasAny(arrayMap(each -> lower(each), hostports), {hostports:Array(String)})
LIMIT ${pastRowsMax}`,
        { account: accountId, version, hostports },
      )
      return found.map(({ id }) => id)
    })
  }

  /** Ids of all subscriptions that the account had up to a version. */
  subscriptionIds(accountId: string, version: number): Promise<string[]> {
    return answered(async () => {
      const found = await this.#clickhouse.rows<{ id: string }>(
        `SELECT DISTINCT id FROM ${tableOf('event_subscription')} WHERE account_id = {account:String}
AND version <= {version:UInt64} LIMIT ${pastRowsMax}`,
        { account: accountId, version },
      )
      return found.map(({ id }) => id)
    })
  }

  /** The rows of a kind at a version, found by a field that never changes. */
  at<Kind extends KindName>(
    accountId: string,
    version: number,
    kind: Kind,
    field: string,
    values: readonly string[],
  ): Promise<DeclaredRow<Kind>[]> {
    return answered(async () => {
      const found: DeclaredRow<Kind>[] = []
      for await (const page of this.#rows.before(accountId, version + 1, kind, field, values)) {
        if (found.length + page.length > pastRowsMax) throw tooManyRows
        for (const row of page) found.push(row as DeclaredRow<Kind>)
      }
      return found
    })
  }
}

const tooManyRows = badRequest(
  `The configuration of that revision is too large to explain: at most ${pastRowsMax} rules are read.`,
)

async function answered<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof WeirError) throw error
    throw unavailable('The earlier configuration was not read: ClickHouse does not answer.', error)
  }
}
