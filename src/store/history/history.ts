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
  ruleCountsSql,
  type Step,
  stepsSql,
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

const stepOf = (id: string, version: number): string => `${id} ${version}`

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
    const headers = (await this.#withOrigins(accountId, found)).map(withOwnRule)
    const steps = await this.#steps(accountId, headers)
    const descriptions = await this.#keyDescriptions(accountId, headers)
    return headers.map((header) => ({
      ...entryOf(header, steps.get(stepOf(header.shownId, header.version))),
      keyDescription: descriptions.get(header.changed_by) || null,
    }))
  }

  /** The descriptions of the keys that made the changes. */
  async #keyDescriptions(
    accountId: string,
    headers: readonly Header[],
  ): Promise<ReadonlyMap<string, string>> {
    const ids = [...new Set(headers.map(({ changed_by }) => changed_by))].filter((by) =>
      by.startsWith(apiKey.idPrefix),
    )
    if (ids.length === 0) return new Map()
    const found = await this.#rows<{ id: string; text: string }>(keyDescriptionsSql, {
      account: accountId,
      ids,
    })
    return new Map(found.map(({ id, text }) => [id, text]))
  }

  /** Adds who made the change to headers of rules; all changes of one version have the same author. */
  async #withOrigins(accountId: string, headers: readonly Header[]): Promise<Header[]> {
    const ofRules = headers.filter(({ kind }) => kind === '')
    if (ofRules.length === 0) return [...headers]
    const found = await this.#rows<Pick<Header, keyof Origin | 'version'>>(originsSql, {
      account: accountId,
      ids: ofRules.map(({ rule_id }) => rule_id),
      versions: ofRules.map(({ version }) => version),
    })
    const origins = new Map(found.map(({ version, ...origin }) => [Number(version), origin]))
    return headers.map((header) =>
      header.kind === '' ? { ...header, ...origins.get(Number(header.version)) } : header,
    )
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
      const versions = getOrMake(wanted, kind, () => new Map<string, number>())
      versions.set(stepOf(id, version), version)
      if (previous !== undefined) versions.set(stepOf(id, previous), previous)
    }
    const rows = new Map<string, Row>()
    for (const [kind, versions] of wanted) {
      for (const row of await this.#versions(accountId, resourceOf(kind), versions))
        rows.set(stepOf(row.id, row.version), row)
    }
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
    const byKind = new Map<string, ShownHeader[]>()
    for (const header of headers)
      if (header.shownKind !== undefined) getOrMake(byKind, header.shownKind, () => []).push(header)
    const steps = new Map<string, Step>()
    for (const [kind, ofKind] of byKind) {
      const found = await this.#rows<Step>(stepsSql(kind), {
        account: accountId,
        ids: [...new Set(ofKind.map(({ shownId }) => shownId))],
        steps: ofKind.map(({ shownId, version }) => stepOf(shownId, version)),
        highest: Math.max(...ofKind.map(({ version }) => version)),
      })
      for (const step of found) steps.set(stepOf(step.id, Number(step.version)), step)
    }
    return steps
  }

  async #versions(
    accountId: string,
    resource: AnyResource,
    wanted: ReadonlyMap<string, number>,
  ): Promise<Row[]> {
    const found = await this.#rows<EncodedRow>(
      `SELECT * FROM ${tableOf(resource.kind)} WHERE account_id = {account:String} AND id IN {ids:Array(String)}
AND version IN {versions:Array(UInt64)} AND concat(id, ' ', toString(version)) IN {steps:Array(String)}
LIMIT 1 BY id, version`,
      {
        account: accountId,
        ids: [...new Set([...wanted.keys()].map((step) => step.split(' ')[0]))],
        versions: [...new Set(wanted.values())],
        steps: [...wanted.keys()],
      },
    )
    return found.map((row) => decodeRow(resource, row))
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

function entryOf(header: ShownHeader, step: Step | undefined): Omit<HistoryEntry, 'keyDescription'> {
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
    changedAt: timeOf(header.changed_at),
    changedBy: header.changed_by,
    clientAddress: header.client_address,
    operationId: header.operation_id,
  }
}

const prefixed = (before: HistoryPosition | undefined) =>
  before === undefined ? {} : { before_version: before.version, before_id: before.id }

/** Parameters that a statement does not use must not be sent. */
const defined = (params: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(params).filter(([, value]) => value !== undefined))
