/** Explains a decision: every rule and expression that was evaluated, with its value. */

import { shown } from '../core/errors.js'
import { explainedRulesMax, explainedValueCharsMax } from '../core/limits.js'
import type { EvaluationTrace, IpPolicyGroup } from './evaluate.js'
import { type IpPolicies, ruleMatches } from './ip-policy.js'
import type { TrafficPolicy } from './traffic-policy.js'

const explainedRules = (policies: IpPolicies, policyId: string, address: string) =>
  (policies.ipPolicy(policyId)?.rules ?? []).map((rule) => ({
    ip_policy_id: policyId,
    rule_id: rule.id,
    cidr: rule.cidr,
    action: rule.action,
    matches: ruleMatches(rule, address),
  }))

interface ExplainedGroup extends Omit<IpPolicyGroup, 'policyIds'> {
  readonly rules: ReturnType<typeof explainedRules>
  /** Rules that did not match and are left out, because there are too many to list. */
  readonly rules_left_out: number
}

interface ExplainedExpression {
  readonly expression: string
  /** Null if there is none; long texts are cut. */
  readonly value: unknown
  /** Why there is no value. */
  readonly failure?: string
}

interface ExplainedPolicy {
  readonly policy: string
  readonly direction: string
  applied: boolean
  readonly expressions: ExplainedExpression[]
  readonly actions: readonly string[]
}

/** Collects an explanation while a record is evaluated. */
export class ExplanationTrace implements EvaluationTrace {
  readonly #policySet: IpPolicies
  readonly #address: string
  readonly #groups: ExplainedGroup[] = []
  readonly #policies: ExplainedPolicy[] = []
  #rulesLeft = explainedRulesMax

  constructor(policySet: IpPolicies, address: string) {
    this.#policySet = policySet
    this.#address = address
  }

  get explanation() {
    return { ip_policies: this.#groups, policies: this.#policies }
  }

  ipPolicies({ source, enforced, policyIds, decision }: IpPolicyGroup): void {
    const looked = policyIds.flatMap((id) => explainedRules(this.#policySet, id, this.#address))
    // Matching rules explain the decision; the others follow if there is room.
    const ordered = [...looked.filter(({ matches }) => matches), ...looked.filter(({ matches }) => !matches)]
    const rules = ordered.slice(0, this.#rulesLeft)
    this.#rulesLeft -= rules.length
    this.#groups.push({ source, enforced, decision, rules, rules_left_out: ordered.length - rules.length })
  }

  policy({ label, direction, actions }: TrafficPolicy): void {
    const types = actions.map(({ type }) => type)
    this.#policies.push({ policy: label, direction, applied: false, expressions: [], actions: types })
  }

  expression(text: string, value: unknown): void {
    this.#policies.at(-1)!.expressions.push({ expression: text, value: shownValue(value) })
  }

  failure(text: string, msg: string): void {
    this.#policies.at(-1)!.expressions.push({ expression: text, value: null, failure: msg })
  }

  applied(): void {
    this.#policies.at(-1)!.applied = true
  }
}

/** The value itself if it is short, else the beginning of its JSON. */
function shownValue(value: unknown): unknown {
  const json = JSON.stringify(value)
  if (json === undefined) return null
  return json.length <= explainedValueCharsMax ? value : shown(value, explainedValueCharsMax)
}
