import t from 'tap'
import { operationOn, operations } from '../../../src/ground/expr/operators.js'
import { ExpressionFailure, StepBudget } from '../../../src/ground/expr/run.js'
import type { BinaryOperator } from '../../../src/ground/expr/tree.js'
import { charsPerStep } from '../../../src/ground/expr/values.js'

function outcome(work: (budget: StepBudget) => unknown): {
  value?: unknown
  failure?: string
  steps: number
} {
  const budget = new StepBudget()
  try {
    return { value: work(budget), steps: budget.spent }
  } catch (error) {
    if (!(error instanceof ExpressionFailure)) throw error
    return { failure: error.message, steps: budget.spent }
  }
}

const long = '7'.repeat(charsPerStep)
const values: readonly unknown[] = [
  ...[undefined, null, true, false, 0, 1, -1.5, Number.NaN, '', '1', 'a', ' 1 ', long],
  ...[[], [1], [Number.NaN], ['a', 1, 'b'], [[1]], {}, { toString: 1 }],
]

t.test('A constant right side gives the same values and failures, and takes no more steps', async (t) => {
  let compared = 0
  for (const operator of Object.keys(operations) as BinaryOperator[])
    for (const right of values) {
      const onKnown = operationOn(operator, right)
      if (onKnown === undefined) continue
      for (const left of values) {
        const general = outcome((budget) => operations[operator](left, right, budget))
        const known = outcome((budget) => onKnown<unknown>((value) => value)(left, budget))
        compared += 1
        const { steps, ...result } = known
        const { steps: most, ...want } = general
        if (steps > most) t.fail(`${JSON.stringify([left, operator, right])}: ${steps} of ${most} steps`)
        t.strictSame(result, want, JSON.stringify([left, operator, right]))
      }
    }
  t.ok(compared > 500, `${compared} pairs`)
})

const cases: readonly [
  left: unknown,
  operator: BinaryOperator,
  right: unknown,
  want: unknown,
  steps?: number,
][] = [
  [1, '==', '1', true],
  [null, '==', undefined, true],
  [[1], '==', 1, true, 3],
  [[1], '==', [1], false],
  [long, '==', 'a', false, 1],
  ['b', '>', 'a', true],
  ['10', '<', '9', true],
  ['10', '<', 9, false],
  ['a', 'in', 'cab', true, 1],
  ['a', 'in', ['a'], true, 1],
  [1, 'in', ['1'], false, 1],
  ['a', 'in', 5, false],
  [1, '+', 2, 3],
  ['1', '+', 2, '12', 1],
  [7, '//', 2, 3],
  [-7, '//', 2, -4],
  [7, '%', 4, 3],
  [2, '^', 10, 1024],
  ['6', '/', '3', 2],
]

t.test('Operators convert as JavaScript does', async (t) => {
  for (const [left, operator, right, want, steps = 0] of cases)
    t.strictSame(
      outcome((budget) => operations[operator](left, right, budget)),
      { value: want, steps },
      JSON.stringify([left, operator, right]),
    )
})
