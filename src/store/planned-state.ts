/**
 * The configuration as it will be once writes that are planned, but not committed yet, are carried out: the next write
 * of their group is planned with it. It shares all rows with the state it is based on, except of the kinds that the
 * group writes. IP policy rules are not among them: a write of rules is the last one of its group.
 */
import { getOrMake } from '../core/maps.js'
import type { Row } from '../resource/define.js'
import type { RulesChunk } from '../view/keys.js'
import type { SortedIds } from '../view/sorted-ids.js'
import { type IdleGeneration, ownersOf, ViewState } from '../view/view-state.js'
import type { Change } from './change.js'

export class PlannedState extends ViewState {
  readonly #base: ViewState
  /** Rows of the kinds that the group writes. */
  readonly #rows = new Map<string, Map<string, Row>>()
  readonly #ids = new Map<string, SortedIds>()

  constructor(base: ViewState) {
    super()
    this.#base = base
    this.meta = base.meta
    this.revision = base.revision
    for (const [kind, rows] of base.rows) this.rows.set(kind, rows)
    for (const [accountId, state] of base.accounts) this.accounts.set(accountId, state)
  }

  add(accountId: string, version: number, { puts, removals, stored, counts }: Change): void {
    for (const { kind, row } of puts) {
      this.#rowsOf(kind).set(row.id, row)
      for (const owner of ownersOf(kind, row)) this.#idsOf(owner, kind).add(row.id)
    }
    for (const { kind, id, row } of removals) {
      this.#rowsOf(kind).delete(id)
      if (row !== null) for (const owner of ownersOf(kind, row)) this.#idsOf(owner, kind).delete(id)
    }
    this.accounts.set(accountId, { version, stored, counts })
  }

  #rowsOf(kind: string): Map<string, Row> {
    return getOrMake(this.#rows, kind, () => {
      const copy = new Map(this.#base.rows.get(kind))
      this.rows.set(kind, copy)
      return copy
    })
  }

  #idsOf(ownerId: string, kind: string): SortedIds {
    return getOrMake(this.#ids, `${ownerId} ${kind}`, () => this.#base.ids(ownerId, kind).copy())
  }

  override ids(ownerId: string, kind: string): SortedIds {
    return this.#ids.get(`${ownerId} ${kind}`) ?? this.#base.ids(ownerId, kind)
  }

  override rules(policyId: string): ReturnType<ViewState['rules']> {
    return this.#base.rules(policyId)
  }

  override generation(policyId: string, generation: string): ReadonlyMap<number, RulesChunk> {
    return this.#base.generation(policyId, generation)
  }

  override idleGenerations(): Generator<IdleGeneration> {
    return this.#base.idleGenerations()
  }

  override chunkOf(ruleId: string): number | undefined {
    return this.#base.chunkOf(ruleId)
  }

  override revisionOf(key: string): number {
    return this.#base.revisionOf(key)
  }
}
