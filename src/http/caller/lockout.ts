/**
 * The restrictions of an account that apply to those who manage it: `api`, the addresses that may use the management API,
 * and `dashboard`, those that may use the web console; and a check that refuses changes by which callers would lock
 * themselves out.
 *
 * Without an enforced `dashboard` restriction, `api` counts for the console, too: otherwise the console would be a way
 * around it.
 */
import { now } from '../../core/clock.js'
import { WeirError } from '../../core/errors.js'
import { getOrMake } from '../../core/maps.js'
import { withoutPauses } from '../../core/slices.js'
import type { Occurrences } from '../../core/telemetry/occurrences.js'
import { buildListContent, type ListContent } from '../../evaluate/ip-list.js'
import { compileIpPolicy, type IpPolicy } from '../../evaluate/ip-policy.js'
import {
  checkRestriction,
  type Restriction,
  type Restrictions,
  wouldLockOut,
} from '../../evaluate/ip-restriction.js'
import type { IpRule } from '../../evaluate/policy-source.js'
import type { DeclaredRow } from '../../resource/registry.js'
import type { Put, Removal } from '../../store/change.js'
import { policyKind, ruleKind } from '../../view/keys.js'
import { type ListRow, listKind } from '../../view/list-chunks.js'
import type { ViewState } from '../../view/view-state.js'
import { rowsOf } from '../present.js'
import type { Caller } from './caller.js'

/** Restrictions of a view. Policies are compiled on demand and cached until they change or a rule expires. */
class ViewRestrictions implements Restrictions {
  readonly #state: ViewState
  readonly #policies = new Map<string, { version: number; policy: IpPolicy }>()
  readonly #lists = new Map<string, ListContent>()

  constructor(state: ViewState) {
    this.#state = state
  }

  restriction(accountId: string, type: Restriction['type']): Restriction | undefined {
    for (const row of rowsOf(this.#state, accountId, 'ip_restriction')) {
      if (row['type'] === type) return row as Restriction
    }
    return undefined
  }

  /** The management of accounts is restricted by short lists: a long one is built at once, when it is first asked for. */
  ipList(id: string): ListContent | undefined {
    const row = this.#state.rows.get(listKind)?.get(id) as ListRow | undefined
    if (row === undefined) return undefined
    const known = this.#lists.get(id)
    if (known?.isOf(row.chunks) && known.expiresMs > now()) return known
    const read = row.chunks.flatMap((chunk) => this.#state.listText(chunk) ?? [])
    const content = withoutPauses(
      known?.isOf(row.chunks) ? known.withoutExpired(now()) : buildListContent(row, read, now()),
    )
    this.#lists.set(id, content)
    return content
  }

  ipPolicy(id: string): IpPolicy | undefined {
    if (this.#state.rows.get(policyKind)?.has(id) !== true) return undefined
    const { version, rules } = this.#state.rules(id) ?? { version: 0, rules: [] }
    const known = this.#policies.get(id)
    if (known?.version === version && known.policy.expiresMs > now()) return known.policy
    const policy = compileIpPolicy(id, rules)
    this.#policies.set(id, { version, policy })
    return policy
  }
}

/** The last second of the year 9999: every rule that ever expires has expired. */
const endOfTimeMs = 253_402_300_799_000

/** Restrictions as they will be when all rules and entries that expire have expired, if nothing changes. */
const lasting = (present: Restrictions, state: ViewState): Restrictions => ({
  restriction: (accountId, type) => present.restriction(accountId, type),
  ipList: (id) => {
    const list = present.ipList(id)
    return list && withoutPauses(list.withoutExpired(endOfTimeMs))
  },
  ipPolicy: (id) => {
    const policy = present.ipPolicy(id)
    if (policy === undefined || policy.expiresMs === Number.POSITIVE_INFINITY) return policy
    return compileIpPolicy(id, state.rules(id)?.rules ?? [], endOfTimeMs)
  },
})

const restrictionsOf = new WeakMap<ViewState, ViewRestrictions>()

function viewRestrictions(state: ViewState): ViewRestrictions {
  return getOrMake(restrictionsOf, state, () => new ViewRestrictions(state))
}

type Way = 'api' | 'dashboard'

const places: Readonly<Record<Way, string>> = { api: 'API', dashboard: 'web console' }

/** Refuses a caller whose address may not come this way to the account. */
export function checkWayIn(
  state: ViewState,
  accountId: string,
  way: Way,
  address: string,
  occurrences: Pick<Occurrences, 'apiRestrictionWarning'>,
): void {
  for (const { decision, warning } of wayInDecisions(state, accountId, way, address)) {
    if (warning !== undefined)
      occurrences.apiRestrictionWarning({ restriction_id: warning.restrictionId, address })
    if (decision === 'block')
      throw new WeirError(
        'ERR_FORBIDDEN',
        `The address ${address} may not reach the ${places[way]} of this account.`,
      )
  }
}

/** May the address come this way? Reports nothing. */
export const isLetIn = (state: ViewState, accountId: string, way: Way, address: string): boolean =>
  wayInDecisions(state, accountId, way, address).every(({ decision }) => decision !== 'block')

function wayInDecisions(state: ViewState, accountId: string, way: Way, address: string) {
  const restrictions = viewRestrictions(state)
  const types: readonly Way[] =
    way === 'api' || restrictions.restriction(accountId, 'dashboard')?.enforced ? [way] : ['dashboard', 'api']
  return types.map((type) => checkRestriction(restrictions, accountId, type, address))
}

interface PlannedChange {
  readonly puts?: readonly Put[]
  readonly removals?: readonly Removal[]
  /** All rules of the replaced policies, as they would be. */
  readonly rules?: ReadonlyMap<string, readonly IpRule[]>
}

/**
 * Throws if the change would lock the caller's own address out of the way by which it came: of the API, or of the web
 * console. The other way may be closed: whoever closes it is still inside, and can open it again.
 */
export function lockoutCheck(caller: Caller, state: ViewState, change: PlannedChange): void {
  const { accountId, address, session } = caller
  if (address === undefined) return
  const { puts = [], removals = [], rules: replaced = new Map() } = change
  const ways: readonly Way[] = session === undefined ? ['api'] : ['dashboard', 'api']
  const restriction = ways.map((way) => restrictionAfter(way, accountId, state, change)).find(isEnforced)
  if (restriction === undefined) return
  const isTouched = [...puts, ...removals].some(({ kind }) => kind === restrictionKind)
  const rules = new Map([...changedRules(state, puts, removals), ...replaced])
  if (!isTouched && rules.size === 0) return
  const present = viewRestrictions(state)
  const place = places[session === undefined ? 'api' : 'dashboard']
  const refuse = (when: string, rule: string): never => {
    throw new WeirError(
      'ERR_LOCKOUT',
      `This change would lock your own address ${address} out of the ${place}${when}: allow it${rule} in an IP policy of the "${restriction.type}" restriction first.`,
    )
  }
  if (wouldLockOut(present, accountId, { restriction, rules }, address)) refuse('', '')
  const later = lasting(present, state)
  if (!wouldLockOut(later, accountId, { restriction, rules }, address, endOfTimeMs)) return
  // An address that is let in for a while may go on making changes.
  const before = ways.map((way) => present.restriction(accountId, way)).find(isEnforced) ?? null
  if (!wouldLockOut(later, accountId, { restriction: before }, address, endOfTimeMs))
    refuse(' when its rules expire', ' by a rule that does not expire')
}

const restrictionKind = 'ip_restriction'

const isEnforced = (restriction: Restriction | undefined): boolean => restriction?.enforced === true

/** The account's restriction of this type after the change. */
function restrictionAfter(
  type: Way,
  accountId: string,
  state: ViewState,
  { puts = [], removals = [] }: PlannedChange,
): Restriction | undefined {
  const put = puts.find(({ kind, row }) => kind === restrictionKind && row['type'] === type)
  if (put !== undefined) return put.row as Restriction
  const present = viewRestrictions(state).restriction(accountId, type)
  return removals.some(({ row }) => row.id === present?.id) ? undefined : present
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
