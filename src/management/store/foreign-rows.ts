/**
 * Looks for rows of the configuration bucket that ClickHouse does not hold: unknown or deleted ones, other versions
 * than the current one, and other contents. Each is reported once; nothing is deleted, an operator has to decide.
 *
 * Only rows that arrived since the last look are compared, so an idle deployment costs nothing; the first look of a
 * process reads everything once, in small batches with pauses. Rows are tracked as objects, not by key, because a
 * forged entry may hold a row under another row's key. Sealed values are not compared: their seal authenticates them.
 * `reconcile.ts` finds rows that are missing from the bucket.
 */
import { isDeepStrictEqual } from 'node:util'
import { sleep } from '../../ground/core/clock.js'
import type { AnyResource, Row } from '../../words/resource/kind/define.js'
import { decodeRow, type EncodedRow, rowEncoder, tableOf } from './clickhouse/tables.js'
import type { ReconcilerParts } from './reconciler.js'
import { sealedFields } from './sealed-values.js'

type ForeignRowsParts = Pick<ReconcilerParts, 'clickhouse' | 'resources' | 'view' | 'occurrences'>

/** Rows compared by one statement. */
const rowsAtOnceMax = 500
/** Pause between statements, so that requests get their turn. */
const batchPauseMs = 20

/** `behind`: a newer version may be on its way to the bucket, which can only last a short time. */
type Finding = 'same' | 'behind' | 'foreign'

export class ForeignRows {
  readonly #parts: ForeignRowsParts
  /** Rows that are done: the same as in ClickHouse, or reported. */
  readonly #done = new WeakSet<Row>()
  /** Rows that were behind at the last look. */
  #behind: ReadonlySet<Row> = new Set()

  constructor(parts: ForeignRowsParts) {
    this.#parts = parts
  }

  async report(): Promise<void> {
    const state = this.#parts.view.latest
    const behind = new Set<Row>()
    for (const resource of this.#parts.resources) {
      const present = state.rows.get(resource.kind) ?? new Map<string, Row>()
      const rows = [...present.values()].filter((row) => !this.#done.has(row))
      for (let from = 0; from < rows.length; from += rowsAtOnceMax) {
        if (from > 0) await sleep(batchPauseMs)
        await this.#compare(resource, rows.slice(from, from + rowsAtOnceMax), present, behind)
      }
    }
    this.#behind = behind
  }

  async #compare(
    resource: AnyResource,
    rows: readonly Row[],
    present: ReadonlyMap<string, Row>,
    behind: Set<Row>,
  ): Promise<void> {
    const stored = await this.#stored(resource, rows)
    const findingOf = rowComparer(resource)
    for (const row of rows) {
      // A row that was replaced meanwhile is compared at the next look.
      if (present.get(row.id) !== row) continue
      const finding = findingOf(row, stored.get(identityOf(row)))
      if (finding === 'behind' && !this.#behind.has(row)) behind.add(row)
      else {
        this.#done.add(row)
        const { id, account_id, version } = row
        if (finding !== 'same')
          this.#parts.occurrences.rowForeign({ kind: resource.kind, id, account_id, version })
      }
    }
  }

  /** The current versions in ClickHouse, deletions included. Rows reach ClickHouse before they reach the bucket. */
  async #stored({ kind }: AnyResource, rows: readonly Row[]): Promise<ReadonlyMap<string, EncodedRow>> {
    const stored = await this.#parts.clickhouse.rows<EncodedRow>(
      `SELECT * FROM ${tableOf(kind)} WHERE account_id IN {accounts:Array(String)} AND id IN {ids:Array(String)}
ORDER BY version DESC LIMIT 1 BY account_id, id`,
      {
        accounts: [...new Set(rows.map((row) => String(row.account_id)))],
        ids: rows.map((row) => String(row.id)),
      },
    )
    return new Map(stored.map((row) => [identityOf(row), row]))
  }
}

const identityOf = ({ account_id, id }: EncodedRow | Row): string => `${account_id} ${id}`

/** Compares rows of a kind with their current versions in ClickHouse. */
export function rowComparer(resource: AnyResource): (row: Row, stored: EncodedRow | undefined) => Finding {
  const isSame = sameIn(resource)
  return (row, stored) => {
    if (stored === undefined) return 'foreign'
    const version = Number(stored['version'])
    if (row.version < version) return 'behind'
    return row.version === version && !stored['deleted'] && isSame(row, stored) ? 'same' : 'foreign'
  }
}

/** Compares both rows in their ClickHouse encoding, in which an unset field has one form. */
function sameIn(resource: AnyResource): (row: Row, stored: EncodedRow) => boolean {
  const encode = rowEncoder(resource, { changedAt: 0, changedBy: '' })
  const sealed = sealedFields(resource.kind)
  const open = (encoded: EncodedRow): Record<string, unknown> => {
    const row: Record<string, unknown> = { ...decodeRow(resource, encoded) }
    for (const name of sealed) delete row[name]
    return row
  }
  return (row, stored) => {
    try {
      return isDeepStrictEqual(open(encode(row, false) as EncodedRow), open(stored))
    } catch {
      // A row that can't be encoded was not written by Weir.
      return false
    }
  }
}
