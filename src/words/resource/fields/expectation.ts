/** The expectation of a policy test. Without schemas: browsers read it, too. */

type DecisionWord = 'allow' | 'block' | 'deny'

/** Members that are missing or null may be anything. */
interface ExpectedPart {
  readonly type?: 'restriction' | 'ip_restriction' | 'traffic_policy' | 'none' | null
  readonly id?: string | null
  readonly name?: string | null
  readonly ip_policy_id?: string | null
  readonly rule_id?: string | null
  readonly cidr?: string | null
}

export interface ExpectedDecision {
  readonly decision: DecisionWord
  readonly decided_by?: ExpectedPart | null
}

export interface Expectation extends ExpectedDecision {
  /** The decision if everything that is not enforced were. */
  readonly shadow?: ExpectedDecision | null
}

/** Without what was sent as null, which means anything. */
export const completeExpectation = ({ shadow, ...live }: Expectation): Expectation => ({
  ...completeDecision(live),
  ...(shadow ? { shadow: completeDecision(shadow) } : {}),
})

function completeDecision({ decision, decided_by }: ExpectedDecision): ExpectedDecision {
  const named = Object.entries(decided_by ?? {}).filter(([, value]) => value !== null && value !== undefined)
  return { decision, ...(named.length === 0 ? {} : { decided_by: Object.fromEntries(named) }) }
}
