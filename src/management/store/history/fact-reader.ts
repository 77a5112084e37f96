/** Reads what does not change any more about changes: their steps, rows, changed rules and the authors of these. */
import { challenger } from '../../../words/resource/challenger.js'
import type { Row } from '../../../words/resource/kind/define.js'
import { resourceOf } from '../../../words/resource/registry.js'
import { ruleKind } from '../../../words/view/keys.js'
import { decodeRow, type EncodedRow } from '../clickhouse/tables.js'
import { Facts } from './facts.js'
import {
  type Origin,
  originsSql,
  type Place,
  promotionsSql,
  rowsStatement,
  ruleCountsSql,
  type StepRow,
  stepOf,
  stepsStatement,
  type VersionRow,
} from './history-query.js'

/** A change of a resource in one version. */
export interface Step extends Origin {
  readonly deleted: boolean
  /** The resource's version before; undefined if it did not exist. */
  readonly previous: number | undefined
}

export interface ChangedRuleCounts {
  readonly added: number
  readonly updated: number
  readonly removed: number
}

/** The answers are by `stepOf`; they lack what is not stored. */
type ByStep<T> = Promise<ReadonlyMap<string, T>>

export type ReadRows = <T>(sql: string, params: Readonly<Record<string, unknown>>) => Promise<T[]>

export class FactReader {
  readonly #rows: ReadRows
  readonly #facts: Facts

  /** `settledVersion`: up to this version, all rows of the account are stored. */
  constructor(rows: ReadRows, settledVersion: (accountId: string) => number) {
    this.#rows = rows
    this.#facts = new Facts(settledVersion)
  }

  steps(accountId: string, places: readonly Place[]): ByStep<Step> {
    return this.#facts.of('step', accountId, places, async (missing) => {
      const { sql, params } = stepsStatement(accountId, missing)
      return stepsIn(await this.#rows<StepRow>(sql, params))
    })
  }

  rows(accountId: string, places: readonly Place[]): ByStep<Row> {
    return this.#facts.of('row', accountId, places, async (missing) => {
      const { sql, params } = rowsStatement(accountId, missing)
      const found = await this.#rows<VersionRow>(sql, params)
      const rows = found.map(({ kind, text }) => decodeRow(resourceOf(kind), JSON.parse(text) as EncodedRow))
      return new Map(rows.map((row) => [stepOf(row.id, row.version), row]))
    })
  }

  /** Places of policies whose rules were changed together. */
  ruleCounts(accountId: string, policies: readonly Place[]): ByStep<ChangedRuleCounts> {
    return this.#facts.of('rules', accountId, policies, async (missing) => {
      const found = await this.#rows<ChangedRuleCounts & { policy: string; version: number }>(ruleCountsSql, {
        account: accountId,
        policies: [...new Set(missing.map(({ id }) => id))],
        versions: [...new Set(missing.map(({ version }) => version))],
      })
      return new Map(found.map(({ policy, version, ...counts }) => [stepOf(policy, version), counts]))
    })
  }

  /**
   * The challengers whose promotions made these versions, by version. A promoted one may get another description, or be
   * deleted, later.
   */
  async promotions(accountId: string, versions: readonly number[]): Promise<ReadonlyMap<number, string>> {
    const places = [...new Set(versions)].map((version) => ({ kind: challenger.kind, id: '', version }))
    const found = await this.#facts.of('promotion', accountId, places, async (missing) => {
      const rows = await this.#rows<{ id: string; promoted: number }>(promotionsSql, {
        account: accountId,
        versions: missing.map(({ version }) => version),
      })
      const ids = new Map(rows.map(({ id, promoted }) => [promoted, id]))
      // That a version is of no promotion is a fact, too.
      return new Map(missing.map(({ version }) => [stepOf('', version), ids.get(version) ?? '']))
    })
    return new Map(places.map(({ version }) => [version, found.get(stepOf('', version)) ?? '']))
  }

  /** Who changed rules together, by one of the rules of each change: all changes of one version have the same author. */
  authorsOfRules(
    accountId: string,
    rules: readonly { readonly id: string; readonly version: number }[],
  ): ByStep<Origin> {
    const places = rules.map(({ id, version }) => ({ kind: ruleKind, id, version }))
    return this.#facts.of('author', accountId, places, async (missing) => {
      const found = await this.#rows<Origin & { version: number }>(originsSql, {
        account: accountId,
        ids: missing.map(({ id }) => id),
        versions: missing.map(({ version }) => version),
      })
      const origins = new Map(found.map(({ version, ...origin }) => [version, origin]))
      return new Map(
        missing.flatMap(({ id, version }): [string, Origin][] => {
          const author = origins.get(version)
          return author === undefined ? [] : [[stepOf(id, version), author]]
        }),
      )
    })
  }
}

/** Rows are sorted by id and descending version; the lowest of each id lacks the one before it. */
function stepsIn(rows: readonly StepRow[]): ReadonlyMap<string, Step> {
  const steps = new Map<string, Step>()
  for (const [index, { id, version, ...row }] of rows.entries()) {
    const before = rows[index + 1]
    const existed = before?.id === id && !before.deleted
    steps.set(stepOf(id, version), { ...row, previous: existed ? before.version : undefined })
  }
  return steps
}
