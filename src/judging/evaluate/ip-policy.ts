/**
 * IP policies. An address is allowed if and only if at least one allow rule matches it and no deny rule does, over
 * the rules of all policies that a module names: no match, no rules, or deny rules alone mean blocked.
 *
 * A rule that has expired is left out when a policy is built. Only the builder reads the clock, so what decides about a
 * record stays free of time; `expiresMs` says when the policy has to be built again.
 */

import type { IpDecision } from '../../delivery/record/policy-context.js'
import { cidrContains, parseCidr } from '../../ground/core/address/cidr.js'
import { buildCidrSet, type CidrSet } from '../../ground/core/address/cidr-set.js'
import type { Address } from '../../ground/core/address/ip.js'
import { isoSeconds } from '../../ground/core/clock.js'
import type { Slices } from '../../ground/core/slices.js'
import type { ListContent } from './ip-list.js'
import { type ListUnion, unionHas } from './list-unions.js'
import { Parts } from './parts.js'
import { type ConfigurationSource, type IpRule, isEnforced, type ListRule } from './policy-source.js'

/** One policy as a pair of sets. There is no union per edge, so a change compiles one policy and no edge. */
export interface IpPolicy {
  readonly id: string
  /** Enforced rules alone, like `deny`. */
  readonly allow: CidrSet
  readonly deny: CidrSet
  /** The rules of `deny`, by their place in it. */
  readonly denyRules: readonly IpRule[]
  /** The same of `allow`. */
  readonly allowRules: readonly IpRule[]
  /** Rules with a list in place of a range. */
  readonly allowLists: readonly ListRule[]
  readonly denyLists: readonly ListRule[]
  /** For explanations: all, also those that are not enforced. */
  readonly rules: readonly IpRule[]
  /** The time at which the first of its rules expires; infinite if none does. */
  readonly expiresMs: number
  /** The policy as it would be if all its rules were enforced; undefined if they are. */
  readonly shadow: IpPolicy | undefined
}

type AppliedRules = Pick<IpPolicy, 'allow' | 'deny' | 'allowRules' | 'denyRules' | 'allowLists' | 'denyLists'>

const isListRule = (rule: IpRule): rule is ListRule => !!rule.list_id

type RangeRule = IpRule & { readonly cidr: string }

/** A rule without a range has a list. */
const hasRange = (rule: IpRule): rule is RangeRule => rule.cidr !== null && rule.cidr !== undefined

/** Builds a policy in slices: call `next()` until it is done. */
export function* buildIpPolicy(
  id: string,
  given: Iterable<IpRule>,
  nowMs: number,
): Generator<void, IpPolicy> {
  const { lasting: rules, expiresMs } = withoutExpired(given, nowMs)
  yield
  const enforced = rules.filter(isEnforced)
  const whole = { id, rules, expiresMs, shadow: undefined }
  const shadow = enforced.length === rules.length ? undefined : { ...whole, ...(yield* buildSets(rules)) }
  return { ...whole, ...(yield* buildSets(enforced)), shadow }
}

function* buildSets(applied: readonly IpRule[]): Generator<void, AppliedRules> {
  const rulesOf = (wanted: IpRule['action']) => applied.filter(({ action }) => action === wanted)
  const [allowed, denied] = [rulesOf('allow'), rulesOf('deny')]
  const [allowRules, denyRules] = [allowed.filter(hasRange), denied.filter(hasRange)]
  const setOf = (rules: readonly RangeRule[]) => buildCidrSet(rules.map(({ cidr }) => cidr))
  const allow = yield* setOf(allowRules)
  const deny = yield* setOf(denyRules)
  const lists = { allowLists: allowed.filter(isListRule), denyLists: denied.filter(isListRule) }
  return { allow, deny, allowRules, denyRules, ...lists }
}

/** The rules that have not expired, and the time at which the first of them does. */
function withoutExpired(rules: Iterable<IpRule>, nowMs: number): { lasting: IpRule[]; expiresMs: number } {
  // Stored times are in UTC with whole seconds, so they compare as texts.
  const nowText = isoSeconds(nowMs)
  const lasting: IpRule[] = []
  let first: string | undefined
  for (const rule of rules) {
    const { expires_at } = rule
    if (expires_at) {
      if (expires_at <= nowText) continue
      if (first === undefined || expires_at < first) first = expires_at
    }
    lasting.push(rule)
  }
  return { lasting, expiresMs: first === undefined ? Number.POSITIVE_INFINITY : Date.parse(first) }
}

/** Policies that were compiled for another view of a configuration. */
export interface CompiledPolicies {
  /** `version`: that of its rules. Undefined, too, if a rule has expired. */
  ipPolicy(id: string, version: number, nowMs: number): IpPolicy | undefined
}

/** Builds the policies of a configuration; takes over those of which nothing has changed or expired. */
export async function buildIpPolicies(
  source: ConfigurationSource,
  previous: Parts<IpPolicy> | undefined,
  slices: Slices,
  nowMs: number,
  compiled?: CompiledPolicies,
): Promise<{ ipPolicies: Parts<IpPolicy>; expiresMs: number }> {
  const ipPolicies = new Parts(previous)
  let expiresMs = Number.POSITIVE_INFINITY
  for (const { id } of source.rowsOf('ip_policy')) {
    if (slices.isDue()) await slices.pause()
    const given = source.rules(id)
    if (given === undefined) continue
    const isLasting = (previous?.get(id)?.expiresMs ?? 0) > nowMs
    const policy =
      (isLasting ? ipPolicies.reuse(id, given.version) : undefined) ??
      ipPolicies.add(
        id,
        given.version,
        compiled?.ipPolicy(id, given.version, nowMs) ??
          (await slices.run(buildIpPolicy(id, given.rules, nowMs))),
      )
    expiresMs = Math.min(expiresMs, policy.expiresMs)
  }
  return { ipPolicies: ipPolicies.complete(), expiresMs }
}

/** The same policies without rules that have expired. */
export async function withoutExpiredRules(
  present: Parts<IpPolicy>,
  slices: Slices,
  nowMs: number,
): Promise<{ ipPolicies: Parts<IpPolicy>; expiresMs: number }> {
  const changed = new Map<string, IpPolicy>()
  let expiresMs = Number.POSITIVE_INFINITY
  for (const before of present.values.values()) {
    if (slices.isDue()) await slices.pause()
    let policy = before
    if (before.expiresMs <= nowMs) {
      policy = await slices.run(buildIpPolicy(before.id, before.rules, nowMs))
      changed.set(policy.id, policy)
    }
    expiresMs = Math.min(expiresMs, policy.expiresMs)
  }
  return { ipPolicies: changed.size === 0 ? present : present.with(changed), expiresMs }
}

/** Finds policies by id; a missing one counts as one without rules. */
export interface IpPolicies {
  ipPolicy(id: string): IpPolicy | undefined
  /** A missing list counts as one without entries. */
  ipList(id: string): ListContent | undefined
  /** All lists that these rules name, as one; undefined, or missing: they are asked one by one. */
  listUnion?(rules: readonly ListRule[]): ListUnion | undefined
}

/** The first of these rules whose list has the address. */
export function listRuleFor(
  policies: IpPolicies,
  rules: readonly ListRule[],
  address: Address,
): ListRule | undefined {
  for (let index = 0; index < rules.length; index += 1)
    if (policies.ipList(rules[index]!.list_id)?.has(address)) return rules[index]
  return undefined
}

/** Has any of the lists that the rules name the address? */
function isListed(policies: IpPolicies, rules: readonly ListRule[], address: Address): boolean {
  const union = rules.length > 1 ? policies.listUnion?.(rules) : undefined
  return union === undefined ? listRuleFor(policies, rules, address) !== undefined : unionHas(union, address)
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
    if (policy.denyLists.length > 0 && isListed(policies, policy.denyLists, address)) return 'block'
    allowed ||= policy.allow.has(address)
    if (!allowed && policy.allowLists.length > 0) allowed = isListed(policies, policy.allowLists, address)
  }
  return allowed ? 'allow' : 'block'
}

interface DenyRule {
  readonly policyId: string
  readonly rule: IpRule
  /** The range of the rule, or of the entry of its list. */
  readonly cidr: string | null
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
    const range = place === undefined ? undefined : policy.denyRules[place]!
    if (range !== undefined) return { policyId, rule: range, cidr: range.cidr }
    const listed = listRuleFor(policies, policy.denyLists, address)
    if (listed !== undefined)
      return { policyId, rule: listed, cidr: policies.ipList(listed.list_id)?.rangeOf(address) ?? null }
  }
  return undefined
}

/** Whether this rule matches; for explanations, which look at rules one by one. */
export function ruleMatches(policies: IpPolicies, rule: IpRule, address: Address): boolean {
  if (rule.list_id) return policies.ipList(rule.list_id)?.has(address) === true
  const cidr = parseCidr(rule.cidr, { hostBits: 'allow' })
  return cidr.ok && cidrContains(cidr.value, address)
}
