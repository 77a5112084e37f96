/** Explains a decision: every rule and expression that was evaluated, with its value, what decided, and why. */

import type { Address } from '../../ground/core/address/ip.js'
import type { ListEntry } from '../../ground/core/address/list-entry.js'
import { shown } from '../../ground/core/errors.js'
import { getOrMake } from '../../ground/core/maps.js'
import type { DecidedBy, ShadowDecision } from '../../words/event/define.js'
import type { ExplainedGroup, ExplainedRule, Explanation } from '../../words/shape/decisions/decision.js'
import type { IpPolicyGroup } from './evaluate.js'
import { explainedPolicies, PoliciesTrace } from './explained-policies.js'
import { explainedReadings } from './explained-readings.js'
import { denyRuleFor, ruleMatches } from './ip-policy.js'
import type { Restrictions } from './ip-restriction.js'
import type { Judgement } from './judgement.js'
import { type IpRule, isEnforced } from './policy-source.js'

/** Rules listed in the explanation of a decision; the reply must fit a NATS message. */
const explainedRulesMax = 1000
/** All descriptions of rules in one explanation, as JSON. */
const explainedDescriptionCharsMax = 256 * 1024

/** A rule that was looked at. */
interface Candidate {
  readonly policyId: string
  /** The place of the policy in the list that names it. */
  readonly index: number
  readonly rule: IpRule
  readonly matches: boolean
}

/** Rules of a policy come in no particular order. */
const byPolicyAndId = (one: Candidate, other: Candidate): number =>
  one.index - other.index || (one.rule.id < other.rule.id ? -1 : 1)

/** The part that decided, as answers name it. */
export const shownPart = ({
  type,
  id,
  name,
  ipPolicyId,
  ruleId,
  cidr,
}: DecidedBy): Explanation['decided_by'] => ({
  type,
  id,
  name,
  ip_policy_id: ipPolicyId,
  rule_id: ruleId,
  cidr,
})

/** Collects an explanation while a record is evaluated. */
export class ExplanationTrace extends PoliciesTrace {
  readonly #policySet: Restrictions
  readonly #client: Address
  readonly #groups: ExplainedGroup[] = []
  /** By list: the entry that contains the client. */
  readonly #entries = new Map<string, ListEntry | undefined>()
  #rulesLeft: number
  #descriptionCharsLeft = explainedDescriptionCharsMax

  /** `rulesMax`: rules listed at most. */
  constructor(policySet: Restrictions, client: Address, rulesMax = explainedRulesMax) {
    super()
    this.#policySet = policySet
    this.#client = client
    this.#rulesLeft = rulesMax
  }

  /** The explanation, once the decision was made. */
  explanation(judgement: Judgement): Explanation {
    const { record, endpoint, hostport, verdict, decidedBy } = judgement
    const inShadow = new PoliciesTrace()
    judgement.traceShadow(inShadow)
    const { shadow } = judgement
    return {
      ...explainedReadings(judgement),
      hostport: hostport ?? null,
      ip_policies: this.#groups,
      ...explainedPolicies({
        endpoint,
        verdict,
        type: record.type,
        live: this.evaluated,
        shadow,
        inShadow: inShadow.evaluated,
      }),
      decided_by: shownPart(decidedBy),
      shadow: shadow && explainedShadow(shadow, judgement),
    }
  }

  override ipPolicies({ source, enforced, policyIds, decision }: IpPolicyGroup): void {
    const looked = policyIds.flatMap((policyId, index) => this.#candidates(policyId, index))
    const matching = looked.filter(({ matches }) => matches).sort(byPolicyAndId)
    const winner = this.#winner(matching, policyIds)
    // Matching rules explain the decision; the others follow if there is room.
    const listed = matching.slice(0, this.#rulesLeft)
    this.#rulesLeft -= listed.length
    const others = looked.filter(({ matches }) => !matches).slice(0, this.#rulesLeft)
    this.#rulesLeft -= others.length
    listed.push(...others.sort(byPolicyAndId))
    this.#groups.push({
      source,
      enforced,
      decision,
      reason: groupReason(winner, looked, enforced),
      rules: listed.map((candidate) => this.#explainedRule(candidate, winner)),
      rules_left_out: looked.length - listed.length,
    })
  }

  #candidates(policyId: string, index: number): Candidate[] {
    const { rules = [] } = this.#policySet.ipPolicy(policyId) ?? {}
    return rules.map((rule) => ({
      policyId,
      index,
      rule,
      matches: ruleMatches(this.#policySet, rule, this.#client),
    }))
  }

  /** The deny rule that blocks, else the first allow rule that matches. */
  #winner(matching: readonly Candidate[], policyIds: readonly string[]): IpRule | undefined {
    const blocking = denyRuleFor(this.#policySet, policyIds, this.#client)?.rule
    return blocking ?? matching.find(({ rule }) => isEnforced(rule))?.rule
  }

  #explainedRule({ policyId, rule, matches }: Candidate, winner: IpRule | undefined): ExplainedRule {
    const { id, action, expires_at } = rule
    return {
      ip_policy_id: policyId,
      rule_id: id,
      ...this.#rangeOf(rule),
      action,
      description: this.#descriptionOf(rule),
      expires_at: expires_at ?? null,
      enforced: isEnforced(rule),
      matches,
      won: rule === winner,
      reason: ruleReason(rule, matches, winner),
    }
  }

  /** The range of a rule; of a rule with a list, the entry that matched, with its comment. */
  #rangeOf({ cidr, list_id }: IpRule): Pick<ExplainedRule, 'cidr' | 'list_id' | 'comment'> {
    if (!list_id) return { cidr, list_id: null, comment: null }
    // Several rules may name a list; a part of it is read for the first of them.
    const entry = getOrMake(this.#entries, list_id, () =>
      this.#policySet.ipList(list_id)?.entryOf(this.#client),
    )
    return { cidr: entry?.cidr ?? null, list_id, comment: entry?.comment ?? null }
  }

  /** The reply must fit a NATS message, so very long lists show the descriptions of their first rules only. */
  #descriptionOf({ description }: IpRule): string | null {
    if (!description) return null
    this.#descriptionCharsLeft -= JSON.stringify(description).length
    return this.#descriptionCharsLeft < 0 ? null : description
  }
}

function groupReason(winner: IpRule | undefined, looked: readonly Candidate[], enforced: boolean): string {
  const warns = enforced ? '' : ' The restriction is not enforced, so it only warns.'
  if (winner?.action === 'allow')
    return `The allow rule ${winner.id} contains the address, and no ${enforcedIfSo(looked, 'deny')} does.`
  if (winner !== undefined) return `The deny rule ${winner.id} contains the address.${warns}`
  if (looked.length === 0) return `There are no rules, so no address is allowed.${warns}`
  return `No ${enforcedIfSo(looked, 'allow')} contains the address.${warns}`
}

/** Other rules, which are not enforced, may contain the address. */
function enforcedIfSo(looked: readonly Candidate[], action: IpRule['action']): string {
  const isShadowed = looked.some(
    ({ rule, matches }) => matches && rule.action === action && !isEnforced(rule),
  )
  return `${isShadowed ? 'enforced ' : ''}${action} rule`
}

function ruleReason(rule: IpRule, matches: boolean, winner: IpRule | undefined): string {
  if (!matches) return 'It does not contain the address.'
  if (!isEnforced(rule)) return 'It contains the address, but it is not enforced, so it decides nothing.'
  if (rule === winner)
    return rule.action === 'deny'
      ? 'It contains the address, and a deny rule wins over allow rules of any policy.'
      : 'It contains the address, and no deny rule does.'
  if (rule.action === 'deny') return 'It contains the address, too; one deny rule is enough.'
  return winner?.action === 'deny'
    ? 'It contains the address, but a deny rule of any policy wins over allow rules.'
    : 'It contains the address, too; one allow rule is enough.'
}

/** The shadow decision, in words. */
function explainedShadow(
  { decision, decidedBy }: ShadowDecision,
  live: Pick<Judgement, 'decision' | 'decidedBy'>,
): NonNullable<Explanation['shadow']> {
  const isSame =
    decision === live.decision &&
    JSON.stringify(shownPart(decidedBy)) === JSON.stringify(shownPart(live.decidedBy))
  const outcome = isSame
    ? 'the decision would be the same'
    : decision === 'allow'
      ? 'it would be allowed'
      : `it would be ${decision === 'block' ? 'blocked' : 'denied'} by ${partInSentence(decidedBy)}`
  return {
    decision,
    decided_by: shownPart(decidedBy),
    reason: `If everything were enforced, ${outcome}.`,
  }
}

function partInSentence({ type, id, name, ruleId, cidr }: DecidedBy): string {
  if (type === 'traffic_policy') return `the traffic policy ${shown(name)} of ${id}`
  const source = type === 'restriction' ? `the restriction ${id}` : `the ip_restriction of ${id}`
  return ruleId === null
    ? `${source}: no allow rule contains the address`
    : `the deny rule ${ruleId} (${cidr}) of ${source}`
}
