/** The compiled policies of single accounts: as they are, and as they would be after a write. */
import { now, yieldTurn } from '../../ground/core/clock.js'
import { getOrMake } from '../../ground/core/maps.js'
import { PlannedConfiguration, type PlannedWrite } from '../../judging/evaluate/planned-configuration.js'
import { buildPolicySet, PolicySet } from '../../judging/evaluate/policy-set.js'
import { type AccountDraft, DraftedConfiguration } from '../../judging/evaluate/portable/account-draft.js'
import type { ViewState } from '../../words/view/view-state.js'
import { accountSource } from './account-source.js'
import { sharedPartsOf } from './compiled-parts.js'

/** Accounts whose compiled policies the API keeps; the one that asked longest ago is dropped for another. */
const policySetsKeptMax = 32

interface Kept {
  /** The account's version. */
  readonly version: number
  readonly policySet: Promise<PolicySet>
  /** Undefined while it is being compiled. */
  readonly compiled: () => PolicySet | undefined
}

/** The policies that decide about the traffic of one account, compiled when the account asks and kept until they change. */
export class AccountPolicies {
  readonly #keptOf = new WeakMap<ViewState, Map<string, Kept>>()

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

  /** As they would be with a draft of the account. */
  async drafted(state: ViewState, accountId: string, draft: AccountDraft): Promise<PolicySet> {
    const current = await this.#current(state, accountId)
    const drafted = new DraftedConfiguration(accountSource(state, accountId), accountId, draft)
    return buildPolicySet(drafted, current, yieldTurn)
  }

  #current(state: ViewState, accountId: string): Promise<PolicySet> {
    const all = getOrMake(this.#keptOf, state, () => keptFor(state))
    const before = all.get(accountId)
    const version = state.versionOf(accountId)
    all.delete(accountId)
    const isCurrent =
      before?.version === version &&
      (before.compiled()?.contents.expiresMs ?? Number.POSITIVE_INFINITY) > now()
    const kept = isCurrent ? before : keptOf(version, build(state, accountId, before))
    all.set(accountId, kept)
    if (all.size > policySetsKeptMax) all.delete(all.keys().next().value!)
    return kept.policySet
  }
}

/** By account; the account that asked last comes last. What is compiled is shared with others who need it. */
function keptFor(state: ViewState): Map<string, Kept> {
  const all = new Map<string, Kept>()
  sharedPartsOf(state).addHolder(() =>
    [...all.values()].flatMap(({ compiled }) => compiled()?.compiled ?? []),
  )
  return all
}

function keptOf(version: number, building: Promise<PolicySet>): Kept {
  let compiled: PolicySet | undefined
  const policySet = building.then((built) => {
    compiled = built
    return built
  })
  return { version, policySet, compiled: () => compiled }
}

/** Compiled parts are shared with the set before. */
const build = async (state: ViewState, accountId: string, before: Kept | undefined): Promise<PolicySet> =>
  buildPolicySet(
    accountSource(state, accountId),
    await before?.policySet,
    yieldTurn,
    now(),
    sharedPartsOf(state),
  )
