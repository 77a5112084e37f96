/**
 * Rules of IP policies without effect: those that a wider range, or a list, contains. What is allowed within something
 * denied lets no one in, in the same policy or in one that is used together with it.
 *
 * Only rules that are enforced and have not expired count, and only a rule that lasts at least as long can take the effect
 * of another one. Of lists, the present entries count; two different lists are not compared.
 */
import { getOrMake } from '../../../ground/core/maps.js'
import type { Finding } from '../../../words/shape/finding.js'
import { policyKind } from '../../../words/view/keys.js'
import { subjectInWords } from '../../../words/view/rule-subject.js'
import { rowsOf } from '../../exchange/rows.js'
import { type AppliedRules, appliedRules, type Lists, type Rule, RuleIndex } from './applied-rules.js'
import type { Search } from './collected.js'
import type { PolicyGroup } from './policy-users.js'

const kinds = ['allow_in_deny', 'rule_covered', 'rules_contradict'] as const

/** All rules that are compared, those of a policy once more for each policy that it is used together with. */
const rulesComparedMax = 1_000_000
/** Ranges that are looked up in lists, once for each list: some 0.2 µs each. */
const listLookupsMax = 5_000_000
const pairsMax = 100_000

/** The comparisons that are still allowed. */
class Budget {
  #rules = rulesComparedMax
  #lookups = listLookupsMax
  readonly #search: Search

  constructor(search: Search) {
    this.#search = search
  }

  /** False, and says so, if too many rules were compared already. */
  takeRules(count: number, ...affected: readonly (typeof kinds)[number][]): boolean {
    this.#rules -= count
    if (this.#rules >= 0) return true
    for (const kind of affected)
      this.#search.found.unknown(kind, `Only ${rulesComparedMax} rules are compared; the account has more.`)
    return false
  }

  takeLookups(count: number, ...affected: readonly (typeof kinds)[number][]): boolean {
    if (count <= this.#lookups) {
      this.#lookups -= count
      return true
    }
    for (const kind of affected)
      this.#search.found.unknown(kind, `Rules are looked up in IP lists ${listLookupsMax} times at most.`)
    return false
  }
}

/** By rule: the one that makes it superfluous. */
export async function ruleFindings(
  search: Search,
  groups: readonly PolicyGroup[],
  lists: Lists,
): Promise<ReadonlyMap<string, string>> {
  const { state, accountId } = search
  const covered = new Map<string, string>()
  const allowing = new Set<string>()
  const denying = new Set<string>()
  const budget = new Budget(search)
  for (const { id } of [...rowsOf(state, accountId, policyKind)]) {
    const applied = await appliedRules(search, id, lists)
    if (!budget.takeRules(applied.allow.length + applied.deny.length, ...kinds)) break
    if (applied.allow.length > 0) allowing.add(id)
    if (applied.deny.length > 0) denying.add(id)
    await withinPolicy(search, applied, covered, budget)
  }
  await betweenPolicies(search, await pairsIn(search, groups, allowing, denying), covered, budget, lists)
  return covered
}

async function withinPolicy(
  search: Search,
  { allow, deny }: AppliedRules,
  covered: Map<string, string>,
  budget: Budget,
): Promise<void> {
  const { slices, found } = search
  const [allowed, denied] = [await RuleIndex.of(search, allow), await RuleIndex.of(search, deny)]
  const lookups = allowed.lookups(allow) + denied.lookups(allow) + denied.lookups(deny)
  if (!budget.takeLookups(lookups, 'allow_in_deny', 'rule_covered')) return
  found.lookedAt('allow_in_deny', allow.length)
  found.lookedAt('rule_covered', allow.length + deny.length)
  for (const applied of [...allow, ...deny]) {
    if (slices.isDue()) await slices.pause()
    const { rule } = applied
    const isAllow = rule.action === 'allow'
    const stronger = isAllow ? denied.containing(applied) : undefined
    const wider = stronger ?? (isAllow ? allowed : denied).containing(applied)
    if (wider === undefined) continue
    covered.set(rule.id, wider.id)
    if (stronger !== undefined)
      found.add('allow_in_deny', () => ({
        severity: 'attention',
        sentence: `The rule that allows ${subjectInWords(search.state, rule)} lets no one in: ${containerInWords(search, rule, stronger)} is denied by the same IP policy.`,
        ...aboutRule(search, rule, stronger),
      }))
    else
      found.add('rule_covered', () => ({
        severity: 'notice',
        sentence: `The rule for ${subjectInWords(search.state, rule)} changes nothing: ${containerInWords(search, rule, wider)} is ${isAllow ? 'allowed' : 'denied'} by the same IP policy.`,
        ...aboutRule(search, rule, wider),
      }))
  }
}

/** The container of the rule, as the beginning of a sentence. */
function containerInWords({ state }: Search, rule: Rule, by: Rule): string {
  if (by.cidr == null)
    return rule.cidr == null ? 'the same list' : `${subjectInWords(state, by)}, which contains it,`
  return rule.cidr == null ? `${by.cidr}, which contains all its entries,` : by.cidr
}

function aboutRule(
  { state, found }: Search,
  rule: Rule,
  by: Rule,
  evidence: Partial<Finding['evidence']> = {},
) {
  const about = found.placeOfRule(state, rule)
  return {
    about,
    evidence: { ...evidence, by: found.placeOfRule(state, by) },
    draft: { method: 'PATCH' as const, uri: about.uri, body: { enforced: false } },
  }
}

/** Where two policies are used together. */
type Pair = Pick<PolicyGroup, 'first'> & { uses: number }

/** For each policy that denies: those that allow and are used together with it. */
type Pairs = ReadonlyMap<string, ReadonlyMap<string, Pair>>

async function pairsIn(
  { found, slices }: Search,
  groups: readonly PolicyGroup[],
  allowing: ReadonlySet<string>,
  denying: ReadonlySet<string>,
): Promise<Pairs> {
  const pairs = new Map<string, Map<string, Pair>>()
  let count = 0
  for (const { policyIds, first, uses } of groups) {
    const ids = [...new Set(policyIds)]
    const allows = ids.filter((id) => allowing.has(id))
    for (const deny of ids.filter((id) => denying.has(id))) {
      if (slices.isDue()) await slices.pause()
      for (const allow of allows) {
        if (allow === deny) continue
        count += 1
        if (count > pairsMax) {
          found.unknown('rules_contradict', `Only ${pairsMax} pairs of IP policies are compared.`)
          return pairs
        }
        const ofDeny = getOrMake(pairs, deny, () => new Map<string, Pair>())
        getOrMake(ofDeny, allow, () => ({ first, uses: 0 })).uses += uses
      }
    }
  }
  return pairs
}

async function betweenPolicies(
  search: Search,
  pairs: Pairs,
  covered: ReadonlyMap<string, string>,
  budget: Budget,
  lists: Lists,
): Promise<void> {
  const { slices, found } = search
  /** One finding for a rule, however many policies deny it. */
  const contradicted = new Set<string>()
  for (const [denyId, allows] of pairs) {
    const { deny } = await appliedRules(search, denyId, lists)
    if (!budget.takeRules(deny.length, 'rules_contradict')) return
    const denied = await RuleIndex.of(search, deny)
    for (const [allowId, pair] of allows) {
      const { allow } = await appliedRules(search, allowId, lists)
      if (!budget.takeRules(allow.length, 'rules_contradict')) return
      if (!budget.takeLookups(denied.lookups(allow), 'rules_contradict')) continue
      found.lookedAt('rules_contradict', allow.length)
      for (const applied of allow) {
        if (slices.isDue()) await slices.pause()
        const { rule } = applied
        // Another rule of its own policy makes it superfluous already.
        if (contradicted.has(rule.id) || covered.has(rule.id)) continue
        const stronger = denied.containing(applied)
        if (stronger === undefined) continue
        contradicted.add(rule.id)
        found.add('rules_contradict', () => contradiction(search, rule, stronger, pair))
      }
    }
  }
}

function contradiction(search: Search, rule: Rule, stronger: Rule, { first, uses }: Pair) {
  const { state, found } = search
  const usedBy = found.placeOf(first.kind, first.row)
  const places = uses === 1 ? 'one place' : `${uses} places`
  const denied = containerInWords(search, rule, stronger).replace(/,$/, '')
  return {
    severity: 'attention' as const,
    sentence: `The rule that allows ${subjectInWords(state, rule)} lets no one in at ${places}: there, its IP policy is used together with another one that denies ${denied}.`,
    ...aboutRule(search, rule, stronger, { uses, used_by: usedBy }),
  }
}
