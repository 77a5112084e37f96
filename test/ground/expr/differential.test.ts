import t from 'tap'
import { compileExpression } from '../../../src/ground/expr/expression.js'
import { ExpressionFailure, StepBudget } from '../../../src/ground/expr/run.js'
import { defineScope } from '../../../src/ground/expr/scope.js'
import { compareWithReference } from './compare.js'
import { compileReference } from './reference.js'

/** `--full` compares more. */
const pairsMin = process.argv.includes('--full') ? 60_000 : 5_000

t.test('Random expressions have the value that jexl gives them', async (t) => {
  const { differences, pairs, equal, bothFailed, bothRefused, stricter, looser } = compareWithReference(
    pairsMin,
    20_261_120,
  )
  t.same(differences, [], 'no differences')
  t.ok(
    pairs >= pairsMin && equal > pairsMin / 2,
    `${pairs} pairs, ${equal} with equal values, ${bothFailed} without`,
  )
  t.ok(bothFailed > 100, 'failures are compared, too')
  t.ok(bothRefused > 100, `${bothRefused} texts that neither accepts`)
  t.comment('Refused when saved, where jexl fails later or never', stricter)
  t.comment('Accepted, where jexl asks for parentheses', looser)
  const known = [
    ...['unclosed_bracket', 'missing_operand', 'mixed_operators', 'forbidden_name', 'unknown_name'],
    ...['unknown_function', 'wrong_arguments', 'bad_literal', 'syntax'],
  ]
  t.same(
    Object.keys(stricter).filter((reason) => !known.includes(reason)),
    [],
    'every refusal is of a known kind',
  )
  t.ok((stricter.unknown_name ?? 0) > 0 && (stricter.wrong_arguments ?? 0) > 0, 'refusals do occur')
})

type Context = Readonly<Record<'a' | 'b', unknown>>

const scope = defineScope<Context>({
  names: { a: { type: 'any', read: ({ a }) => a }, b: { type: 'any', read: ({ b }) => b } },
})

/** Long enough to be looked up together. */
const equalityRuns = [
  "a == 'x' || a == 'y' || a == '1' || a == ''",
  "a != 'x' && a != 'y' && a != '1' && a != ''",
  "a == 1 || b == 'x' || a == 0 || b == 'y' || a == 2 || b == '' || a == 3 || b == '1'",
  "b || a == 1 || a == 0 || a == 2 || a == 3 || b == 'x'",
  "a == 'x' || a == 'y' || a == 'z' || a == 1 || b",
  "(a != 1 && a != 0 && a != 2 && a != 3 && b) == 'x'",
]

const oddValues = [undefined, null, true, false, 0, -0, 1, 3, Number.NaN, '', 'x', '1', ' 1', ['x'], [], {}]

t.test('Runs of equality tests have the value that jexl gives them, whatever is compared', async (t) => {
  for (const text of equalityRuns) {
    const compiled = compileExpression(text, scope)
    if (!compiled.ok) throw new Error(compiled.problem.msg)
    const reference = compileReference(text)
    for (const a of oddValues) {
      for (const b of oddValues) {
        const got = compiled.value.evaluate({ a, b }, new StepBudget())
        if (!Object.is(got, reference.evalSync({ a, b })))
          t.fail(`${text} on ${JSON.stringify({ a, b })}: ${got}`)
      }
    }
  }
  t.pass(`${equalityRuns.length} runs on ${oddValues.length ** 2} pairs`)
})

t.test('A run of equality tests fails where its first costly test does', async (t) => {
  const text = equalityRuns[2]!
  const compiled = compileExpression(text, scope)
  if (!compiled.ok) throw new Error(compiled.problem.msg)
  const { evaluate } = compiled.value
  const long = '9'.repeat(600)
  t.throws(() => evaluate({ a: long, b: 'x' }, new StepBudget(1)), ExpressionFailure)
  t.equal(evaluate({ a: long, b: 'x' }, new StepBudget(2)), true)
  const unprintable = JSON.parse('{"toString": 1}')
  t.throws(() => evaluate({ a: 3, b: unprintable }, new StepBudget()), ExpressionFailure, 'in their order')
  t.equal(evaluate({ a: 1, b: unprintable }, new StepBudget()), true, 'the first decides')
})
