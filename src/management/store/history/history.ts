/**
 * The history: what was changed, newest first, read from the tables of versions.
 *
 * An entry is one resource in one version of its account. Rules of an IP policy that one write changed together are one
 * entry of their policy, however many they are; a rule that was changed alone has an entry of its own. Reading has two
 * steps: `entries` finds what was changed, from narrow columns; `details` reads the rows of the entries to be shown.
 */
import { unavailable } from '../../../ground/core/errors.js'
import { apiKey } from '../../../words/resource/api-key.js'
import type { AnyResource, Row } from '../../../words/resource/kind/define.js'
import { policyKind, ruleKind } from '../../../words/view/keys.js'
import type { View } from '../../../words/view/view.js'
import type { WriteVerb } from '../change/change.js'
import type { Clickhouse } from '../clickhouse/clickhouse.js'
import { decodeRow, type EncodedRow, tableOf, timeOf } from '../clickhouse/tables.js'
import { type ChangedRuleCounts, FactReader, type ReadRows, type Step } from './fact-reader.js'
import { HeaderReader } from './header-reader.js'
import {
  type Header,
  type HistoryPosition,
  type HistoryQuery,
  keyDescriptionsSql,
  type Origin,
  type Place,
  stepOf,
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
  /** Id of the API key, or `cli`, `nats` or `expiry`. */
  readonly changedBy: string
  /** The last description of the API key, which may have been deleted since. */
  readonly keyDescription: string | null
  readonly clientAddress: string | null
  readonly operationId: string | null
  readonly testsSkipped: boolean
}

/** The rows of an entry: none if only rules of the policy were changed. */
export interface HistoryDetail {
  readonly before: Row | undefined
  readonly after: Row | undefined
  readonly rules: ChangedRuleCounts | undefined
  /** The challenger whose promotion made the change. */
  readonly promoted: string | undefined
}

/** A client waits, and other statements wait for the same disk. */
const statementTimeoutMs = 5_000

/**
 * How ClickHouse reads small parts of many tables at the least cost: in the statement's own threads, through small buffers.
 * A page of changes takes a tenth to a fifth less of the processor.
 */
const smallReads = "local_filesystem_read_method = 'pread', max_read_buffer_size = 65536"

export class History {
  readonly #clickhouse: Clickhouse
  readonly #view: Pick<View, 'state'>
  readonly #headers: HeaderReader
  readonly #facts: FactReader

  constructor(clickhouse: Clickhouse, view: Pick<View, 'state' | 'latest' | 'onChange'>) {
    this.#clickhouse = clickhouse
    this.#view = view
    const rows: ReadRows = (sql, params) => this.#rows(sql, params)
    this.#headers = new HeaderReader(rows, view)
    // The configuration gets an account's version after all else of a change.
    this.#facts = new FactReader(rows, (accountId) => view.state.versionOf(accountId))
  }

  /** At most `limit` entries, newest first. */
  async entries(query: HistoryQuery): Promise<HistoryEntry[]> {
    const { accountId } = query
    const headers = (await this.#headers.newest(query)).map(withOwnRule)
    const steps = await this.#facts.steps(accountId, headers.flatMap(placeOf))
    const ofRules = headers.filter(({ shownKind }) => shownKind === undefined)
    const origins = await this.#facts.authorsOfRules(
      accountId,
      ofRules.map(({ rule_id, version }) => ({ id: rule_id, version })),
    )
    const shown = headers.map((header) => {
      const step = steps.get(stepOf(header.shownId, header.version))
      const origin = step ?? origins.get(stepOf(header.rule_id, header.version))
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

  /** The descriptions of the keys that made the changes: those of deleted keys are read. */
  async #keyDescriptions(
    accountId: string,
    authors: readonly string[],
  ): Promise<ReadonlyMap<string, string>> {
    const keys = this.#view.state.rows.get(apiKey.kind)
    const descriptions = new Map<string, string>()
    const deleted: string[] = []
    for (const id of new Set(authors)) {
      if (!id.startsWith(apiKey.idPrefix)) continue
      const key = keys?.get(id)
      if (key?.account_id === accountId) descriptions.set(id, String(key['description'] ?? ''))
      else deleted.push(id)
    }
    if (deleted.length === 0) return descriptions
    const found = await this.#rows<{ id: string; text: string }>(keyDescriptionsSql, {
      account: accountId,
      ids: deleted,
    })
    for (const { id, text } of found) descriptions.set(id, text)
    return descriptions
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
    const places: Place[] = []
    for (const { kind, id, version, verb, previous, rules } of entries) {
      if (rules > 0 && verb === 'update') continue
      places.push({ kind, id, version })
      if (previous !== undefined) places.push({ kind, id, version: previous })
    }
    const rows = await this.#facts.rows(accountId, places)
    const counts = await this.#facts.ruleCounts(
      accountId,
      entries.filter(({ rules }) => rules > 0),
    )
    const promotions = await this.#facts.promotions(
      accountId,
      entries.map(({ version }) => version),
    )
    return entries.map(({ id, version, verb, previous }) => ({
      promoted: promotions.get(version) || undefined,
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

  /** ClickHouse ends a statement itself that takes too long, because an embedded one can't be aborted. */
  async #rows<T>(sql: string, params: Readonly<Record<string, unknown>>): Promise<T[]> {
    const limited = `${sql}\nSETTINGS max_execution_time = ${statementTimeoutMs / 1000}, ${smallReads}`
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

const placeOf = ({ shownKind, shownId, version }: ShownHeader): Place[] =>
  shownKind === undefined ? [] : [{ kind: shownKind, id: shownId, version }]

/** A rule that was changed alone is shown itself, instead of its policy. */
const withOwnRule = (header: Header): ShownHeader => {
  const { kind, id, rules, rule_id } = header
  if (kind === '' && rules === 1) return { ...header, shownKind: ruleKind, shownId: rule_id }
  return { ...header, shownKind: kind === '' ? undefined : kind, shownId: id }
}

function entryOf(
  header: ShownHeader,
  step: Step | undefined,
  origin: Origin,
): Omit<HistoryEntry, 'keyDescription'> {
  const { id, version, shownKind, shownId, rules } = header
  const isRule = shownKind === ruleKind
  return {
    position: { version, id },
    version,
    kind: shownKind ?? policyKind,
    id: shownId,
    verb: step?.deleted ? 'delete' : step !== undefined && step.previous === undefined ? 'create' : 'update',
    previous: step?.previous,
    rules: isRule ? 0 : rules,
    changedAt: timeOf(origin.changed_at),
    changedBy: origin.changed_by,
    clientAddress: origin.client_address,
    operationId: origin.operation_id,
    testsSkipped: origin.tests_skipped,
  }
}
