/** Policy tests that were run, by themselves or for a write that was refused because of them. */

import { decisionInWords } from '../../../../ground/core/text/part-in-words.js'
import { ApiError } from '../../../../words/client/api-error.js'
import type { PolicyTestRuns } from '../../../../words/shape/policy-test-run.js'

export type TestRun = PolicyTestRuns['tests'][number]

/** The name of a test in a list. */
export const nameOfTest = ({ description, policy_test_id }: TestRun): string =>
  description || policy_test_id || 'a test that is not stored'

export const expectationOf = ({ expect }: Pick<TestRun, 'expect'>): string => decisionInWords(expect)

export const outcomeOf = (run: TestRun): string =>
  run.decision === null ? `no decision: ${run.problem ?? 'unknown'}` : decisionInWords(run)

/** How many the error names at most; others are counted by its message. */
const namedMax = 10

/** The tests because of which a write was refused; none for any other error. */
export function failedTestsIn(error: unknown): readonly TestRun[] {
  if (!(error instanceof ApiError) || error.error_code !== 'ERR_POLICY_TEST') return []
  const { details } = error
  const runs: TestRun[] = []
  for (let index = 0; index < namedMax; index++) {
    const textOf = (name: string): string | null => details[`tests[${index}].${name}`] ?? null
    const jsonOf = <Value>(name: string): Value | null => parsed<Value>(textOf(name))
    const expect = jsonOf<TestRun['expect']>('expected')
    if (expect === null) break
    runs.push({
      policy_test_id: textOf('policy_test_id'),
      description: textOf('description'),
      passed: false,
      expect,
      decision: textOf('decision') as TestRun['decision'],
      decided_by: jsonOf('decided_by'),
      shadow: jsonOf('shadow'),
      problem: textOf('problem'),
      explanation: jsonOf('explanation'),
    })
  }
  return runs
}

/** Details are texts; those of objects are JSON. */
function parsed<Value>(text: string | null): Value | null {
  try {
    return text === null ? null : JSON.parse(text)
  } catch {
    return null
  }
}
