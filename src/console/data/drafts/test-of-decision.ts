/** The policy test that wants what is decided now. */
import type { Decision, Explanation } from '../../../shape/decision.js'

interface Expected {
  readonly decision: Decision['decision']
  readonly decided_by?: {
    readonly type: Explanation['decided_by']['type']
    readonly name?: string
    readonly cidr?: string
  }
}

interface DecidedTest {
  readonly name: string
  /** `shadow`: what would be decided if everything were enforced, unless everything is. */
  readonly expect: Expected & { readonly shadow?: Expected }
}

/** `client`, `place`: as the name of the test has them. */
export function testOfDecision(
  { decision, explanation }: Pick<Decision, 'decision' | 'explanation'>,
  client: string,
  place: string,
): DecidedTest {
  const { decided_by, shadow = null } = explanation ?? {}
  return {
    name: `${client} at ${place}: ${decision}`.slice(0, 255),
    expect: {
      ...expected(decision, decided_by),
      ...(shadow !== null && { shadow: expected(shadow.decision, shadow.decided_by) }),
    },
  }
}

/** Names what decided without ids, which say nothing to a reader. */
function expected(decision: Decision['decision'], decidedBy?: Explanation['decided_by']): Expected {
  const { type = 'none', name = null, cidr = null } = decidedBy ?? {}
  if (type === 'none') return { decision }
  const part = { type, ...(name !== null && { name }), ...(cidr !== null && { cidr }) }
  return { decision, decided_by: part }
}
