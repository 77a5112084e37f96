/**
 * The shadow decision about a record: what would have been decided if everything that is not enforced were. It is made by
 * the same evaluator, in addition to the live decision, with its own steps; it makes no events and no warnings. When to take
 * shadow, and when something else: docs/before-a-change.md.
 */

import type { AddressLists, PolicyContext } from '../../delivery/record/policy-context.js'
import type { RequestRecord, TrafficRecord } from '../../delivery/record/traffic-record.js'
import type { Slices } from '../../ground/core/slices.js'
import { StepBudget } from '../../ground/expr/run.js'
import type { ShadowDecision } from '../../words/event/define.js'
import { findDecidedBy } from './decided-by.js'
import type { Endpoint, HttpsEdge } from './edges.js'
import { type EvaluationTrace, evaluate } from './evaluate.js'
import type { ListContent } from './ip-list.js'
import type { IpPolicy } from './ip-policy.js'
import type { AccountRestrictions, Restriction, Restrictions } from './ip-restriction.js'
import type { ListUnion } from './list-unions.js'
import type { ConfigurationSource, ListRule, RestrictionType } from './policy-source.js'
import { type Decisive, endpointsOf, type PathReading } from './readings.js'
import type { TrafficPolicies } from './traffic-policy.js'

/** A configuration that knows whether an account has anything that is not enforced. */
export interface Shadowed extends Decisive {
  hasShadow(accountId: string | undefined): boolean
}

/** The policies that a judgement was made with. */
export interface Judging extends Shadowed {
  readonly revision: number
  hostportOf(record: TrafficRecord, accountId?: string): string | undefined
}

/** Null if nothing that is not enforced applies at the endpoint. */
export function shadowOf(
  policySet: Shadowed,
  endpoint: Endpoint,
  context: PolicyContext,
  trace?: EvaluationTrace,
): ShadowDecision | null {
  if (!policySet.hasShadow(endpoint.accountId)) return null
  if (endpointsOf(policySet, endpoint, context).every((each) => isAllEnforced(policySet, each))) return null
  const enforced = new AsEnforced(policySet)
  const whole = withAllPolicies(endpoint)
  // Outbound policies never decide.
  const verdict = evaluate(enforced, whole, context.again(), new StepBudget(), 'opening', trace)
  return {
    decision: verdict.decision,
    decidedBy: findDecidedBy(enforced, verdict, context.client),
  }
}

function isAllEnforced(
  policySet: Restrictions,
  { accountId, ipPolicyIds = [], policies, route }: Endpoint,
): boolean {
  if (policies?.shadow !== undefined || route?.policies?.shadow !== undefined) return false
  const hasUnenforced = (ids: readonly string[]): boolean =>
    ids.some((id) => policySet.ipPolicy(id)?.shadow !== undefined)
  if (hasUnenforced(ipPolicyIds)) return false
  const restriction = accountId === undefined ? undefined : policySet.restriction(accountId, 'endpoints')
  return restriction === undefined || (restriction.enforced && !hasUnenforced(restriction.ip_policy_ids))
}

/** The same configuration as if all of it were enforced. */
class AsEnforced implements Decisive {
  readonly #live: Decisive

  constructor(live: Decisive) {
    this.#live = live
  }

  ipPolicy(id: string): IpPolicy | undefined {
    const policy = this.#live.ipPolicy(id)
    return policy?.shadow ?? policy
  }

  ipList(id: string): ListContent | undefined {
    return this.#live.ipList(id)
  }

  listUnion(rules: readonly ListRule[]): ListUnion | undefined {
    return this.#live.listUnion?.(rules)
  }

  listsOf(accountId: string | undefined): AddressLists | undefined {
    return this.#live.listsOf(accountId)
  }

  httpsEdgeOf(endpoint: Endpoint): HttpsEdge | undefined {
    return this.#live.httpsEdgeOf(endpoint)
  }

  endpointAt(endpoint: Endpoint, record: RequestRecord, reading: PathReading): Endpoint {
    return withAllPolicies(this.#live.endpointAt(endpoint, record, reading))
  }

  restriction(accountId: string, type: RestrictionType): Restriction | undefined {
    const restriction = this.#live.restriction(accountId, type)
    return restriction === undefined || restriction.enforced
      ? restriction
      : { ...restriction, enforced: true }
  }
}

/** The endpoint with the policies that are not enforced, too. */
const withAllPolicies = (endpoint: Endpoint): Endpoint => ({
  ...endpoint,
  policies: endpoint.policies?.shadow ?? endpoint.policies,
  route: endpoint.route && {
    ...endpoint.route,
    policies: endpoint.route.policies?.shadow ?? endpoint.route.policies,
  },
})

interface Compiled {
  readonly ipPolicies: { get(id: string): IpPolicy | undefined }
  readonly tcpEdges: { readonly values: ReadonlyMap<string, Endpoint> }
  readonly httpsEdges: ReadonlyMap<string, { readonly unrouted: Endpoint }>
  readonly routes: { readonly values: ReadonlyMap<string, { readonly endpoint: Endpoint }> }
  readonly restrictions: ReadonlyMap<string, AccountRestrictions>
}

/** Accounts that have anything that is not enforced: for all others, this is all that a shadow costs. */
export async function accountsWithShadow(
  source: ConfigurationSource,
  { ipPolicies, restrictions, ...edges }: Compiled,
  slices: Slices,
): Promise<ReadonlySet<string>> {
  const accounts = new Set<string>()
  const isShadowed = (policies: TrafficPolicies | undefined): boolean => policies?.shadow !== undefined
  for (const { id, account_id } of source.rowsOf('ip_policy')) {
    if (slices.isDue()) await slices.pause()
    if (ipPolicies.get(id)?.shadow !== undefined) accounts.add(account_id)
  }
  for (const { accountId, policies, route } of compiledEndpoints(edges)) {
    if (slices.isDue()) await slices.pause()
    if (isShadowed(policies) || isShadowed(route?.policies)) accounts.add(accountId!)
  }
  for (const [accountId, { endpoints }] of restrictions)
    if (endpoints?.enforced === false) accounts.add(accountId)
  return accounts
}

function* compiledEndpoints({
  tcpEdges,
  httpsEdges,
  routes,
}: Pick<Compiled, 'tcpEdges' | 'httpsEdges' | 'routes'>): Generator<Endpoint> {
  yield* tcpEdges.values.values()
  for (const { unrouted } of httpsEdges.values()) yield unrouted
  for (const { endpoint } of routes.values.values()) yield endpoint
}
