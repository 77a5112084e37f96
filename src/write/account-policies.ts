/** The compiled policies of single accounts: as they are, and as they would be after a write. */
import { now, yieldTurn } from '../core/clock.js'
import { PlannedConfiguration, type PlannedWrite } from '../evaluate/planned-configuration.js'
import { buildPolicySet, PolicySet } from '../evaluate/policy-set.js'
import { accountSource } from '../http/account-source.js'
import type { ViewState } from '../view/view-state.js'

/** Accounts whose compiled policies the API keeps; the one that asked longest ago is dropped for another. */
const policySetsKeptMax = 32

interface Kept {
  readonly state: ViewState
  /** The account's version. */
  readonly version: number
  readonly policySet: Promise<PolicySet>
  /** False once one of its rules has expired. */
  readonly isLasting: () => boolean
}

/** The policies that decide about the traffic of one account, compiled when the account asks and kept until they change. */
export class AccountPolicies {
  /** The account that asked last comes last. */
  readonly #kept = new Map<string, Kept>()

  /** `revision`: one that this account has not changed since. */
  async of(state: ViewState, accountId: string, revision = state.revision): Promise<PolicySet> {
    const { contents } = await this.#current(state, accountId)
    // Changes of other accounts raise the revision, too, and change nothing here.
    return new PolicySet({ ...contents, revision })
  }

  /**
   * As they would be after a write that was planned with `state`. Compiled parts are shared with those of `base`, the state
   * that `state` is based on; what the write would change is compiled for this answer alone.
   */
  async after(base: ViewState, state: ViewState, accountId: string, write: PlannedWrite): Promise<PolicySet> {
    const current = await this.#current(base, accountId)
    return buildPolicySet(
      new PlannedConfiguration(accountSource(state, accountId), write),
      current,
      yieldTurn,
    )
  }

  #current(state: ViewState, accountId: string): Promise<PolicySet> {
    const before = this.#kept.get(accountId)
    const version = state.versionOf(accountId)
    this.#kept.delete(accountId)
    const isCurrent = before?.state === state && before.version === version && before.isLasting()
    const kept = isCurrent ? before : keptOf(state, version, build(state, accountId, before))
    this.#kept.set(accountId, kept)
    if (this.#kept.size > policySetsKeptMax) this.#kept.delete(this.#kept.keys().next().value!)
    return kept.policySet
  }
}

function keptOf(state: ViewState, version: number, building: Promise<PolicySet>): Kept {
  let expiresMs = Number.POSITIVE_INFINITY
  const policySet = building.then((built) => {
    expiresMs = built.contents.expiresMs
    return built
  })
  return { state, version, policySet, isLasting: () => expiresMs > now() }
}

/** Compiled parts are shared with the set before, unless that belongs to another state, whose versions differ. */
const build = async (state: ViewState, accountId: string, before: Kept | undefined): Promise<PolicySet> =>
  buildPolicySet(
    accountSource(state, accountId),
    before?.state === state ? await before.policySet : undefined,
    yieldTurn,
  )
