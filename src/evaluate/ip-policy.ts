/**
 * IP policies. An address is allowed if and only if at least one allow rule matches it and no deny rule does, over
 * the rules of all policies that a module names: no match, no rules, or deny rules alone mean blocked.
 */

import { cidrContains, parseCidr } from '../core/address/cidr.js'
import { buildCidrSet, type CidrSet } from '../core/address/cidr-set.js'
import type { Address } from '../core/address/ip.js'
import { withoutPauses } from '../core/slices.js'
import type { IpDecision } from '../record/policy-scope.js'
import type { IpRule } from './policy-source.js'

/** One policy as a pair of sets. There is no union per edge, so a change compiles one policy and no edge. */
export interface IpPolicy {
  readonly id: string
  readonly allow: CidrSet
  readonly deny: CidrSet
  /** The rules of `deny`, by their place in it. */
  readonly denyRules: readonly IpRule[]
  /** For explanations. */
  readonly rules: readonly IpRule[]
}

/** Builds a policy in slices: call `next()` until it is done. */
export function* buildIpPolicy(id: string, rules: Iterable<IpRule>): Generator<void, IpPolicy> {
  const all = [...rules]
  const rulesOf = (wanted: IpRule['action']) => all.filter(({ action }) => action === wanted)
  const setOf = (rules: readonly IpRule[]) => buildCidrSet(rules.map(({ cidr }) => cidr))
  yield
  const allow = yield* setOf(rulesOf('allow'))
  const denyRules = rulesOf('deny')
  const deny = yield* setOf(denyRules)
  return { id, allow, deny, denyRules, rules: all }
}

/** Builds a policy at once. */
export const compileIpPolicy = (id: string, rules: Iterable<IpRule>): IpPolicy =>
  withoutPauses(buildIpPolicy(id, rules))

/** Finds policies by id; a missing one counts as one without rules. */
export interface IpPolicies {
  ipPolicy(id: string): IpPolicy | undefined
}

export function decideAddress(
  policies: IpPolicies,
  policyIds: readonly string[],
  address: Address,
): IpDecision {
  let allowed = false
  for (let index = 0; index < policyIds.length; index += 1) {
    const policy = policies.ipPolicy(policyIds[index]!)
    if (policy === undefined) continue
    if (policy.deny.has(address)) return 'block'
    allowed ||= policy.allow.has(address)
  }
  return allowed ? 'allow' : 'block'
}

interface DenyRule {
  readonly policyId: string
  readonly rule: IpRule
}

/** The deny rule that blocks the address; undefined if none does: then no allow rule matches, or nothing is blocked. */
export function denyRuleFor(
  policies: IpPolicies,
  policyIds: readonly string[],
  address: Address,
): DenyRule | undefined {
  for (const policyId of policyIds) {
    const policy = policies.ipPolicy(policyId)
    if (policy === undefined) continue
    const place = policy.deny.placeOf(address)
    if (place !== undefined) return { policyId, rule: policy.denyRules[place]! }
  }
  return undefined
}

/** Whether this rule matches; for explanations, which look at rules one by one. */
export function ruleMatches(rule: IpRule, address: Address): boolean {
  const cidr = parseCidr(rule.cidr, { hostBits: 'allow' })
  return cidr.ok && cidrContains(cidr.value, address)
}
