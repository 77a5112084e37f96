/**
 * Challengers, compiled: of a draft only what it changes, over the configuration in force. So a record that meets nothing of
 * the draft is not evaluated again, and accounts without a challenger pay for one lookup.
 */

import type { PolicyContext } from '../../delivery/record/policy-context.js'
import type { RequestRecord, TrafficRecord } from '../../delivery/record/traffic-record.js'
import { getOrMake } from '../../ground/core/maps.js'
import { StepBudget } from '../../ground/expr/run.js'
import type { ChallengerDecision, ShadowDecision } from '../../words/event/define.js'
import { challengerEnd } from '../../words/resource/challenger.js'
import type { DeclaredRow } from '../../words/resource/registry.js'
import { findDecidedBy } from './decided-by.js'
import type { Endpoint } from './edges.js'
import { evaluate } from './evaluate.js'
import type { IpPolicy } from './ip-policy.js'
import type { Restriction } from './ip-restriction.js'
import type { ListUnion } from './list-unions.js'
import type { Parts } from './parts.js'
import type { PolicySet } from './policy-set.js'
import type { ListRule, RestrictionType } from './policy-source.js'
import { type Decisive, endpointsOf, type PathReading } from './readings.js'
import type { Judging } from './shadow.js'

export type ChallengerRow = DeclaredRow<'challenger'>

/** The part of an edge or a route that a draft may change. */
export type Drafted = Pick<Endpoint, 'ipPolicyIds' | 'policies' | 'route'>

export interface CompiledDraft {
  readonly live: PolicySet
  readonly endpoints: ReadonlyMap<string, Drafted>
  readonly ipPolicies: ReadonlyMap<string, IpPolicy>
  readonly restriction: Restriction | undefined
}

/** The configuration with the draft. */
export class Challenger implements Judging {
  readonly row: ChallengerRow
  readonly #compiled: CompiledDraft
  /** Each record asks for it, and the row has a text. */
  readonly #endMs: number
  /** Endpoints of the live configuration, with the draft. */
  readonly #endpoints = new Map<Endpoint, Endpoint>()

  constructor(row: ChallengerRow, compiled: CompiledDraft) {
    this.row = row
    this.#compiled = compiled
    this.#endMs = challengerEnd(row)
  }

  /** Is a record that was stored at this time compared? */
  covers(storedAtMs: number): boolean {
    return this.row.created_at <= storedAtMs && storedAtMs < this.#endMs
  }

  ipPolicy(id: string): IpPolicy | undefined {
    return this.#compiled.ipPolicies.get(id) ?? this.#compiled.live.ipPolicy(id)
  }

  ipList(id: string): ReturnType<Decisive['ipList']> {
    return this.#compiled.live.ipList(id)
  }

  listUnion(rules: readonly ListRule[]): ListUnion | undefined {
    return this.#compiled.live.listUnion?.(rules)
  }

  listsOf(accountId: string | undefined): ReturnType<Decisive['listsOf']> {
    return this.#compiled.live.listsOf(accountId)
  }

  restriction(accountId: string, type: RestrictionType): Restriction | undefined {
    const { restriction, live } = this.#compiled
    const isDrafted = type === 'endpoints' && restriction !== undefined && accountId === this.row.account_id
    return isDrafted ? restriction : live.restriction(accountId, type)
  }

  httpsEdgeOf(endpoint: Endpoint): ReturnType<Decisive['httpsEdgeOf']> {
    return this.#compiled.live.httpsEdgeOf(endpoint)
  }

  endpointAt(endpoint: Endpoint, record: RequestRecord, reading: PathReading): Endpoint {
    return this.endpoint(this.#compiled.live.endpointAt(endpoint, record, reading))
  }

  /** An endpoint of the live configuration, with the draft. */
  endpoint(live: Endpoint): Endpoint {
    return getOrMake(this.#endpoints, live, () => {
      const { endpoints } = this.#compiled
      const edge = live.edgeId === undefined ? undefined : endpoints.get(live.edgeId)
      const route = live.route && endpoints.get(live.route.id)
      // The policies of an HTTPS edge come before those of its routes, which have the other module.
      const ofEdge = edge && (live.route === undefined ? edge : { policies: edge.policies })
      const ofRoute = route && { ipPolicyIds: route.ipPolicyIds, route: route.route }
      return ofEdge === undefined && ofRoute === undefined ? live : { ...live, ...ofEdge, ...ofRoute }
    })
  }

  /** `live`: what the configuration in force decides. */
  decide(endpoint: Endpoint, context: PolicyContext, live: ShadowDecision): ChallengerDecision {
    const { id } = this.row
    const drafted = this.endpoint(endpoint)
    const isDrafted = (each: Endpoint) => this.endpoint(each) !== each || this.#hasDraftedRules(each)
    if (!endpointsOf(this.#compiled.live, endpoint, context).some(isDrafted))
      return { id, decision: live.decision, decidedBy: live.decidedBy }
    // Outbound policies never decide.
    const verdict = evaluate(this, drafted, context.again(), new StepBudget(), 'opening')
    return {
      id,
      decision: verdict.decision,
      decidedBy: findDecidedBy(this, verdict, context.client),
    }
  }

  get revision(): number {
    return this.#compiled.live.revision
  }

  hostportOf(record: TrafficRecord, accountId?: string): string | undefined {
    return this.#compiled.live.hostportOf(record, accountId)
  }

  /** A draft may have anything that is not enforced. */
  hasShadow(): boolean {
    return true
  }

  #hasDraftedRules({ ipPolicyIds = [], accountId }: Endpoint): boolean {
    const { ipPolicies, restriction, live } = this.#compiled
    if (restriction !== undefined) return true
    if (ipPolicies.size === 0) return false
    const present = accountId === undefined ? undefined : live.restriction(accountId, 'endpoints')
    return [...ipPolicyIds, ...(present?.ip_policy_ids ?? [])].some((id) => ipPolicies.has(id))
  }
}

/** The compiled parts of a draft by challenger and id: a draft never changes, so the version is that of the present part. */
export interface DraftParts {
  readonly endpoints: Parts<Drafted>
  readonly ipPolicies: Parts<IpPolicy>
}

/** Those of all accounts; an account may have some whose last records are still processed. */
export class Challengers {
  readonly #byAccount: ReadonlyMap<string, readonly Challenger[]>
  readonly parts: DraftParts | undefined

  constructor(byAccount: ReadonlyMap<string, readonly Challenger[]>, parts?: DraftParts) {
    this.#byAccount = byAccount
    this.parts = parts
  }

  /** The one that a record of the account is compared with. */
  find(accountId: string, storedAtMs: number): Challenger | undefined {
    if (this.#byAccount.size === 0) return undefined
    return this.#byAccount.get(accountId)?.find((challenger) => challenger.covers(storedAtMs))
  }

  /** The time at which the first drafted or present rule of a drafted policy expires. */
  get expiresMs(): number {
    let expiresMs = Number.POSITIVE_INFINITY
    for (const policy of this.parts?.ipPolicies.values.values() ?? [])
      expiresMs = Math.min(expiresMs, policy.expiresMs)
    return expiresMs
  }
}

/** For a process that compares nothing. */
export const noChallengers = new Challengers(new Map())
