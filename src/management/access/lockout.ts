/**
 * The restrictions of an account that apply to those who manage it: `api`, the addresses that may use the management API,
 * and `dashboard`, those that may use the web console. `lockout-guard.ts` refuses changes by which callers would lock
 * themselves out.
 *
 * Without an enforced `dashboard` restriction, `api` counts for the console, too: otherwise the console would be a way
 * around it.
 */
import { now } from '../../ground/core/clock.js'
import { onceReady, type Soon } from '../../ground/core/concurrency.js'
import { WeirError } from '../../ground/core/errors.js'
import { getOrMake } from '../../ground/core/maps.js'
import { Slices } from '../../ground/core/slices.js'
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import { buildListContent, type ListContent } from '../../judging/evaluate/ip-list.js'
import { buildIpPolicy, type IpPolicy } from '../../judging/evaluate/ip-policy.js'
import {
  checkRestriction,
  type Restriction,
  type Restrictions,
} from '../../judging/evaluate/ip-restriction.js'
import { unlessExpired } from '../../judging/evaluate/parts.js'
import type { CompiledParts } from '../../judging/evaluate/policy-set.js'
import { policyKind } from '../../words/view/keys.js'
import { type ListRow, listKind } from '../../words/view/list-chunks.js'
import type { ViewState } from '../../words/view/view-state.js'
import { rowsOf } from '../exchange/rows.js'
import { sharedPartsOf } from './compiled-parts.js'

interface Built<T> {
  /** Its source: the version of a policy's rules, or the ids of a list's parts. */
  readonly of: string
  readonly value: T
}

const currentOf = <T extends { readonly expiresMs: number }>(
  built: Built<T> | undefined,
  of: string,
  nowMs: number,
): T | undefined => unlessExpired(built?.of === of ? built.value : undefined, nowMs)

/**
 * Restrictions of a view. The policies and lists that they name are built when a caller of the account is checked, in
 * slices, and kept until they change. A policy that no restriction names any more, and a list that no kept policy names, is
 * dropped with the next build, and when a caller of an account is checked whose restrictions name other policies than
 * before.
 */
class ViewRestrictions implements Restrictions {
  readonly #state: ViewState
  readonly #policies = new Map<string, Built<IpPolicy>>()
  readonly #lists = new Map<string, Built<ListContent>>()
  /** By account and types: the ids of the policies that were named last; only accounts that have restrictions. */
  readonly #named = new Map<string, string>()
  /** By the ids of the policies. */
  readonly #building = new Map<string, Promise<void>>()
  /** For each look at all restrictions that is under way, the ids of the policies that stay. */
  readonly #staying = new Set<Set<unknown>>()
  /** The parts that others may use. */
  readonly #held: CompiledParts = {
    ipPolicy: (id, version, nowMs) => currentOf(this.#policies.get(id), String(version), nowMs),
    ipList: (id, chunks, nowMs) => {
      const list = this.#lists.get(id)?.value
      return unlessExpired(list?.isOf(chunks) ? list : undefined, nowMs)
    },
  }

  constructor(state: ViewState) {
    this.#state = state
    sharedPartsOf(state).addHolder(() => [this.#held])
  }

  restriction(accountId: string, type: Restriction['type']): Restriction | undefined {
    for (const row of rowsOf(this.#state, accountId, 'ip_restriction')) {
      if (row['type'] === type) return row as Restriction
    }
    return undefined
  }

  ipList(id: string): ListContent | undefined {
    return this.#state.rows.get(listKind)?.has(id) === true ? this.#lists.get(id)?.value : undefined
  }

  ipPolicy(id: string): IpPolicy | undefined {
    return this.#state.rows.get(policyKind)?.has(id) === true ? this.#policies.get(id)?.value : undefined
  }

  /** Is there nothing to check and nothing to drop for this account? So it is for most. */
  isFree(accountId: string): boolean {
    return this.#named.size === 0 && this.#state.ids(accountId, 'ip_restriction').size === 0
  }

  /** Resolves when what these restrictions name is built; at once if it is. */
  ready(accountId: string, types: readonly Restriction['type'][]): Soon<void> {
    const restrictions = types.flatMap((type) => this.restriction(accountId, type) ?? [])
    if (restrictions.length === 0 && this.#named.size === 0) return
    const ids = [...new Set(restrictions.flatMap(({ ip_policy_ids }) => ip_policy_ids))]
    const key = ids.join()
    const isOther = this.#isOther(`${accountId} ${types.join()}`, key)
    if (ids.length === 0 && !isOther) return
    for (const staying of this.#staying) for (const id of ids) staying.add(id)
    const underWay = this.#building.get(key)
    if (underWay !== undefined) return underWay
    const building = new Slices().soon(this.#build(ids, isOther))
    if (building === undefined) return
    const ended = building.finally(() => this.#building.delete(key))
    this.#building.set(key, ended)
    return ended
  }

  /** Do these restrictions name other policies than when they were asked last? */
  #isOther(restrictions: string, policies: string): boolean {
    const before = this.#named.get(restrictions) ?? ''
    if (policies === before) return false
    if (policies === '') this.#named.delete(restrictions)
    else this.#named.set(restrictions, policies)
    return before !== ''
  }

  /** Policies, then the lists of policies that are built, that are missing, have changed or have expired in part. */
  *#missing(policyIds: Iterable<string>): Generator<readonly ['policy' | 'list', id: string, of: string]> {
    const listIds = new Set<string>()
    for (const id of policyIds) {
      const rules = this.#state.rules(id)
      if (rules === undefined || this.#state.rows.get(policyKind)?.has(id) !== true) continue
      const version = String(rules.version)
      if (currentOf(this.#policies.get(id), version, now()) === undefined) yield ['policy', id, version]
      for (const listId of listsOf(this.#policies.get(id)?.value)) listIds.add(listId)
    }
    for (const id of listIds) {
      const row = this.#state.rows.get(listKind)?.get(id) as ListRow | undefined
      const of = row?.chunks.join()
      if (of !== undefined && currentOf(this.#lists.get(id), of, now()) === undefined) yield ['list', id, of]
    }
  }

  /** `isOther`: do restrictions name others than before, so that some may be dropped although none is missing? */
  *#build(policyIds: Iterable<string>, isOther: boolean): Generator<void, void> {
    const shared = sharedPartsOf(this.#state)
    let mayDrop = isOther
    for (const [what, id, of] of this.#missing(policyIds)) {
      mayDrop = true
      if (what === 'policy') {
        const value = shared.ipPolicy(id, Number(of), now()) ?? (yield* this.#policy(id))
        this.#policies.set(id, { of, value })
      } else {
        const row = this.#state.rows.get(listKind)?.get(id) as ListRow | undefined
        if (row === undefined) continue
        const value = shared.ipList(id, row.chunks, now()) ?? (yield* this.#list(row))
        this.#lists.set(id, { of: row.chunks.join(), value })
      }
    }
    if (mayDrop) yield* this.#dropUnnamed()
  }

  #policy(id: string): Generator<void, IpPolicy> {
    return buildIpPolicy(id, this.#state.rules(id)?.rules ?? [], now())
  }

  /** A part may be missing while an account is being repaired: then the list is of no parts, so that no one shares it. */
  #list({ chunks }: ListRow): Generator<void, ListContent> {
    const read = chunks.flatMap((chunk) => this.#state.listText(chunk) ?? [])
    return buildListContent({ chunks: read.length === chunks.length ? chunks : [] }, read, now())
  }

  /** Looks at the restrictions of all accounts. One that was looked at may change meanwhile: what is asked for stays. */
  *#dropUnnamed(): Generator<void, void> {
    const staying = new Set<unknown>()
    this.#staying.add(staying)
    try {
      for (const row of this.#state.rows.get('ip_restriction')?.values() ?? []) {
        for (const id of row['ip_policy_ids'] as readonly string[]) staying.add(id)
        yield
      }
    } finally {
      this.#staying.delete(staying)
    }
    for (const id of this.#policies.keys()) if (!staying.has(id)) this.#policies.delete(id)
    const named = new Set([...this.#policies.values()].flatMap(({ value }) => listsOf(value)))
    for (const id of this.#lists.keys()) if (!named.has(id)) this.#lists.delete(id)
  }
}

const listsOf = (policy: IpPolicy | undefined): string[] =>
  [...(policy?.allowLists ?? []), ...(policy?.denyLists ?? [])].map(({ list_id }) => list_id)

const restrictionsOf = new WeakMap<ViewState, ViewRestrictions>()

function viewRestrictions(state: ViewState): ViewRestrictions {
  return getOrMake(restrictionsOf, state, () => new ViewRestrictions(state))
}

type Way = 'api' | 'dashboard'

export const places: Readonly<Record<Way, string>> = { api: 'API', dashboard: 'web console' }

/**
 * Refuses a caller whose address may not come this way to the account. A promise only if policies have to be built first.
 */
export function checkWayIn(
  state: ViewState,
  accountId: string,
  way: Way,
  address: string,
  occurrences: Pick<Occurrences, 'apiRestrictionWarning'>,
): Soon<void> {
  const restrictions = viewRestrictions(state)
  if (restrictions.isFree(accountId)) return
  const types = typesFor(restrictions, accountId, way)
  return onceReady(restrictions.ready(accountId, types), () => {
    for (const type of types) {
      const { decision, warning } = checkRestriction(restrictions, accountId, type, address)
      if (warning !== undefined)
        occurrences.apiRestrictionWarning({ restriction_id: warning.restrictionId, address })
      if (decision === 'block')
        throw new WeirError(
          'ERR_FORBIDDEN',
          `The address ${address} may not reach the ${places[way]} of this account.`,
        )
    }
  })
}

/** May an address that was let in still come this way? Reports nothing. */
export function isLetIn(state: ViewState, accountId: string, way: Way, address: string): boolean {
  const restrictions = viewRestrictions(state)
  const types = typesFor(restrictions, accountId, way)
  const building = restrictions.ready(accountId, types)
  if (building !== undefined) {
    // The next look knows. A failure is thrown to the next request.
    building.catch(() => {})
    return true
  }
  return types.every((type) => checkRestriction(restrictions, accountId, type, address).decision !== 'block')
}

const typesFor = (restrictions: Restrictions, accountId: string, way: Way): readonly Way[] =>
  way === 'api' || restrictions.restriction(accountId, 'dashboard')?.enforced ? [way] : ['dashboard', 'api']
