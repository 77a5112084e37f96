/**
 * Which API keys and bouncers are genuine. Anyone who can write to the configuration bucket could forge a key's row there,
 * so a key counts only if ClickHouse, the source of the bucket, holds it, too: same token, account, rights and expiry, not
 * deleted. A change is in ClickHouse before it is in the bucket, so no genuine key is refused. A bouncer has a token, and
 * counts as a key without rights and expiry.
 *
 * Every key is compared once, when the view first has it, and remembered, so known keys still work while ClickHouse is
 * away. If the bucket contradicts ClickHouse, a key not compared before may be forged: 503. Lists and single reads show
 * known keys only.
 */
import { monotonicMs } from '../../ground/core/clock.js'
import { messageOf, unavailable } from '../../ground/core/errors.js'
import { getOrMake } from '../../ground/core/maps.js'
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import { apiKey, expiryOf, rightsOf } from '../../words/resource/api-key.js'
import { bouncer } from '../../words/resource/bouncers/bouncer.js'
import type { Row } from '../../words/resource/kind/define.js'
import type { View } from '../../words/view/view.js'
import type { Clickhouse } from './clickhouse/clickhouse.js'
import { tableOf } from './clickhouse/tables.js'
import { Queue } from './queues.js'

interface KnownKeysParts {
  readonly clickhouse: Clickhouse
  readonly view: View
  readonly occurrences: Occurrences
  /** Why ClickHouse can't decide about keys: it is not the database that the bucket was made from. */
  readonly contradiction: () => string | undefined
}

/** A refused key is compared again after this time, in case the database was corrected. */
const refusedForMs = 5_000
/** A client waits for its request to be authenticated. */
const lookUpTimeoutMs = 5_000
/** Keys looked up by one statement. */
const keysAtOnceMax = 1_000

/** The kinds whose tokens open a door of the API, with the columns that make the identity of a row. */
const keyKinds: ReadonlyMap<string, string> = new Map([
  [apiKey.kind, 'account_id, id, token_hash, rights, expires_at'],
  [bouncer.kind, 'account_id, id, token_hash'],
])

/** Do rows of this kind count only if ClickHouse holds them, too? */
export const isKeyKind = (kind: string): boolean => keyKinds.has(kind)

/** Rows are immutable, and every request needs the identity of its key. */
const identities = new WeakMap<Row, string>()

const identityOf = (row: Row): string => getOrMake(identities, row, () => madeIdentity(row))

const madeIdentity = (row: Row): string =>
  `${row.account_id} ${row.id} ${String(row['token_hash'])} ${(rightsOf(row) ?? []).join()} ${expiryOf(row) ?? ''}`

export class KnownKeys {
  readonly #parts: KnownKeysParts
  /** The identity found in ClickHouse, by id. */
  readonly #genuine = new Map<string, string>()
  /** The time at which an identity was not found. */
  readonly #refused = new Map<string, number>()
  readonly #queue = new Queue()

  constructor(parts: KnownKeysParts) {
    this.#parts = parts
  }

  /** Compares the keys in the view, and from then on every new one. */
  async open(): Promise<void> {
    const { view } = this.#parts
    const compare = () => this.#compare().catch((error: unknown) => this.#missed(error))
    view.onChange((kind) => {
      if (kind === '*' || isKeyKind(kind)) void compare()
    })
    await compare()
  }

  /** Is this row of the view a genuine key? Throws while ClickHouse is away and the key is not known yet. */
  async isGenuine(row: Row): Promise<boolean> {
    if (this.isKnown(row)) return true
    try {
      await this.#compare()
    } catch (error) {
      throw unavailable('ClickHouse does not answer, and this token was never checked before.', error)
    }
    if (this.isKnown(row)) return true
    const contradiction = this.#parts.contradiction()
    if (contradiction !== undefined) throw unavailable(contradiction)
    return false
  }

  /** Compares the account's new keys of a kind. While ClickHouse is away, they stay unknown. */
  async compareAccount(accountId: string, kind: string): Promise<void> {
    const { state } = this.#parts.view
    const rows = state.rows.get(kind)
    const isNew = (row: Row | undefined) => row !== undefined && !this.isKnown(row) && !this.#isRefused(row)
    const ids = [...state.ids(accountId, kind).below()]
    if (!ids.some((id) => isNew(rows?.get(id)))) return
    await this.#compare().catch((error: unknown) => this.#missed(error))
  }

  isKnown(row: Row): boolean {
    return this.#genuine.get(row.id) === identityOf(row)
  }

  /** One comparison at a time; each uses the view as it is when it begins. */
  #compare(): Promise<void> {
    return this.#queue.inTurn(() => this.#compareNew())
  }

  async #compareNew(): Promise<void> {
    const held = this.#parts.view.state.rows
    // Forget deleted keys, so that one that is restored is looked up again.
    for (const id of this.#genuine.keys())
      if (![...keyKinds.keys()].some((kind) => held.get(kind)?.has(id))) this.#genuine.delete(id)
    for (const [kind, columns] of keyKinds) {
      const rows = [...(held.get(kind)?.values() ?? [])]
      const unknown = rows.filter((row) => !this.isKnown(row) && !this.#isRefused(row))
      for (let from = 0; from < unknown.length; from += keysAtOnceMax)
        await this.#lookUp(kind, columns, unknown.slice(from, from + keysAtOnceMax))
    }
  }

  #isRefused(row: Row): boolean {
    const refusedAtMs = this.#refused.get(identityOf(row))
    return refusedAtMs !== undefined && monotonicMs() - refusedAtMs < refusedForMs
  }

  async #lookUp(kind: string, columns: string, rows: readonly Row[]): Promise<void> {
    const stored = await this.#parts.clickhouse.rows<Row & { token_hash: string; deleted: boolean }>(
      `SELECT ${columns}, deleted FROM ${tableOf(kind)}
WHERE id IN {ids:Array(String)} ORDER BY version DESC LIMIT 1 BY account_id, id`,
      { ids: rows.map(({ id }) => id) },
      lookUpTimeoutMs,
    )
    const found = new Set(stored.filter(({ deleted }) => !deleted).map(identityOf))
    for (const row of rows) {
      const identity = identityOf(row)
      if (found.has(identity)) {
        this.#genuine.set(row.id, identity)
        this.#refused.delete(identity)
      } else this.#refuse(row, identity)
    }
  }

  /** Reports each row once, however often it is tried. */
  #refuse({ account_id, id }: Row, identity: string): void {
    if (!this.#refused.has(identity)) this.#parts.occurrences.keyForeign({ account_id, id })
    this.#refused.set(identity, monotonicMs())
  }

  #missed(error: unknown): void {
    this.#parts.occurrences.keysUnchecked({ reason: messageOf(error) })
  }
}
