/**
 * The configuration as it will be once changes that are planned, but not committed yet, are carried out: the next write is
 * planned with it. It shares all rows with the state it is based on, except of the kinds and policies that the changes write.
 */
import { getOrMake } from '../../ground/core/maps.js'
import type { Row } from '../../words/resource/kind/define.js'
import type { DeclaredRow } from '../../words/resource/registry.js'
import { type RulesChunk, ruleKind } from '../../words/view/keys.js'
import { ownersOf } from '../../words/view/owners.js'
import type { SortedIds } from '../../words/view/sorted-ids.js'
import { type IdleGeneration, ViewState } from '../../words/view/view-state.js'
import type { Change, ChunkChange } from './change/change.js'
import { editedChunk } from './change/rule-chunks.js'

/** No stored rules have this version, so that planned ones are never taken for compiled ones. */
const plannedVersion = -1

export class PlannedState extends ViewState {
  readonly #base: ViewState
  /** Rows of the kinds that the changes write. */
  readonly #rows = new Map<string, Map<string, Row>>()
  readonly #ids = new Map<string, SortedIds>()
  /** Chunks of the policies whose rules the changes write: those that count. */
  readonly #chunks = new Map<string, Map<number, RulesChunk>>()
  /** The chunks of rules that the changes write; undefined for those that are removed. */
  readonly #chunkOf = new Map<string, number | undefined>()

  constructor(base: ViewState) {
    super()
    this.#base = base
    this.meta = base.meta
    this.revision = base.revision
    for (const [kind, rows] of base.rows) this.rows.set(kind, rows)
    for (const [accountId, state] of base.accounts) this.accounts.set(accountId, state)
  }

  add(accountId: string, version: number, change: Change): void {
    const { puts, removals, chunks, emptiedPolicies, stored, counts } = change
    for (const policyId of emptiedPolicies) this.#emptyPolicy(policyId)
    for (const { kind, row } of puts) this.#put(kind, row)
    for (const { kind, id, row } of removals) if (row !== null) this.#remove(kind, id, row)
    for (const chunk of chunks) this.#editChunk(accountId, chunk)
    this.accounts.set(accountId, { version, stored, counts })
  }

  #put(kind: string, row: Row): void {
    this.#rowsOf(kind).set(row.id, row)
    for (const owner of ownersOf(kind, row)) this.#idsOf(owner, kind).add(row.id)
  }

  #remove(kind: string, id: string, row: Row): void {
    this.#rowsOf(kind).delete(id)
    for (const owner of ownersOf(kind, row)) this.#idsOf(owner, kind).delete(id)
  }

  #emptyPolicy(policyId: string): void {
    for (const { rules } of this.chunks(policyId).values())
      for (const rule of rules) {
        this.#remove(ruleKind, rule.id, rule)
        this.#chunkOf.set(rule.id, undefined)
      }
    this.#chunks.set(policyId, new Map())
  }

  /** Its rules are among the rows by now. */
  #editChunk(accountId: string, { policyId, chunk, put, gone }: ChunkChange): void {
    const chunks = getOrMake(this.#chunks, policyId, () => new Map(this.chunks(policyId)))
    const rules = put.flatMap((id) => this.rows.get(ruleKind)?.get(id) ?? [])
    chunks.set(chunk, editedChunk(accountId, chunks.get(chunk), rules, gone))
    for (const id of put) this.#chunkOf.set(id, chunk)
    for (const id of gone) this.#chunkOf.set(id, undefined)
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
    const chunks = this.#chunks.get(policyId)
    if (chunks === undefined) return this.#base.rules(policyId)
    // These rows were made from the declaration.
    const rules = [...chunks.values()].flatMap((chunk) => chunk.rules) as DeclaredRow<'ip_policy_rule'>[]
    return { version: plannedVersion, rules }
  }

  override generation(policyId: string, generation: string): ReadonlyMap<number, RulesChunk> {
    const planned = generation === this.generationOf(policyId) ? this.#chunks.get(policyId) : undefined
    return planned ?? this.#base.generation(policyId, generation)
  }

  override idleGenerations(): Generator<IdleGeneration> {
    return this.#base.idleGenerations()
  }

  override chunkOf(ruleId: string): number | undefined {
    return this.#chunkOf.has(ruleId) ? this.#chunkOf.get(ruleId) : this.#base.chunkOf(ruleId)
  }

  override revisionOf(key: string): number {
    return this.#base.revisionOf(key)
  }
}
