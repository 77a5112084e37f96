import t from 'tap'
import { parseExpression } from '../../../src/ground/expr/parse.js'
import { Refusal } from '../../../src/ground/expr/problem.js'
import { exprNestingMax, exprTokensMax } from '../../../src/ground/expr/tokens.js'

/** The reason and the position at which it is refused; undefined if it is not. */
function refusal(text: string): string | undefined {
  try {
    parseExpression(text)
    return undefined
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const { reason, position } = error.problem
    return position === undefined ? reason : `${reason} ${position}`
  }
}

const nested = (depth: number): string => `${'('.repeat(depth)}a${')'.repeat(depth)}`
const chosen = (depth: number): string => `${'a ? a : '.repeat(depth)}a`

const cases: readonly { text: string; want: string | undefined; name?: string }[] = [
  { text: '', want: 'missing_operand' },
  { text: ' ', want: 'missing_operand' },
  { text: '(a', want: 'unclosed_bracket 1' },
  { text: 'a)', want: 'unclosed_bracket 2' },
  { text: '[a}', want: 'unclosed_bracket 3' },
  { text: "a == '", want: 'unclosed_bracket 6' },
  { text: 'a ==', want: 'missing_operand' },
  { text: '== a', want: 'missing_operand 1' },
  { text: 'a && && b', want: 'missing_operand 6' },
  { text: 'f(,a)', want: 'missing_operand 3' },
  { text: '()', want: 'missing_operand 2' },
  { text: 'f()', want: undefined },
  { text: '[]', want: undefined },
  { text: '{}', want: undefined },
  { text: 'a[]', want: 'missing_operand 3' },
  { text: 'a ?: b', want: undefined },
  { text: '[1, -2]', want: 'missing_operand 5' },
  { text: '[1, (-2)]', want: undefined },
  { text: 'a && b || c', want: 'mixed_operators 8' },
  { text: '(a && b) || c', want: undefined },
  { text: '[a && b, c || d]', want: undefined },
  { text: 'a && b ? c || d : e', want: undefined },
  { text: 'a.constructor', want: 'forbidden_name 3' },
  { text: 'toString', want: 'forbidden_name 1' },
  { text: 'a[b](c)', want: 'syntax 5' },
  { text: '.f(a)', want: 'syntax 1' },
  { text: 'a.f(b)', want: undefined },
  { name: 'nested as deep as allowed', text: nested(exprNestingMax), want: undefined },
  { name: 'nested deeper', text: nested(exprNestingMax + 1), want: `too_large ${exprNestingMax + 1}` },
  { name: 'as many conditionals as allowed', text: chosen(exprNestingMax), want: undefined },
  {
    name: 'more conditionals',
    text: chosen(exprNestingMax + 1),
    want: `too_large ${exprNestingMax * 8 + 3}`,
  },
  {
    name: 'conditionals one after the other',
    text: `[${Array(exprNestingMax).fill('a ? b : c').join(', ')}]`,
    want: undefined,
  },
  {
    name: 'conditionals in brackets, one after the other',
    text: Array(exprNestingMax).fill('(a ? b : c)').join(' + '),
    want: undefined,
  },
  { name: 'as many tokens as allowed', text: `!${'!'.repeat(exprTokensMax - 2)}a`, want: undefined },
  { name: 'more tokens', text: `!${'!'.repeat(exprTokensMax - 1)}a`, want: 'too_large' },
]

t.test('Texts that the parser would misread are refused, with their place', async (t) => {
  for (const { text, want, name = text } of cases) t.equal(refusal(text), want, name)
})
