import t from 'tap'
import { ExpressionFailure, StepBudget } from '../../../src/ground/expr/run.js'
import * as values from '../../../src/ground/expr/values.js'

const { charsPerStep, exprStringBytesMax } = values
const text = (chars: number): string => 'x'.repeat(chars)

/** The value, or the message of the failure, and the steps it took. */
function outcome(work: (budget: StepBudget) => unknown): readonly [value: unknown, steps: number] {
  const budget = new StepBudget()
  try {
    return [work(budget), budget.spent]
  } catch (error) {
    if (!(error instanceof ExpressionFailure)) throw error
    return [error.message, budget.spent]
  }
}

const primitives: readonly { name: string; value: unknown; want: unknown; steps: number }[] = [
  { name: 'a number', value: 5, want: 5, steps: 0 },
  { name: 'no value', value: undefined, want: undefined, steps: 0 },
  { name: 'a short text', value: 'abc', want: 'abc', steps: 0 },
  {
    name: 'the shortest text that takes a step',
    value: text(charsPerStep),
    want: text(charsPerStep),
    steps: 1,
  },
  { name: 'an empty list', value: [], want: '', steps: 2 },
  { name: 'a list', value: [1, 'a', null, undefined, true], want: '1,a,,,true', steps: 7 },
  { name: 'lists in a list', value: [[1, 2], [3]], want: '1,2,3', steps: 11 },
  { name: 'an object', value: {}, want: '[object Object]', steps: 0 },
  {
    name: 'an object with a member toString',
    value: { toString: 1 },
    want: "An object with a member toString can't be converted to text.",
    steps: 0,
  },
  {
    name: 'a list that is too long as text',
    value: [text(exprStringBytesMax), 'a', 'b'],
    want: `A text would be longer than ${exprStringBytesMax} bytes.`,
    steps: 4 + exprStringBytesMax / charsPerStep,
  },
]

t.test('Objects become text, and texts take steps', async (t) => {
  for (const { name, value, want, steps } of primitives)
    t.strictSame(
      outcome((budget) => values.primitiveOf(value, budget)),
      [want, steps],
      name,
    )
})

t.test('A text has at most so many bytes, whatever its characters', async (t) => {
  const tooLong = `A text would be longer than ${exprStringBytesMax} bytes.`
  for (const [name, given, isTooLong] of [
    ['one byte each', text(exprStringBytesMax), false],
    ['one byte more', text(exprStringBytesMax + 1), true],
    ['two bytes each', 'é'.repeat(exprStringBytesMax / 2), false],
    ['two bytes each, one more', 'é'.repeat(exprStringBytesMax / 2 + 1), true],
    ['four bytes in two units', '😀'.repeat(exprStringBytesMax / 4), false],
  ] as const) {
    const [value] = outcome((budget) => values.bounded(given, budget))
    t.equal(value, isTooLong ? tooLong : given, name)
  }
})

t.test('Searches and lookups take steps for their worst case', async (t) => {
  for (const [name, work, steps] of [
    ['two short texts', (budget) => values.paySearch('abc', 'b', budget), 1],
    ['the product of both lengths', (budget) => values.paySearch(text(2_000), text(100), budget), 196],
    ['a lookup in a short list', (budget) => values.isAmong([1, 2], 2, budget), 1],
    ['a lookup in a long list', (budget) => values.isAmong(Array(160).fill(0), 0, budget), 11],
  ] as readonly [string, (budget: StepBudget) => unknown, number][])
    t.equal(outcome(work)[1], steps, name)
})

t.test('Text for functions', async (t) => {
  const notText = "A list or an object can't be used as text."
  for (const [value, want] of [
    ['a', 'a'],
    [5, '5'],
    [true, 'true'],
    [null, undefined],
    [undefined, undefined],
    [[], notText],
    [{}, notText],
  ] as const)
    t.strictSame(outcome(() => values.textOf(value))[0], want, JSON.stringify(value))
})

t.test('A budget fails at the first step that is too many, and a record begins with all', async (t) => {
  const budget = new StepBudget(10)
  budget.take(10)
  t.equal(budget.spent, 10)
  t.throws(() => budget.take(1), new ExpressionFailure('The record needs more than 10 steps.'))
  budget.reset()
  t.equal(budget.spent, 0)
})
