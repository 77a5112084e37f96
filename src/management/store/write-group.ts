/**
 * Writes of one account that are committed together: one head, one insert for each table, one projection. Each has a
 * version of its own, and is planned with the state that those before it leave.
 *
 * A write that depends on another one of the group in a way that this state can't show is left for the next group: it
 * writes the same resource, takes or releases the same claim, or repeats the request. Three sorts of writes let none
 * follow: those of IP policy rules, those whose audit events the change does not hold, and those that take a claim. A
 * group that held one claim while it asked for the next could wait for another account's group, and that for this one.
 */

import { getOrMake } from '../../ground/core/maps.js'
import type { Row } from '../../words/resource/kind/define.js'
import { policyKind, type RulesChunk, ruleKind } from '../../words/view/keys.js'
import { ownersOf } from '../../words/view/owners.js'
import type { SortedIds } from '../../words/view/sorted-ids.js'
import { type IdleGeneration, ViewState } from '../../words/view/view-state.js'
import type { Change } from './change/change.js'
import { type Draft, splitRelease } from './change/plan.js'

/** Bounds what the client of the first write waits for. */
const changesMax = 64

export class WriteGroup {
  readonly #accountId: string
  readonly #firstVersion: number
  readonly #bytesMax: number
  /** The state before the group. */
  readonly base: ViewState
  #planned: PlannedState | undefined
  readonly changes: Change[] = []
  /** Resources, claims and requests of its writes. */
  readonly #names = new Set<string>()
  #bytes = 0
  #isClosed = false

  constructor(accountId: string, firstVersion: number, base: ViewState, bytesMax: number) {
    this.#accountId = accountId
    this.#firstVersion = firstVersion
    this.base = base
    this.#bytesMax = bytesMax
  }

  /** The version of the next write. */
  get nextVersion(): number {
    return this.#firstVersion + this.changes.length
  }

  /** The state that the next write is planned with. */
  get state(): ViewState {
    return this.#planned ?? this.base
  }

  get isFull(): boolean {
    return this.#isClosed || this.changes.length >= changesMax
  }

  /** Was this request already made by another write of the group? */
  hasRequest(key: string): boolean {
    return this.#names.has(key)
  }

  /** May a write with this draft be committed together with those before it? */
  takes<T>(draft: Draft<T>, change: Change): boolean {
    if (this.changes.length === 0) return true
    return (
      this.#bytes + bytesOf(change) <= this.#bytesMax && !namesOf(draft).some((name) => this.#names.has(name))
    )
  }

  add<T>(draft: Draft<T>, change: Change): void {
    const version = this.nextVersion
    this.changes.push(change)
    this.#bytes += bytesOf(change)
    for (const name of namesOf(draft)) this.#names.add(name)
    if (change.answer !== undefined) this.#names.add(change.answer.key)
    this.#isClosed = !mayBeFollowed(change) || (draft.claims ?? []).length > 0
    if (this.#isClosed) return
    this.#planned ??= new PlannedState(this.base)
    this.#planned.add(this.#accountId, version, change)
  }
}

const bytesOf = (change: Change): number => Buffer.byteLength(JSON.stringify(change))

const namesOf = <T>({ puts, removals, claims = [], releases = [] }: Draft<T>): string[] => [
  ...[...puts, ...removals].map(({ row }) => row.id),
  ...claims.map(({ claim }) => claim),
  ...releases.map((release) => splitRelease(release)[1]),
]

/** Rules are stored in chunks, and a policy takes its rules with it. */
const mayBeFollowed = ({ puts, removals, emptiedPolicies }: Change): boolean =>
  emptiedPolicies.length === 0 &&
  removals.length <= 1 &&
  !puts.some(({ kind }) => kind === ruleKind) &&
  !removals.some(({ kind }) => kind === ruleKind || kind === policyKind)

/**
 * The configuration as it will be once writes that are planned, but not committed yet, are carried out: the next write
 * of their group is planned with it. It shares all rows with the state it is based on, except of the kinds that the
 * group writes. IP policy rules are not among them: a write of rules is the last one of its group.
 */
class PlannedState extends ViewState {
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
