/** The policy test that wants what is decided now. */
import type { Decision, Explanation } from '../../../../words/shape/decisions/decision.js'

interface Expected {
  readonly decision: Decision['decision']
  readonly decided_by?: {
    readonly type: Exclude<Explanation['decided_by']['type'], 'unserved'>
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
  const live = expected(decision, decided_by)
  return {
    name: `${client} at ${place}: ${live.decision}`.slice(0, 255),
    expect: {
      ...live,
      ...(shadow !== null && { shadow: expected(shadow.decision, shadow.decided_by) }),
    },
  }
}

/** Names what decided without ids, which say nothing to a reader. */
function expected(decision: Decision['decision'], decidedBy?: Explanation['decided_by']): Expected {
  const { type = 'none', name = null, cidr = null } = decidedBy ?? {}
  if (type === 'none') return { decision }
  // A test says what policies decide, and none of them denied.
  if (type === 'unserved') return { decision: 'allow' }
  const part = { type, ...(name !== null && { name }), ...(cidr !== null && { cidr }) }
  return { decision, decided_by: part }
}
