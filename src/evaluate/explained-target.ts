/** The readings of a request's target in an explanation: which were judged, and which one decided. */
import { shown } from '../core/errors.js'
import type { Reading } from '../core/text/target-readings.js'
import type { Explanation } from '../shape/decision.js'
import { ambiguousTarget, isTargetPolicy, type Verdict } from './evaluate.js'
import type { Judgement } from './judgement.js'

/** Of a path; the reply must fit a NATS message. */
const pathCharsMax = 256

const shownReading = ({ path, how }: Reading): Reading => ({ path: path.slice(0, pathCharsMax), how })

/** Nothing if all servers read the path as the request shows it. */
export function explainedTarget({ readings, verdict }: Judgement): Pick<Explanation, 'target'> {
  if (readings === undefined) return {}
  const { reading } = verdict
  return {
    target: {
      readings: readings.all.map(shownReading),
      refused: reading === undefined ? null : shownReading(reading),
      reason: reasonOf(verdict, readings.all.length),
    },
  }
}

function reasonOf({ decision, policy, reading }: Verdict, count: number): string {
  const some = count === 1 ? 'one way' : `${count} ways`
  if (policy !== null && isTargetPolicy(policy))
    return policy.label === ambiguousTarget
      ? `Servers read the path in ${some}, and the edge refuses such requests: "ambiguous_targets".`
      : 'There are more ways to read the path than are judged, so the request is denied.'
  if (reading !== undefined)
    return `Servers read the path in ${some}. As ${shown(reading.path)} (${reading.how}) it is refused.`
  return `Servers read the path in ${some}. ${decision === 'allow' ? 'All are allowed.' : 'The path that is shown is refused.'}`
}
