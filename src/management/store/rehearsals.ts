/** Writes that are planned and checked, and not committed: what would be their answer, or why they would be refused. */
import { now } from '../../ground/core/clock.js'
import type { Bucket } from '../../ground/nats/bucket.js'
import type { ViewState } from '../../words/view/view-state.js'
import type { Principal } from './change/change.js'
import type { Heads } from './change/heads.js'
import { type Draft, isEmpty, type Plan, type RulesPlan } from './change/plan.js'
import type { SettledAccount } from './change/settled-account.js'
import type { Claims } from './claims/claims.js'
import type { BatchedPlans } from './commits.js'
import type { Queues } from './queues.js'
import { planChange, Stage } from './stage.js'
import type { VerifyWrite } from './verify.js'

interface RehearsalsParts {
  readonly heads: Pick<Heads, 'checkSize'>
  readonly claims: Pick<Claims, 'rehearse'>
  readonly queues: Queues
  readonly secrets: Bucket
  readonly settled: (accountId: string) => Promise<SettledAccount>
  readonly verify: VerifyWrite
}

export class Rehearsals {
  readonly #parts: RehearsalsParts

  constructor(parts: RehearsalsParts) {
    this.#parts = parts
  }

  /** Resolves or rejects as `commit` would at present. */
  of<T>(accountId: string, principal: Principal, plan: Plan<T>): Promise<T> {
    return this.#parts.queues.inTurn(accountId, () => this.#write(accountId, principal, plan))
  }

  /**
   * Resolves or rejects as `commitBatch` would at present, but for this: a name that another write of the batch gives up
   * counts as free.
   */
  ofBatch<T, R>(accountId: string, principal: Principal, batch: BatchedPlans<T, R>): Promise<R> {
    return this.#parts.queues.inTurn(accountId, () => this.#batch(accountId, principal, batch))
  }

  /** The same as `of` for `replaceRules`. */
  async ofRules<T>(
    accountId: string,
    principal: Principal,
    policyId: string,
    plan: RulesPlan<T>,
  ): Promise<T> {
    const { state } = await this.#parts.settled(accountId)
    const { rules, isChange, result } = await plan(state, 0)
    if (!isChange) return result
    const changes = { puts: [], removals: [], rules: { policyId, rules } }
    await this.#parts.verify({ accountId, principal, base: state, state, ...changes })
    return result
  }

  /** Resolves with the result of a plan, or rejects if its write would be refused; checks no size and no names. */
  async verifyPlan<T>(accountId: string, principal: Principal, plan: Plan<T>): Promise<T> {
    const { known, state } = await this.#parts.settled(accountId)
    const draft = plan(state, known.version + 1, now())
    if (!isEmpty(draft)) await this.#verifyDraft(accountId, principal, state, draft)
    return draft.result
  }

  async #verifyDraft<T>(
    accountId: string,
    principal: Principal,
    state: ViewState,
    { puts, removals, check }: Draft<T>,
  ): Promise<void> {
    await check?.({ state, puts, removals })
    await this.#parts.verify({ accountId, principal, base: state, state, puts, removals })
  }

  async #write<T>(accountId: string, principal: Principal, plan: Plan<T>): Promise<T> {
    const { claims, heads, secrets, settled } = this.#parts
    for (;;) {
      const { known, state } = await settled(accountId)
      const version = known.version + 1
      const { draft, change } = await planChange(accountId, version, principal, plan, state, secrets)
      if (isEmpty(draft)) return draft.result
      heads.checkSize(known, version, [change])
      await this.#verifyDraft(accountId, principal, state, draft)
      if (await claims.rehearse(accountId, version, draft.claims ?? [])) return draft.result
    }
  }

  async #batch<T, R>(
    accountId: string,
    principal: Principal,
    { plans, resultOf }: BatchedPlans<T, R>,
  ): Promise<R> {
    const { claims, heads, secrets, settled, verify } = this.#parts
    for (;;) {
      const { known, state } = await settled(accountId)
      const stage = new Stage(accountId, known.version + 1, state)
      const result = resultOf(await stage.planAll(principal, plans, secrets))
      const changes = stage.changesWith(principal, undefined)
      if (changes.length === 0) return result
      const version = known.version + changes.length
      heads.checkSize(known, version, changes)
      await stage.check((whole) => verify({ accountId, principal, ...whole }))
      if (await claims.rehearse(accountId, version, stage.claims, stage.released)) return result
    }
  }
}
