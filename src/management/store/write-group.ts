/**
 * Writes of one account that are committed together: one head, one insert for each table, one projection. Each has a
 * version of its own, and is planned with the state that those before it leave.
 *
 * A write that depends on another one of the group in a way that this state can't show is left for the next group: it
 * writes the same resource, takes or releases the same claim, or repeats the request. Three sorts of writes let none
 * follow: those of IP policy rules, those whose audit events the change does not hold, and those that take a claim. A
 * group that held one claim while it asked for the next could wait for another account's group, and that for this one.
 */

import { policyKind, ruleKind } from '../../words/view/keys.js'
import type { ViewState } from '../../words/view/view-state.js'
import type { Change } from './change/change.js'
import { type Draft, splitRelease } from './change/plan.js'
import { PlannedState } from './planned-state.js'

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

  /** Adds the changes of a batch to a group that has none yet; no other write follows. */
  addBatch(changes: readonly Change[]): void {
    this.changes.push(...changes)
    this.#isClosed = true
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
