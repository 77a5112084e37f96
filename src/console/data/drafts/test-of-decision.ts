/** The policy test that wants what is decided now. */
import type { Decision, Explanation } from '../../../shape/decision.js'

interface DecidedTest {
  readonly name: string
  readonly expect: {
    readonly decision: Decision['decision']
    readonly decided_by?: {
      readonly type: Explanation['decided_by']['type']
      readonly name?: string
      readonly cidr?: string
    }
  }
}

/** `client`, `place`: as the name of the test has them. An expectation names what decided without ids, which say nothing to a reader. */
export function testOfDecision(
  { decision, explanation }: Pick<Decision, 'decision' | 'explanation'>,
  client: string,
  place: string,
): DecidedTest {
  const { type = 'none', name = null, cidr = null } = explanation?.decided_by ?? {}
  return {
    name: `${client} at ${place}: ${decision}`.slice(0, 255),
    expect: {
      decision,
      ...(type !== 'none' && {
        decided_by: { type, ...(name !== null && { name }), ...(cidr !== null && { cidr }) },
      }),
    },
  }
}
