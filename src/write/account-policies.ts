/** The compiled policies of single accounts: as they are, and as they would be after a write. */
import { yieldTurn } from '../core/clock.js'
import { buildPolicySet, PolicySet } from '../evaluate/policy-set.js'
import type { ConfigurationSource, IpRule } from '../evaluate/policy-source.js'
import { rowsOf } from '../http/present.js'
import type { Row } from '../resource/define.js'
import type { DeclaredRow, KindName } from '../resource/registry.js'
import type { Put, Removal } from '../store/change.js'
import { policyKind, ruleKind } from '../view/keys.js'
import type { ViewState } from '../view/view-state.js'

/** Accounts whose compiled policies the API keeps; the one that asked longest ago is dropped for another. */
const policySetsKeptMax = 32

/** A configuration with the rows of one account alone. */
const sourceOf = (state: ViewState, accountId: string): ConfigurationSource => ({
  revision: state.revision,
  rowsOf: <Kind extends KindName>(kind: Kind) =>
    rowsOf(state, accountId, kind) as Iterable<unknown> as Iterable<DeclaredRow<Kind>>,
  rules: (ipPolicyId) => state.rules(ipPolicyId),
})

interface Kept {
  readonly state: ViewState
  /** The account's version. */
  readonly version: number
  readonly policySet: Promise<PolicySet>
}

/** What a write would store and remove. */
interface PlannedWrite {
  readonly puts: readonly Put[]
  readonly removals: readonly Removal[]
  /** All rules of a policy after the write, if it replaces them. */
  readonly rules?: { readonly policyId: string; readonly rules: readonly Row[] } | undefined
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
    return buildPolicySet(new PlannedConfiguration(state, accountId, write), current, yieldTurn)
  }

  #current(state: ViewState, accountId: string): Promise<PolicySet> {
    const before = this.#kept.get(accountId)
    const version = state.versionOf(accountId)
    this.#kept.delete(accountId)
    const isCurrent = before?.state === state && before.version === version
    const kept = isCurrent ? before : { state, version, policySet: build(state, accountId, before) }
    this.#kept.set(accountId, kept)
    if (this.#kept.size > policySetsKeptMax) this.#kept.delete(this.#kept.keys().next().value!)
    return kept.policySet
  }
}

/** Compiled parts are shared with the set before, unless that belongs to another state, whose versions differ. */
const build = async (state: ViewState, accountId: string, before: Kept | undefined): Promise<PolicySet> =>
  buildPolicySet(
    sourceOf(state, accountId),
    before?.state === state ? await before.policySet : undefined,
    yieldTurn,
  )

/** No stored part has this version, so that a planned part is never taken for a compiled one. */
const plannedVersion = -1

/** The configuration of an account with a write in place of what it changes. */
class PlannedConfiguration implements ConfigurationSource {
  readonly revision: number
  readonly #state: ViewState
  readonly #accountId: string
  readonly #write: PlannedWrite
  readonly #changed: ReadonlySet<string>

  constructor(state: ViewState, accountId: string, write: PlannedWrite) {
    this.revision = state.revision
    this.#state = state
    this.#accountId = accountId
    this.#write = write
    this.#changed = new Set([...write.puts, ...write.removals].map(({ row }) => row.id))
  }

  *rowsOf<Kind extends KindName>(kind: Kind): Iterable<DeclaredRow<Kind>> {
    for (const row of rowsOf(this.#state, this.#accountId, kind))
      if (!this.#changed.has(row.id)) yield row as unknown as DeclaredRow<Kind>
    for (const put of this.#write.puts)
      if (put.kind === kind) yield { ...put.row, version: plannedVersion } as unknown as DeclaredRow<Kind>
  }

  rules(ipPolicyId: string): { readonly version: number; readonly rules: Iterable<IpRule> } | undefined {
    const { rules: replaced, puts, removals } = this.#write
    if (replaced?.policyId === ipPolicyId)
      return { version: plannedVersion, rules: replaced.rules as Iterable<Row> as Iterable<IpRule> }
    if (removals.some(({ kind, row }) => kind === policyKind && row.id === ipPolicyId)) return undefined
    const present = this.#state.rules(ipPolicyId)
    const isOf = ({ kind, row }: Put | Removal): boolean =>
      kind === ruleKind && row['ip_policy_id'] === ipPolicyId
    if (!puts.some(isOf) && !removals.some(isOf)) return present
    const kept = [...(present?.rules ?? [])].filter(({ id }) => !this.#changed.has(id))
    const put = puts.filter(isOf).map(({ row }) => row as unknown as IpRule)
    return { version: plannedVersion, rules: [...kept, ...put] }
  }
}
