/** Explains a decision: every rule and expression that was evaluated, with its value, what decided, and why. */

import type { Address } from '../core/address/ip.js'
import { shown } from '../core/errors.js'
import type { DecidedBy } from '../event/define.js'
import type { RecordType } from '../record/traffic-record.js'
import type { ExplainedGroup, ExplainedPolicy, ExplainedRule, Explanation } from '../shape/decision.js'
import type { Endpoint } from './edges.js'
import type { EvaluationTrace, IpPolicyGroup, Verdict } from './evaluate.js'
import { denyRuleFor, ruleMatches } from './ip-policy.js'
import type { Restrictions } from './ip-restriction.js'
import type { Judgement } from './judgement.js'
import type { IpRule } from './policy-source.js'
import type { TrafficPolicy } from './traffic-policy.js'

/** Rules listed in the explanation of a decision; the reply must fit a NATS message. */
const explainedRulesMax = 1000
/** All descriptions of rules in one explanation, as JSON. */
const explainedDescriptionCharsMax = 256 * 1024
/** A value in the explanation of a decision. */
const explainedValueCharsMax = 256

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
export class ExplanationTrace implements EvaluationTrace {
  readonly #policySet: Restrictions
  readonly #client: Address
  readonly #groups: ExplainedGroup[] = []
  readonly #policies: ExplainedPolicy[] = []
  #rulesLeft: number
  #descriptionCharsLeft = explainedDescriptionCharsMax

  /** `rulesMax`: rules listed at most. */
  constructor(policySet: Restrictions, client: Address, rulesMax = explainedRulesMax) {
    this.#policySet = policySet
    this.#client = client
    this.#rulesLeft = rulesMax
  }

  /** The explanation, once the decision was made. */
  explanation({ record, endpoint, hostport, verdict, decidedBy }: Judgement): Explanation {
    return {
      hostport: hostport ?? null,
      ip_policies: this.#groups,
      policies: this.#policies,
      policies_not_reached: this.#notReached(endpoint, reasonNotReached(verdict, record.type)),
      decided_by: shownPart(decidedBy),
    }
  }

  ipPolicies({ source, enforced, policyIds, decision }: IpPolicyGroup): void {
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
      reason: groupReason(winner, looked.length, enforced),
      rules: listed.map((candidate) => this.#explainedRule(candidate, winner)),
      rules_left_out: looked.length - listed.length,
    })
  }

  #candidates(policyId: string, index: number): Candidate[] {
    const { rules = [] } = this.#policySet.ipPolicy(policyId) ?? {}
    return rules.map((rule) => ({ policyId, index, rule, matches: ruleMatches(rule, this.#client) }))
  }

  /** The deny rule that blocks, else the first allow rule that matches. */
  #winner(matching: readonly Candidate[], policyIds: readonly string[]): IpRule | undefined {
    const blocking = denyRuleFor(this.#policySet, policyIds, this.#client)?.rule
    return blocking ?? matching[0]?.rule
  }

  #explainedRule({ policyId, rule, matches }: Candidate, winner: IpRule | undefined): ExplainedRule {
    const { id, cidr, action, expires_at } = rule
    return {
      ip_policy_id: policyId,
      rule_id: id,
      cidr,
      action,
      description: this.#descriptionOf(rule),
      expires_at: expires_at ?? null,
      matches,
      won: rule === winner,
      reason: ruleReason(rule, matches, winner),
    }
  }

  /** The reply must fit a NATS message, so very long lists show the descriptions of their first rules only. */
  #descriptionOf({ description }: IpRule): string | null {
    if (!description) return null
    this.#descriptionCharsLeft -= JSON.stringify(description).length
    return this.#descriptionCharsLeft < 0 ? null : description
  }

  policy({ ownerId, label, direction, actions }: TrafficPolicy): void {
    const types = actions.map(({ type }) => type)
    this.#policies.push({
      source: sourceOf(ownerId),
      policy: label,
      direction,
      applied: false,
      reason: '',
      expressions: [],
      actions: types,
    })
  }

  expression(text: string, value: unknown): void {
    const policy = this.#policies.at(-1)!
    policy.expressions.push({ expression: text, value: shownValue(value) })
    if (!value) policy.reason = `It does not apply: ${shown(text)} is not true.`
  }

  failure(text: string, msg: string): void {
    const policy = this.#policies.at(-1)!
    policy.expressions.push({ expression: text, value: null, failure: msg })
    policy.reason = `It does not apply: ${shown(text)} has no result.`
  }

  applied(): void {
    const policy = this.#policies.at(-1)!
    policy.applied = true
    const why = policy.expressions.length === 0 ? 'It has no expressions' : 'All its expressions are true'
    policy.reason = policy.actions.includes('deny')
      ? `${why}, so it denies.`
      : `${why}, so it applies; it only logs.`
  }

  #notReached({ policies, route }: Endpoint, reason: string): Explanation['policies_not_reached'] {
    const evaluated = { inbound: 0, outbound: 0 }
    for (const { direction } of this.#policies) evaluated[direction] += 1
    return (['inbound', 'outbound'] as const)
      .flatMap((direction) =>
        [policies, route?.policies]
          .flatMap((each) => each?.list(direction) ?? [])
          .slice(evaluated[direction]),
      )
      .map(({ ownerId, label, direction }) => ({
        source: sourceOf(ownerId),
        policy: label,
        direction,
        reason,
      }))
  }
}

const sourceOf = (ownerId: string): string => `policies of ${ownerId}`

function groupReason(winner: IpRule | undefined, rules: number, enforced: boolean): string {
  const warns = enforced ? '' : ' The restriction is not enforced, so it only warns.'
  if (winner?.action === 'allow')
    return `The allow rule ${winner.id} contains the address, and no deny rule does.`
  if (winner !== undefined) return `The deny rule ${winner.id} contains the address.${warns}`
  if (rules === 0) return `There are no rules, so no address is allowed.${warns}`
  return `No allow rule contains the address.${warns}`
}

function ruleReason(rule: IpRule, matches: boolean, winner: IpRule | undefined): string {
  if (!matches) return 'It does not contain the address.'
  if (rule === winner)
    return rule.action === 'deny'
      ? 'It contains the address, and a deny rule wins over allow rules of any policy.'
      : 'It contains the address, and no deny rule does.'
  if (rule.action === 'deny') return 'It contains the address, too; one deny rule is enough.'
  return winner?.action === 'deny'
    ? 'It contains the address, but a deny rule of any policy wins over allow rules.'
    : 'It contains the address, too; one allow rule is enough.'
}

function reasonNotReached({ decision, policy }: Verdict, type: RecordType): string {
  if (decision === 'block') return 'Not reached: the address was blocked before.'
  if (decision === 'deny') return `Not reached: ${shown(policy?.label)} denied before.`
  return `Not reached: outbound policies run when the ${ends[type]}.`
}

const ends: Readonly<Record<RecordType, string>> = {
  tcp_connection: 'connection has closed',
  http_request: 'request is complete',
}

/** The value itself if it is short, else the beginning of its JSON. */
function shownValue(value: unknown): unknown {
  const json = JSON.stringify(value)
  if (json === undefined) return null
  return json.length <= explainedValueCharsMax ? value : shown(value, explainedValueCharsMax)
}
