/** Which part of an expression settled whether it is true. */
import fc from 'fast-check'
import t from 'tap'
import { decisivePart } from '../../../src/ground/expr/decisive.js'
import { compileClosures } from '../../../src/ground/expr/expression.js'
import { ExpressionFailure, StepBudget } from '../../../src/ground/expr/run.js'
import { defineScope } from '../../../src/ground/expr/scope.js'

type Values = Readonly<Record<'a' | 'b' | 'c' | 'd', unknown>>
const name = (key: keyof Values) => ({ type: 'any', read: (values: Values) => values[key] }) as const
const scope = defineScope<Values>({ names: { a: name('a'), b: name('b'), c: name('c'), d: name('d') } })

function truthIn(text: string, values: Values): boolean | undefined {
  const compiled = compileClosures(text, scope)
  if (!compiled.ok) throw new Error(`${text}: ${compiled.problem.msg}`)
  try {
    return compiled.value.isTrue(values, new StepBudget())
  } catch (error) {
    if (error instanceof ExpressionFailure) return undefined
    throw error
  }
}

const partOf = (text: string, values: Partial<Values>): string =>
  decisivePart(text, (part) => truthIn(part, { a: false, b: false, c: false, d: false, ...values }))

t.test('the operand that settled it', async (t) => {
  const cases: [text: string, values: Partial<Values>, want: string][] = [
    ['a', { a: true }, 'a'],
    ['a && b', { a: true, b: true }, 'a && b'],
    ['a && b && c', { a: true, c: true }, 'b'],
    ['a || b', {}, 'a || b'],
    ['(a && b) || c', { c: true }, 'c'],
    ['(a && b) || c', { a: true, b: true }, 'a && b'],
    ['((a && (b || c)))', { a: true }, 'b || c'],
    ['(a || b) && (c || d)', { a: true, d: true }, '(a || b) && (c || d)'],
    ['(a || b) && (c || d)', { a: true }, 'c || d'],
    ['a || b ? c : d', { a: true }, 'a || b ? c : d'],
    ['c || (a ? b : d)', { a: true, b: true }, 'a ? b : d'],
    ['a == "x || y" || b', { a: 'x || y' }, 'a == "x || y"'],
    ['!(a || b)', {}, '!(a || b)'],
    ['a in [1, 2] || b', { b: true }, 'b'],
    ['int(a) == 1 || b', { a: 'x', b: true }, 'int(a) == 1 || b'],
    ['b - - 1 == 1 || a', { a: true, b: 5 }, 'a'],
  ]
  for (const [text, values, want] of cases)
    t.equal(partOf(text, values), want, `${text} ${JSON.stringify(values)}`)
})

t.test('the part alone is as true as the whole', async () => {
  const { tree } = fc.letrec<{ tree: string }>((tie) => ({
    tree: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.constantFrom('a', 'b', '!c', 'd == 1', 'a != b', "'x && y' == c", 'a in [1, true]'),
      fc
        .tuple(fc.constantFrom(' && ', '||', ' || '), fc.array(tie('tree'), { minLength: 2, maxLength: 3 }))
        .map(([operator, parts]) => parts.map((part) => `(${part})`).join(operator)),
      fc
        .tuple(tie('tree'), tie('tree'), tie('tree'))
        .map(([test, one, other]) => `(${test}) ? (${one}) : (${other})`),
      tie('tree').map((part) => `!(${part})`),
    ),
  }))
  const value = fc.constantFrom<unknown>(true, false, 1, 0, '', 'x && y', null)
  const values = fc.record({ a: value, b: value, c: value, d: value })
  fc.assert(
    fc.property(tree, values, (text, given) => {
      // Deeper ones are no expressions.
      if (!compileClosures(text, scope).ok) return true
      const part = decisivePart(text, (each) => truthIn(each, given))
      return text.includes(part) && truthIn(part, given) === truthIn(text, given)
    }),
  )
})
