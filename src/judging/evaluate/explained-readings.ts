/** Explains how a request was read: its target, and names of which it has several values. */

import { withoutSecrets } from '../../delivery/record/secret-values.js'
import type { Choice } from '../../delivery/record/value-choices.js'
import { shown } from '../../ground/core/errors.js'
import type { Reading } from '../../ground/core/text/target-readings.js'
import type { Explanation } from '../../words/shape/decisions/decision.js'
import type { Verdict } from './evaluate.js'
import type { Judgement } from './judgement.js'
import { ambiguousTarget, isReadingPolicy, tooManyValues } from './readings.js'

/** Nothing of what all servers read as the request shows it. */
export const explainedReadings = (judgement: Judgement): Pick<Explanation, 'target' | 'values'> => ({
  ...explainedTarget(judgement),
  ...explainedValues(judgement),
})

// --- the target ---

/** Characters of a reading's path that are shown; the reply must fit a NATS message. */
const pathCharsMax = 256

const shownReading = ({ path, how }: Reading): Reading => ({ path: path.slice(0, pathCharsMax), how })

/** Nothing if all servers read the path as the request shows it. */
function explainedTarget({ readings, verdict }: Judgement): Pick<Explanation, 'target'> {
  const { reading } = verdict
  if (readings === undefined && reading === undefined) return {}
  const all = readings?.all ?? []
  const isListed = reading === undefined || all.some(({ path }) => path === reading.path)
  const judged = isListed ? all : [...all, reading]
  return {
    target: {
      readings: judged.map(shownReading),
      refused: reading === undefined ? null : shownReading(reading),
      reason: reasonOf(verdict, all.length),
    },
  }
}

function reasonOf({ decision, policy, reading }: Verdict, count: number): string {
  const some = count === 1 ? 'one way' : `${count} ways`
  if (policy !== null && isReadingPolicy(policy) && policy.label !== tooManyValues)
    return policy.label === ambiguousTarget
      ? `Servers read the path in ${some}, and the edge refuses such requests: "ambiguous_targets".`
      : 'There are more ways to read the path than are judged, so the request is denied.'
  if (reading !== undefined && count === 0)
    return `Some servers ignore the case of letters. As ${shown(reading.path)} the path is refused.`
  if (reading !== undefined)
    return `Servers read the path in ${some}. As ${shown(reading.path)} (${reading.how}) it is refused.`
  const start = `Servers read the path in ${some}.`
  if (decision === 'allow') return `${start} All are allowed.`
  if (policy?.label === tooManyValues) return `${start} Another reason decides.`
  return `${start} The path that is shown is refused.`
}

// --- values ---

/** Other values that are shown, and characters of each. */
const valuesShownMax = 50
const valueCharsMax = 256

const shownText = (name: string, value: string | undefined): string | undefined =>
  withoutSecrets(name, value) as string | undefined

const shownValue = ({ name, value, how }: Choice) => ({
  name,
  value: shownText(name, value)?.slice(0, valueCharsMax) ?? null,
  how,
})

const isSame = (one: Choice, other: Choice): boolean => one.name === other.name && one.value === other.value

function explainedValues({ otherValues, verdict }: Judgement): Pick<Explanation, 'values'> {
  if (otherValues.length === 0) return {}
  const { values } = verdict
  const listed = [...values, ...otherValues.filter((other) => !values.some((value) => isSame(value, other)))]
  return {
    values: {
      others: listed.slice(0, valuesShownMax).map(shownValue),
      refused: values.map(shownValue),
      reason: reasonOfValues(verdict, otherValues),
    },
  }
}

function reasonOfValues({ decision, policy, values }: Verdict, others: readonly Choice[]): string {
  if (policy !== null && isReadingPolicy(policy) && policy.label === tooManyValues)
    return 'The request has more values than are judged, so it is denied.'
  const names = [...new Set(others.map(({ name }) => name))].join(', ')
  if (values.length > 0) {
    const refused = values
      .map(({ name, value, how }) => `${name} as ${shown(shownText(name, value) ?? null)} (${how})`)
      .join(' and ')
    return `Servers may take other values than the first. With ${refused} the request is refused.`
  }
  return `Servers may take other values of ${names} than the first. ${decision === 'allow' ? 'With all of them it is allowed.' : 'With those that are shown it is refused.'}`
}
