/**
 * The `api` restriction of an account: the addresses that may use the management API, and a check that refuses changes by
 * which callers would lock themselves out.
 */
import { WeirError } from '../../core/errors.js'
import { getOrMake } from '../../core/maps.js'
import { compileIpPolicy, type IpPolicy } from '../../evaluate/ip-policy.js'
import { type Restriction, type Restrictions, wouldLockOut } from '../../evaluate/ip-restriction.js'
import type { IpRule } from '../../evaluate/policy-source.js'
import type { DeclaredRow } from '../../resource/registry.js'
import type { Put, Removal } from '../../store/change.js'
import { policyKind, ruleKind } from '../../view/keys.js'
import type { ViewState } from '../../view/view-state.js'
import { rowsOf } from '../present.js'
import type { Caller } from './caller.js'

/** Restrictions of a view. Policies are compiled on demand and cached until they change. */
class ViewRestrictions implements Restrictions {
  readonly #state: ViewState
  readonly #policies = new Map<string, { version: number; policy: IpPolicy }>()

  constructor(state: ViewState) {
    this.#state = state
  }

  restriction(accountId: string, type: Restriction['type']): Restriction | undefined {
    for (const row of rowsOf(this.#state, accountId, 'ip_restriction')) {
      if (row['type'] === type) return row as Restriction
    }
    return undefined
  }

  ipPolicy(id: string): IpPolicy | undefined {
    if (this.#state.rows.get(policyKind)?.has(id) !== true) return undefined
    const { version, rules } = this.#state.rules(id) ?? { version: 0, rules: [] }
    const known = this.#policies.get(id)
    if (known?.version === version) return known.policy
    const policy = compileIpPolicy(id, rules)
    this.#policies.set(id, { version, policy })
    return policy
  }
}

const restrictionsOf = new WeakMap<ViewState, ViewRestrictions>()

export function viewRestrictions(state: ViewState): ViewRestrictions {
  return getOrMake(restrictionsOf, state, () => new ViewRestrictions(state))
}

interface PlannedChange {
  readonly puts?: readonly Put[]
  readonly removals?: readonly Removal[]
  /** All rules of the replaced policies, as they would be. */
  readonly rules?: ReadonlyMap<string, readonly IpRule[]>
}

/** Throws if the change would lock the caller's own address out of the API. */
export function lockoutCheck(
  caller: Caller,
  state: ViewState,
  { puts = [], removals = [], rules: replaced = new Map() }: PlannedChange,
): void {
  if (caller.address === undefined) return
  const put = puts.find(({ kind, row }) => kind === 'ip_restriction' && row['type'] === 'api')
  const present = viewRestrictions(state).restriction(caller.accountId, 'api')
  if (put === undefined && present?.enforced !== true) return
  const removed = removals.some(({ row }) => row.id === present?.id)
  const rules = new Map([...changedRules(state, puts, removals), ...replaced])
  if (put === undefined && (removed || rules.size === 0)) return
  const change = {
    ...(put === undefined ? {} : { restriction: put.row as Restriction }),
    ...(rules.size === 0 ? {} : { rules }),
  }
  if (!wouldLockOut(viewRestrictions(state), caller.accountId, change, caller.address)) return
  throw new WeirError(
    'ERR_LOCKOUT',
    `This change would lock your own address ${caller.address} out of the API: allow it in an IP policy of the "api" restriction first.`,
  )
}

/** For each policy that the change affects: its rules after the change. */
function changedRules(
  state: ViewState,
  puts: readonly Put[],
  removals: readonly Removal[],
): Map<string, IpRule[]> {
  const after = new Map<string, IpRule[]>()
  const replace = ({ kind, row }: Put | Removal, next: readonly IpRule[]): void => {
    if (kind !== ruleKind) return
    const policyId = String(row['ip_policy_id'])
    const rules = after.get(policyId) ?? [...(state.rules(policyId)?.rules ?? [])]
    after.set(policyId, [...rules.filter(({ id }) => id !== row.id), ...next])
  }
  for (const put of puts) replace(put, [put.row as DeclaredRow<'ip_policy_rule'>])
  for (const removal of removals) replace(removal, [])
  for (const { kind, row } of removals) if (kind === policyKind) after.set(row.id, [])
  return after
}
