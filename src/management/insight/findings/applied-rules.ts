/** The rules of an IP policy that are in force, and which of them takes the effect of another one. */
import { type Cidr, parseCidr } from '../../../ground/core/address/cidr.js'
import { RangeIndex } from '../../../ground/core/address/range-index.js'
import type { ListContent } from '../../../judging/evaluate/ip-list.js'
import { isEnforced } from '../../../judging/evaluate/policy-source.js'
import { isExpiredRule } from '../../../words/resource/ip-policy.js'
import type { DeclaredRow } from '../../../words/resource/registry.js'
import type { Search } from './collected.js'

export type Rule = DeclaredRow<'ip_policy_rule'>

/** A rule, as others are compared with it. */
interface AppliedRule {
  readonly rule: Rule
  /**
   * Its range; of a rule with a list, the narrowest one around all entries. Undefined if a list has no entry, or entries of
   * both families: no range contains them.
   */
  readonly cidr: Cidr | undefined
  /** Undefined if the rule has a range. */
  readonly list: ListContent | undefined
}

export interface AppliedRules {
  readonly allow: readonly AppliedRule[]
  readonly deny: readonly AppliedRule[]
}

/** The compiled lists of the account. */
export interface Lists {
  ipList(id: string): ListContent | undefined
}

/** The rules of a policy that are enforced and have not expired. */
export async function appliedRules(
  { state, nowMs, slices }: Search,
  policyId: string,
  lists: Lists,
): Promise<AppliedRules> {
  const allow: AppliedRule[] = []
  const deny: AppliedRule[] = []
  // A copy, because rules change during a pause.
  for (const rule of [...(state.rules(policyId)?.rules ?? [])]) {
    if (slices.isDue()) await slices.pause()
    if (!isEnforced(rule) || isExpiredRule(rule, nowMs)) continue
    const applied = appliedRule(rule, lists)
    if (applied !== undefined) (rule.action === 'allow' ? allow : deny).push(applied)
  }
  return { allow, deny }
}

/** Undefined for a rule with a list that is not compiled yet. */
function appliedRule(rule: Rule, lists: Lists): AppliedRule | undefined {
  if (!rule.list_id) {
    const cidr = parseCidr(rule.cidr, { hostBits: 'allow' })
    return cidr.ok ? { rule, cidr: cidr.value, list: undefined } : undefined
  }
  const list = lists.ipList(rule.list_id)
  return list && { rule, cidr: list.hull, list }
}

/** Rules of one action, among which those that contain another one are found. */
export class RuleIndex {
  readonly #ranges = new RangeIndex<AppliedRule>()
  readonly #lists: (AppliedRule & { readonly list: ListContent })[] = []

  static async of({ slices }: Search, rules: readonly AppliedRule[]): Promise<RuleIndex> {
    const index = new RuleIndex()
    for (const { rule, cidr, list } of rules) {
      if (slices.isDue()) await slices.pause()
      if (list !== undefined) index.#lists.push({ rule, cidr, list })
      else if (cidr !== undefined) index.#ranges.set(cidr, { rule, cidr, list })
    }
    return index
  }

  /** In how many lists these rules have to be looked up. */
  lookups(rules: readonly AppliedRule[]): number {
    return this.#lists.length === 0 ? 0 : rules.length * this.#lists.length
  }

  /** The widest range of another rule that contains all of this one as long as it lasts, else a list that does. */
  containing(applied: AppliedRule): Rule | undefined {
    const { rule, cidr, list } = applied
    if (cidr !== undefined)
      for (const other of this.#ranges.containing(cidr)) if (takesEffect(other, applied)) return other.rule
    for (const other of this.#lists) {
      const contains = list === undefined ? other.list.hasLasting(cidr!) : other.rule.list_id === rule.list_id
      if (contains && takesEffect(other, applied)) return other.rule
    }
    return undefined
  }
}

/** `other` contains the rule. */
function takesEffect(other: AppliedRule, applied: AppliedRule): boolean {
  const [one, two] = [other.rule, applied.rule]
  if (one.id === two.id || !outlasts(one, two)) return false
  // If two rules have the same effect, only the later one is superfluous.
  return one.action !== two.action || !outlasts(two, one) || !isSame(other, applied) || isEarlier(one, two)
}

function outlasts({ expires_at: end }: Rule, other: Rule): boolean {
  if (!end) return true
  return Boolean(other.expires_at) && Date.parse(end) >= Date.parse(String(other.expires_at))
}

/** One of them contains the other: is that mutual? No two rules of a policy have the same range, or the same list. */
function isSame(one: AppliedRule, other: AppliedRule): boolean {
  const [listed, ranged] = one.list === undefined ? [other, one] : [one, other]
  if (listed.list === undefined || ranged.list !== undefined || ranged.cidr === undefined) return false
  return listed.cidr?.prefix === ranged.cidr.prefix && listed.list.hasLasting(ranged.cidr)
}

const isEarlier = (one: Rule, other: Rule): boolean =>
  one.created_at === other.created_at ? one.id < other.id : one.created_at < other.created_at
