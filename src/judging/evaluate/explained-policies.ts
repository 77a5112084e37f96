/** Traffic policies in an explanation: what was evaluated, with the values of expressions, and why the others were not. */

import { withoutSecrets } from '../../delivery/record/secret-values.js'
import type { RecordType } from '../../delivery/record/traffic-record.js'
import { shown } from '../../ground/core/errors.js'
import type { ShadowDecision } from '../../words/event/define.js'
import type { ExplainedPolicy, Explanation } from '../../words/shape/decisions/decision.js'
import type { Endpoint } from './edges.js'
import type { EvaluationTrace, IpPolicyGroup, Verdict } from './evaluate.js'
import type { Seen } from './policy-expressions.js'
import type { TrafficPolicy } from './traffic-policy.js'

/** A value in the explanation of a decision. */
const explainedValueCharsMax = 256
/** All names and values of expressions in one explanation, as JSON. */
const explainedSeenCharsMax = 128 * 1024

/** Collects the traffic policies that are evaluated. */
export class PoliciesTrace implements EvaluationTrace {
  readonly evaluated = new Map<TrafficPolicy, ExplainedPolicy>()
  #last: ExplainedPolicy | undefined
  #seenCharsLeft = explainedSeenCharsMax

  ipPolicies(_group: IpPolicyGroup): void {}

  policy(policy: TrafficPolicy): void {
    const { ownerId, label, direction, enforced, actions } = policy
    this.#last = {
      source: sourceOf(ownerId),
      policy: label,
      direction,
      enforced,
      applied: false,
      reason: '',
      expressions: [],
      actions: actions.map(({ type }) => type),
    }
    this.evaluated.set(policy, this.#last)
  }

  expression(text: string, value: unknown, seen: () => Seen): void {
    const policy = this.#last!
    const { names, hasSecrets, ...looked } = this.#shownSeen(seen())
    // The value of an expression that is no condition may be a secret that it read.
    const isPlain = typeof value === 'boolean' || !hasSecrets
    policy.expressions.push({ expression: text, value: isPlain ? shownValue(value) : '…', names, ...looked })
    if (!value) policy.reason = `${notApplied(policy)} ${shown(text)} is not true.`
  }

  failure(text: string, msg: string, seen: () => Seen): void {
    const policy = this.#last!
    const { hasSecrets, ...looked } = this.#shownSeen(seen())
    const failure = hasSecrets ? 'It failed by a value that is not shown.' : msg
    policy.expressions.push({ expression: text, value: null, failure, ...looked })
    policy.reason = `${notApplied(policy)} ${shown(text)} has no result.`
  }

  /** The reply must fit a NATS message: names that come when there is no room are left out, and counted. */
  #shownSeen({ decisive, names }: Seen) {
    const shownNames: ExplainedPolicy['expressions'][number]['names'] = []
    let hasSecrets = false
    for (const { name, value } of names) {
      const plain = withoutSecrets(name, value)
      hasSecrets ||= plain !== value
      const entry = { name, value: shownValue(plain ?? null) }
      this.#seenCharsLeft -= JSON.stringify(entry).length
      if (this.#seenCharsLeft >= 0) shownNames.push(entry)
    }
    return { decisive, names: shownNames, names_left_out: names.length - shownNames.length, hasSecrets }
  }

  applied(): void {
    const policy = this.#last!
    const why = policy.expressions.length === 0 ? 'It has no expressions' : 'All its expressions are true'
    const isDenial = policy.actions.includes('deny')
    policy.applied = policy.enforced
    policy.reason = policy.enforced
      ? `${why}, so ${isDenial ? 'it denies' : 'it applies; it only logs'}.`
      : `It is not enforced. ${why}, so it would ${isDenial ? 'deny' : 'log'}.`
  }
}

const notApplied = ({ enforced }: ExplainedPolicy): string =>
  enforced ? 'It does not apply:' : 'It is not enforced, and would not apply:'

/** The evaluation for the decision and its shadow. */
interface Evaluated {
  readonly endpoint: Endpoint
  readonly verdict: Verdict
  readonly type: RecordType
  readonly live: ReadonlyMap<TrafficPolicy, ExplainedPolicy>
  readonly shadow: ShadowDecision | null
  /** Policies that are not enforced are evaluated for the shadow alone. */
  readonly inShadow: ReadonlyMap<TrafficPolicy, ExplainedPolicy>
}

/** All traffic policies of an endpoint in their order: those that were evaluated, and the others. */
export function explainedPolicies({
  endpoint: { policies, route },
  verdict,
  type,
  live,
  shadow,
  inShadow,
}: Evaluated): Pick<Explanation, 'policies' | 'policies_not_reached'> {
  const all = (['inbound', 'outbound'] as const).flatMap((direction) =>
    [policies, route?.policies].flatMap((each) => (each?.shadow ?? each)?.list(direction) ?? []),
  )
  const found = (policy: TrafficPolicy): ExplainedPolicy | undefined =>
    (policy.enforced ? live : inShadow).get(policy)
  const reason = reasonNotReached(verdict, type)
  return {
    policies: all.flatMap((policy) => found(policy) ?? []),
    policies_not_reached: all
      .filter((policy) => found(policy) === undefined)
      .map((policy) => ({
        source: sourceOf(policy.ownerId),
        policy: policy.label,
        direction: policy.direction,
        enforced: policy.enforced,
        reason: policy.enforced ? reason : reasonNotInShadow(policy, shadow),
      })),
  }
}

const sourceOf = (ownerId: string): string => `policies of ${ownerId}`

function reasonNotReached({ decision, policy }: Verdict, type: RecordType): string {
  if (decision === 'block') return 'Not reached: the address was blocked before.'
  if (decision === 'deny') return `Not reached: ${shown(policy?.label)} denied before.`
  return `Not reached: outbound policies run when the ${ends[type]}.`
}

const ends: Readonly<Record<RecordType, string>> = {
  tcp_connection: 'connection has closed',
  http_request: 'request is complete',
}

function reasonNotInShadow({ direction }: TrafficPolicy, shadow: ShadowDecision | null): string {
  if (direction === 'outbound')
    return 'Not reached: it is not enforced, and outbound policies decide nothing.'
  if (shadow?.decision === 'block')
    return 'Not reached: it is not enforced, and the address would be blocked before.'
  return `Not reached: it is not enforced, and ${shown(shadow?.decidedBy.name)} would deny before.`
}

/** The value itself if it is short, else the beginning of its JSON. */
function shownValue(value: unknown): unknown {
  const json = JSON.stringify(value)
  if (json === undefined) return null
  return json.length <= explainedValueCharsMax ? value : shown(value, explainedValueCharsMax)
}
