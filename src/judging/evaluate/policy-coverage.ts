/** Which parts of a configuration policy tests reach. */

import type { GeoLookup } from '../../delivery/record/geo.js'
import { PolicyContext } from '../../delivery/record/policy-context.js'
import type { TrafficRecord } from '../../delivery/record/traffic-record.js'
import type { Address } from '../../ground/core/address/ip.js'
import { StepBudget } from '../../ground/expr/run.js'
import { type EvaluationTrace, evaluate, type IpPolicyGroup } from './evaluate.js'
import type { IpPolicy } from './ip-policy.js'
import type { PolicySet } from './policy-set.js'
import { shadowOf } from './shadow.js'
import type { TrafficPolicy } from './traffic-policy.js'

/** How an inbound traffic policy is called among all of an account; tests, like questions, run no others. */
export const policyKeyOf = (ownerId: string, label: string): string => `${ownerId} ${label}`

/** Ids of edges, routes, restrictions and rules, and keys of traffic policies, that were reached. */
export class Coverage implements EvaluationTrace {
  readonly parts = new Set<string>()
  readonly #policySet: PolicySet
  readonly #budget = new StepBudget()
  #client: Address | undefined
  #isShadow = false
  #policy: TrafficPolicy | undefined

  constructor(policySet: PolicySet) {
    this.#policySet = policySet
  }

  /** Adds what a record of the account reaches; nothing, if it can't be decided. `inShadow`: what is not enforced, too. */
  add(accountId: string, record: TrafficRecord, geo: GeoLookup, inShadow: boolean): void {
    const found = this.#policySet.findEdgeOf(accountId, record)
    if (!found.ok) return
    const context = new PolicyContext(record, found.value.edgeId, geo)
    this.#client = context.client
    this.#budget.reset()
    this.#isShadow = false
    const { endpoint } = evaluate(this.#policySet, found.value, context, this.#budget, 'opening', this)
    for (const id of [endpoint.edgeId, endpoint.route?.id]) if (id !== undefined) this.parts.add(id)
    if (!inShadow) return
    this.#isShadow = true
    shadowOf(this.#policySet, found.value, context, this)
  }

  /** A rule is reached if it is the widest of its action that contains the client. */
  ipPolicies({ source, policyIds }: IpPolicyGroup): void {
    this.parts.add(source)
    for (const id of policyIds) {
      const policy = this.#ipPolicy(id)
      if (policy === undefined) continue
      const deny = policy.deny.placeOf(this.#client!)
      const allow = policy.allow.placeOf(this.#client!)
      for (const { id, list_id } of [...policy.denyLists, ...policy.allowLists])
        if (this.#policySet.ipList(list_id)?.has(this.#client!)) this.parts.add(id)
      if (deny !== undefined) this.parts.add(policy.denyRules[deny]!.id)
      else if (allow !== undefined) this.parts.add(policy.allowRules[allow]!.id)
    }
  }

  #ipPolicy(id: string): IpPolicy | undefined {
    const policy = this.#policySet.ipPolicy(id)
    return this.#isShadow ? (policy?.shadow ?? policy) : policy
  }

  policy(policy: TrafficPolicy): void {
    this.#policy = policy
  }

  expression(): void {}

  failure(): void {}

  applied(): void {
    const { ownerId, label } = this.#policy!
    this.parts.add(policyKeyOf(ownerId, label))
  }
}
