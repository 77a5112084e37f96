/**
 * The writes of a batch, planned one after the other: each with the state that those before it leave. They are checked as
 * one write, and committed together or not at all.
 */
import { now } from '../../ground/core/clock.js'
import { conflict } from '../../ground/core/errors.js'
import { Slices } from '../../ground/core/slices.js'
import type { Bucket } from '../../ground/nats/bucket.js'
import { resourceOf } from '../../words/resource/registry.js'
import { policyKind, ruleKind } from '../../words/view/keys.js'
import type { ViewState } from '../../words/view/view-state.js'
import type { Change, Principal, Put, Removal } from './change/change.js'
import { beforeCommit } from './change/outcome.js'
import {
  type Claim,
  changeOf,
  type Draft,
  isEmpty,
  type Plan,
  splitRelease,
  unchanged,
} from './change/plan.js'
import { PlannedState } from './planned-state.js'
import { type PlannedBefore, withKeptSecrets } from './sealed-values.js'
import type { VerifiedWrite } from './verify.js'

/** A batch as one write. */
type Whole = Pick<VerifiedWrite, 'base' | 'state' | 'puts' | 'removals'>

export class Stage {
  readonly #accountId: string
  readonly #firstVersion: number
  readonly #base: ViewState
  readonly #planned: PlannedState
  readonly #changes: Change[] = []
  /** The last row of each resource that is put, by its id. */
  readonly #puts = new Map<string, Put>()
  readonly #removals = new Map<string, Removal>()
  readonly #claims = new Map<string, Claim>()
  readonly #released = new Set<string>()
  readonly #checks = new Set<NonNullable<Draft<unknown>['check']>>()

  constructor(accountId: string, firstVersion: number, base: ViewState) {
    this.#accountId = accountId
    this.#firstVersion = firstVersion
    this.#base = base
    this.#planned = new PlannedState(base)
  }

  get nextVersion(): number {
    return this.#firstVersion + this.#changes.length
  }

  /** The state that the next write is planned with. */
  get state(): ViewState {
    return this.#planned
  }

  get claims(): readonly Claim[] {
    return [...this.#claims.values()]
  }

  /** Claims that are free once the batch is carried out. */
  get released(): ReadonlySet<string> {
    return this.#released
  }

  /** Plans the next write; returns its result. Secrets that it keeps are left out, so it can't be committed. */
  plan<T>(principal: Principal, plan: Plan<T>): T {
    const at = now()
    const draft = plan(this.state, this.nextVersion, at)
    this.#add(draft, changeOf(this.#accountId, this.nextVersion, at, principal, draft, this.state))
    return draft.result
  }

  /** Plans writes that can be committed; returns their results. */
  async planAll<T>(principal: Principal, plans: readonly Plan<T>[], secrets: Bucket): Promise<T[]> {
    const slices = new Slices()
    const results: T[] = []
    for (const plan of plans) {
      if (slices.isDue()) await slices.pause()
      const { draft, change } = await planChange(
        this.#accountId,
        this.nextVersion,
        principal,
        plan,
        this.state,
        secrets,
        (id) => this.#puts.get(id)?.row,
      )
      this.#add(draft, change)
      results.push(draft.result)
    }
    return results
  }

  /** The changes to commit. `answered`: is a part of the last one, also if nothing else is written. */
  changesWith(principal: Principal, answered: Pick<Change, 'answer'> | undefined): readonly Change[] {
    if (answered === undefined) return this.#changes
    const nothing = (): Change =>
      changeOf(this.#accountId, this.nextVersion, now(), principal, unchanged(undefined), this.#base)
    const last = this.#changes.at(-1) ?? nothing()
    return [...this.#changes.slice(0, -1), { ...last, ...answered }]
  }

  #add<T>(draft: Draft<T>, change: Change): void {
    if (isEmpty(draft)) return
    for (const put of change.puts) this.#addPut(put)
    for (const removal of draft.removals) this.#addRemoval(removal)
    for (const claim of draft.claims ?? []) {
      if (this.#claims.has(claim.claim)) throw claim.taken()
      this.#claims.set(claim.claim, claim)
    }
    for (const release of draft.releases ?? []) this.#released.add(splitRelease(release)[1])
    if (draft.check !== undefined) this.#checks.add(draft.check)
    const version = this.nextVersion
    this.#changes.push(change)
    this.#planned.add(this.#accountId, version, change)
  }

  /** Checks all of it as one write; rejects to refuse it. */
  async check(verify: (whole: Whole) => Promise<void>): Promise<void> {
    if (this.#changes.length === 0) return
    const [puts, removals] = [[...this.#puts.values()], [...this.#removals.values()]]
    const whole = { base: this.#base, state: this.#base, puts, removals }
    for (const check of this.#checks) await check(whole)
    await verify(whole)
  }

  #addPut(put: Put): void {
    const { kind, row } = put
    if (this.#removals.has(row.id)) throw twice(kind, row.id)
    const before = this.#puts.get(row.id)
    this.#puts.set(row.id, before === undefined ? put : { ...put, isNew: before.isNew })
  }

  #addRemoval(removal: Removal): void {
    const { kind, row } = removal
    const isWritten = kind === policyKind && this.#hasRulesOf(row.id)
    if (this.#puts.has(row.id) || isWritten) throw twice(kind, row.id)
    this.#removals.set(row.id, removal)
  }

  #hasRulesOf(policyId: string): boolean {
    const rules = [...this.#puts.values(), ...this.#removals.values()].filter(({ kind }) => kind === ruleKind)
    return rules.some(({ row }) => row['ip_policy_id'] === policyId)
  }
}

/** The change that a plan makes of a state. */
export async function planChange<T>(
  accountId: string,
  version: number,
  principal: Principal,
  plan: Plan<T>,
  state: ViewState,
  secrets: Bucket,
  before?: PlannedBefore,
) {
  const at = now()
  const draft = plan(state, version, at)
  const puts = await beforeCommit(() => withKeptSecrets(secrets, draft.puts, state, before))
  const change = changeOf(accountId, version, at, principal, { ...draft, puts }, state)
  return { draft, change }
}

const twice = (kind: string, id: string) =>
  conflict(
    `The ${resourceOf(kind).title} ${id} is changed and deleted by the same batch: leave one of them out.`,
  )
