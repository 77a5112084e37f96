/**
 * Rules of IP policies without effect: those that a wider range contains. An allowed range within a denied one lets no one in,
 * in the same policy or in one that is used together with it.
 *
 * Only rules that are enforced and have not expired count, and only a rule that lasts at least as long can take the effect
 * of another one.
 */
import { type Cidr, parseCidr } from '../../core/address/cidr.js'
import { RangeIndex } from '../../core/address/range-index.js'
import { getOrMake } from '../../core/maps.js'
import { isEnforced } from '../../evaluate/policy-source.js'
import { rowsOf } from '../../http/present.js'
import { isExpiredRule } from '../../resource/ip-policy.js'
import type { DeclaredRow } from '../../resource/registry.js'
import type { Finding } from '../../shape/finding.js'
import { policyKind } from '../../view/keys.js'
import type { Search } from './collected.js'
import type { PolicyGroup } from './policy-users.js'

/** All rules that are compared, those of a policy once more for each policy that it is used together with. */
const rulesComparedMax = 1_000_000
const pairsMax = 100_000

type Rule = DeclaredRow<'ip_policy_rule'>

interface Ranged {
  readonly rule: Rule
  readonly cidr: Cidr
}

interface Applied {
  readonly allow: readonly Ranged[]
  readonly deny: readonly Ranged[]
}

/** The rules that others make superfluous, by id. */
export async function ruleFindings(
  search: Search,
  groups: readonly PolicyGroup[],
): Promise<ReadonlySet<string>> {
  const { state, accountId, found } = search
  const covered = new Set<string>()
  const allowing = new Set<string>()
  const denying = new Set<string>()
  let compared = 0
  for (const { id } of [...rowsOf(state, accountId, policyKind)]) {
    if (compared > rulesComparedMax) {
      for (const kind of ['allow_in_deny', 'rule_covered', 'rules_contradict'] as const)
        found.unknown(kind, `Only ${rulesComparedMax} rules are compared; the account has more.`)
      break
    }
    const applied = await appliedRules(search, id)
    compared += applied.allow.length + applied.deny.length
    if (applied.allow.length > 0) allowing.add(id)
    if (applied.deny.length > 0) denying.add(id)
    await withinPolicy(search, applied, covered)
  }
  await betweenPolicies(
    search,
    pairsIn(search, groups, allowing, denying),
    covered,
    rulesComparedMax - compared,
  )
  return covered
}

async function appliedRules({ state, nowMs, slices }: Search, policyId: string): Promise<Applied> {
  const allow: Ranged[] = []
  const deny: Ranged[] = []
  // A copy, because rules change during a pause.
  for (const rule of [...(state.rules(policyId)?.rules ?? [])]) {
    if (slices.isDue()) await slices.pause()
    if (!isEnforced(rule) || isExpiredRule(rule, nowMs)) continue
    const cidr = parseCidr(rule.cidr, { hostBits: 'allow' })
    if (cidr.ok) (rule.action === 'allow' ? allow : deny).push({ rule, cidr: cidr.value })
  }
  return { allow, deny }
}

async function indexOf({ slices }: Search, rules: readonly Ranged[]): Promise<RangeIndex<Rule>> {
  const index = new RangeIndex<Rule>()
  for (const { cidr, rule } of rules) {
    if (slices.isDue()) await slices.pause()
    index.set(cidr, rule)
  }
  return index
}

/** The widest other rule that contains the range of this one as long as it lasts. */
function containing(index: RangeIndex<Rule>, { rule, cidr }: Ranged): Rule | undefined {
  for (const other of index.containing(cidr)) if (other.id !== rule.id && outlasts(other, rule)) return other
  return undefined
}

function outlasts({ expires_at: end }: Rule, other: Rule): boolean {
  if (!end) return true
  return Boolean(other.expires_at) && Date.parse(end) >= Date.parse(String(other.expires_at))
}

async function withinPolicy(search: Search, { allow, deny }: Applied, covered: Set<string>): Promise<void> {
  const { slices, found } = search
  const [allowed, denied] = [await indexOf(search, allow), await indexOf(search, deny)]
  found.lookedAt('allow_in_deny', allow.length)
  found.lookedAt('rule_covered', allow.length + deny.length)
  for (const ranged of [...allow, ...deny]) {
    if (slices.isDue()) await slices.pause()
    const { rule } = ranged
    const isAllow = rule.action === 'allow'
    const stronger = isAllow ? containing(denied, ranged) : undefined
    const wider = stronger ?? containing(isAllow ? allowed : denied, ranged)
    if (wider === undefined) continue
    covered.add(rule.id)
    if (stronger !== undefined)
      found.add('allow_in_deny', () => ({
        severity: 'attention',
        sentence: `The rule that allows ${rule.cidr} lets no one in: ${stronger.cidr} is denied by the same IP policy.`,
        ...aboutRule(search, rule, stronger),
      }))
    else
      found.add('rule_covered', () => ({
        severity: 'notice',
        sentence: `The rule for ${rule.cidr} changes nothing: ${wider.cidr} is ${isAllow ? 'allowed' : 'denied'} by the same IP policy.`,
        ...aboutRule(search, rule, wider),
      }))
  }
}

function aboutRule({ found }: Search, rule: Rule, by: Rule, evidence: Partial<Finding['evidence']> = {}) {
  const about = found.placeOf('ip_policy_rule', rule)
  return {
    about,
    evidence: { ...evidence, by: found.placeOf('ip_policy_rule', by) },
    draft: { method: 'PATCH' as const, uri: about.uri, body: { enforced: false } },
  }
}

/** For each policy that denies: those that allow and are used together with it, with their uses. */
type Pairs = ReadonlyMap<string, ReadonlyMap<string, PolicyGroup>>

function pairsIn(
  { found }: Search,
  groups: readonly PolicyGroup[],
  allowing: ReadonlySet<string>,
  denying: ReadonlySet<string>,
): Pairs {
  const pairs = new Map<string, Map<string, PolicyGroup>>()
  let count = 0
  for (const group of groups) {
    const ids = [...new Set(group.policyIds)]
    const allows = ids.filter((id) => allowing.has(id))
    for (const deny of ids.filter((id) => denying.has(id))) {
      for (const allow of allows) {
        if (allow === deny) continue
        count += 1
        if (count > pairsMax) {
          found.unknown('rules_contradict', `Only ${pairsMax} pairs of IP policies are compared.`)
          return pairs
        }
        const ofDeny = getOrMake(pairs, deny, () => new Map<string, PolicyGroup>())
        const { uses = 0 } = ofDeny.get(allow) ?? {}
        ofDeny.set(allow, { ...group, uses: uses + group.uses })
      }
    }
  }
  return pairs
}

async function betweenPolicies(
  search: Search,
  pairs: Pairs,
  covered: ReadonlySet<string>,
  comparedMax: number,
): Promise<void> {
  const { slices, found } = search
  let compared = 0
  /** One finding for a rule, however many policies deny it. */
  const contradicted = new Set<string>()
  for (const [denyId, allows] of pairs) {
    const { deny } = await appliedRules(search, denyId)
    const denied = await indexOf(search, deny)
    compared += deny.length
    for (const [allowId, group] of allows) {
      const { allow } = await appliedRules(search, allowId)
      compared += allow.length
      if (compared > comparedMax) {
        found.unknown(
          'rules_contradict',
          `Only ${rulesComparedMax} rules are compared; the account has more.`,
        )
        return
      }
      found.lookedAt('rules_contradict', allow.length)
      for (const ranged of allow) {
        if (slices.isDue()) await slices.pause()
        const { rule } = ranged
        const stronger = containing(denied, ranged)
        if (stronger === undefined || contradicted.has(rule.id)) continue
        // Another rule of its own policy makes it superfluous already.
        if (covered.has(rule.id)) continue
        contradicted.add(rule.id)
        found.add('rules_contradict', () => contradiction(search, rule, stronger, group))
      }
    }
  }
}

function contradiction(search: Search, rule: Rule, stronger: Rule, { first, uses }: PolicyGroup) {
  const usedBy = search.found.placeOf(first.kind, first.row)
  const places = uses === 1 ? 'one place' : `${uses} places`
  return {
    severity: 'attention' as const,
    sentence: `The rule that allows ${rule.cidr} lets no one in at ${places}: there, its IP policy is used together with another one that denies ${stronger.cidr}.`,
    ...aboutRule(search, rule, stronger, { uses, used_by: usedBy }),
  }
}
