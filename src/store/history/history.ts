/**
 * The history: what was changed, newest first, read from the tables of versions.
 *
 * An entry is one resource in one version of its account. Rules of an IP policy that one write changed together are one
 * entry of their policy, however many they are; a rule that was changed alone has an entry of its own. Reading has two
 * steps: `entries` finds what was changed, from narrow columns; `details` reads the rows of the entries to be shown.
 */
import { unavailable } from '../../core/errors.js'
import { getOrMake } from '../../core/maps.js'
import { apiKey } from '../../resource/api-key.js'
import type { AnyResource, Row } from '../../resource/define.js'
import { resourceOf } from '../../resource/registry.js'
import { policyKind, ruleKind } from '../../view/keys.js'
import type { WriteVerb } from '../change.js'
import type { Clickhouse } from '../clickhouse/clickhouse.js'
import { decodeRow, type EncodedRow, tableOf, timeOf } from '../clickhouse/tables.js'
import {
  type Header,
  type HistoryPosition,
  type HistoryQuery,
  headersSql,
  keyDescriptionsSql,
  type Origin,
  originsSql,
  rowsStatement,
  ruleCountsSql,
  type Step,
  type StepsByKind,
  stepOf,
  stepsStatement,
  type VersionRow,
} from './history-query.js'

export interface HistoryEntry {
  readonly position: HistoryPosition
  readonly version: number
  readonly kind: string
  readonly id: string
  readonly verb: WriteVerb
  /** The resource's version before; undefined if it did not exist. */
  readonly previous: number | undefined
  /** Rules of the policy that were changed; 0 if the entry is of another kind. */
  readonly rules: number
  /** Milliseconds since the epoch. */
  readonly changedAt: number
  /** Id of the API key, or `cli` or `nats`. */
  readonly changedBy: string
  /** The last description of the API key, which may have been deleted since. */
  readonly keyDescription: string | null
  readonly clientAddress: string | null
  readonly operationId: string | null
  readonly testsSkipped: boolean
}

interface ChangedRuleCounts {
  readonly added: number
  readonly updated: number
  readonly removed: number
}

/** The rows of an entry: none if only rules of the policy were changed. */
export interface HistoryDetail {
  readonly before: Row | undefined
  readonly after: Row | undefined
  readonly rules: ChangedRuleCounts | undefined
}

/** A client waits, and other statements wait for the same disk. */
const statementTimeoutMs = 5_000

const newSteps = (): Map<string, number> => new Map()

export class History {
  readonly #clickhouse: Clickhouse

  constructor(clickhouse: Clickhouse) {
    this.#clickhouse = clickhouse
  }

  /** At most `limit` entries, newest first. */
  async entries(query: HistoryQuery): Promise<HistoryEntry[]> {
    const { accountId, before, id, sinceMs, untilMs, limit } = query
    const params = { account: accountId, id, ...prefixed(before), since: sinceMs, until: untilMs, limit }
    const found = await this.#rows<Header>(headersSql(query), defined(params))
    const headers = found.map(withOwnRule)
    const steps = await this.#steps(accountId, headers)
    const origins = await this.#originsOfRules(accountId, headers)
    const shown = headers.map((header) => {
      const step = steps.get(stepOf(header.shownId, header.version))
      const origin = step ?? origins.get(Number(header.version))
      if (origin === undefined) throw unavailable('The history changed while it was read.')
      return { header, step, origin }
    })
    const authors = shown.map(({ origin }) => origin.changed_by)
    const descriptions = await this.#keyDescriptions(accountId, authors)
    return shown.map(({ header, step, origin }) => ({
      ...entryOf(header, step, origin),
      keyDescription: descriptions.get(origin.changed_by) || null,
    }))
  }

  /** The descriptions of the keys that made the changes. */
  async #keyDescriptions(
    accountId: string,
    authors: readonly string[],
  ): Promise<ReadonlyMap<string, string>> {
    const ids = [...new Set(authors)].filter((by) => by.startsWith(apiKey.idPrefix))
    if (ids.length === 0) return new Map()
    const found = await this.#rows<{ id: string; text: string }>(keyDescriptionsSql, {
      account: accountId,
      ids,
    })
    return new Map(found.map(({ id, text }) => [id, text]))
  }

  /** Who changed the rules of a policy together, by version: all changes of one version have the same author. */
  async #originsOfRules(
    accountId: string,
    headers: readonly ShownHeader[],
  ): Promise<ReadonlyMap<number, Origin>> {
    const ofRules = headers.filter(({ shownKind }) => shownKind === undefined)
    if (ofRules.length === 0) return new Map()
    const found = await this.#rows<Origin & Pick<Header, 'version'>>(originsSql, {
      account: accountId,
      ids: ofRules.map(({ rule_id }) => rule_id),
      versions: ofRules.map(({ version }) => version),
    })
    return new Map(found.map(({ version, ...origin }) => [Number(version), origin]))
  }

  /** The accounts that changed anything at this time or later. */
  async changedAccounts(sinceMs: number, kinds: readonly string[]): Promise<string[]> {
    const tables = kinds.map(
      (kind) =>
        `SELECT account_id FROM ${tableOf(kind)} WHERE toUnixTimestamp64Milli(changed_at) >= {since:Int64}`,
    )
    const sql = `SELECT DISTINCT account_id FROM (${tables.join(' UNION ALL ')}) ORDER BY account_id`
    const accounts = await this.#rows<{ account_id: string }>(sql, { since: sinceMs })
    return accounts.map(({ account_id }) => account_id)
  }

  /** The details of entries of one account, in their order. */
  async details(accountId: string, entries: readonly HistoryEntry[]): Promise<HistoryDetail[]> {
    const wanted = new Map<string, Map<string, number>>()
    for (const { kind, id, version, verb, previous, rules } of entries) {
      if (rules > 0 && verb === 'update') continue
      const versions = getOrMake(wanted, kind, newSteps)
      versions.set(stepOf(id, version), version)
      if (previous !== undefined) versions.set(stepOf(id, previous), previous)
    }
    const rows = await this.#versions(accountId, wanted)
    const counts = await this.#ruleCounts(accountId, entries)
    return entries.map(({ id, version, verb, previous }) => ({
      before: previous === undefined ? undefined : rows.get(stepOf(id, previous)),
      after: verb === 'delete' ? undefined : rows.get(stepOf(id, version)),
      rules: counts.get(stepOf(id, version)),
    }))
  }

  /** Did the account ever have this resource? `fields`: values that it must have, such as its parent's id. */
  async knows(
    accountId: string,
    { kind }: AnyResource,
    id: string,
    fields: Readonly<Record<string, string>>,
  ): Promise<boolean> {
    const same = Object.keys(fields).map((name) => ` AND \`${name}\` = {field_${name}:String}`)
    const values = Object.fromEntries(Object.entries(fields).map(([name, text]) => [`field_${name}`, text]))
    const found = await this.#rows(
      `SELECT 1 AS one FROM ${tableOf(kind)} WHERE account_id = {account:String} AND id = {id:String}${same.join('')} LIMIT 1`,
      { account: accountId, id, ...values },
    )
    return found.length > 0
  }

  /** The resource as it was at a version of its account; undefined if it did not exist yet. */
  async at(
    accountId: string,
    resource: AnyResource,
    id: string,
    version: number,
  ): Promise<{ readonly row: Row; readonly deleted: boolean } | undefined> {
    const [found] = await this.#rows<EncodedRow>(
      `SELECT * FROM ${tableOf(resource.kind)}
WHERE account_id = {account:String} AND id = {id:String} AND version <= {version:UInt64}
ORDER BY version DESC LIMIT 1`,
      { account: accountId, id, version },
    )
    return found && { row: decodeRow(resource, found), deleted: Boolean(found['deleted']) }
  }

  async #steps(accountId: string, headers: readonly ShownHeader[]): Promise<ReadonlyMap<string, Step>> {
    const wanted = new Map<string, Map<string, number>>()
    for (const { shownKind, shownId, version } of headers)
      if (shownKind !== undefined)
        getOrMake(wanted, shownKind, newSteps).set(stepOf(shownId, version), version)
    if (wanted.size === 0) return new Map()
    const { sql, params } = stepsStatement(accountId, wanted)
    const found = await this.#rows<Step>(sql, params)
    return new Map(found.map((step) => [stepOf(step.id, Number(step.version)), step]))
  }

  async #versions(accountId: string, wanted: StepsByKind): Promise<ReadonlyMap<string, Row>> {
    if (wanted.size === 0) return new Map()
    const { sql, params } = rowsStatement(accountId, wanted)
    const found = await this.#rows<VersionRow>(sql, params)
    const rows = found.map(({ kind, text }) => decodeRow(resourceOf(kind), JSON.parse(text) as EncodedRow))
    return new Map(rows.map((row) => [stepOf(row.id, row.version), row]))
  }

  async #ruleCounts(
    accountId: string,
    entries: readonly HistoryEntry[],
  ): Promise<ReadonlyMap<string, ChangedRuleCounts>> {
    const ofRules = entries.filter(({ rules }) => rules > 0)
    if (ofRules.length === 0) return new Map()
    const found = await this.#rows<ChangedRuleCounts & { policy: string; version: number }>(ruleCountsSql, {
      account: accountId,
      policies: [...new Set(ofRules.map(({ id }) => id))],
      versions: [...new Set(ofRules.map(({ version }) => version))],
    })
    return new Map(
      found.map(({ policy, version, added, updated, removed }) => [
        stepOf(policy, Number(version)),
        { added: Number(added), updated: Number(updated), removed: Number(removed) },
      ]),
    )
  }

  /** ClickHouse ends a statement itself that takes too long, because an embedded one can't be aborted. */
  async #rows<T>(sql: string, params: Readonly<Record<string, unknown>>): Promise<T[]> {
    const limited = `${sql}\nSETTINGS max_execution_time = ${statementTimeoutMs / 1000}`
    try {
      return await this.#clickhouse.rows<T>(limited, params, statementTimeoutMs)
    } catch (error) {
      throw unavailable('The history was not read: ClickHouse does not answer, or takes too long.', error)
    }
  }
}

/** A header, and the resource that its entry shows; without a kind if that has no row in this version. */
interface ShownHeader extends Header {
  readonly shownKind: string | undefined
  readonly shownId: string
}

/** A rule that was changed alone is shown itself, instead of its policy. */
const withOwnRule = (header: Header): ShownHeader => {
  const { kind, id, rules, rule_id } = header
  if (kind === '' && Number(rules) === 1) return { ...header, shownKind: ruleKind, shownId: rule_id }
  return { ...header, shownKind: kind === '' ? undefined : kind, shownId: id }
}

function entryOf(
  header: ShownHeader,
  step: Step | undefined,
  origin: Origin,
): Omit<HistoryEntry, 'keyDescription'> {
  const { id, version, shownKind, shownId, rules } = header
  const existed = step !== undefined && Number(step.previous) > 0 && !step.previous_deleted
  const isRule = shownKind === ruleKind
  return {
    position: { version: Number(version), id },
    version: Number(version),
    kind: shownKind ?? policyKind,
    id: shownId,
    verb: step?.deleted ? 'delete' : step !== undefined && !existed ? 'create' : 'update',
    previous: existed ? Number(step.previous) : undefined,
    rules: isRule ? 0 : Number(rules),
    changedAt: timeOf(origin.changed_at),
    changedBy: origin.changed_by,
    clientAddress: origin.client_address,
    operationId: origin.operation_id,
    testsSkipped: origin.tests_skipped,
  }
}

const prefixed = (before: HistoryPosition | undefined) =>
  before === undefined ? {} : { before_version: before.version, before_id: before.id }

/** Parameters that a statement does not use must not be sent. */
const defined = (params: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(params).filter(([, value]) => value !== undefined))
