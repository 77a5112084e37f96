import t from 'tap'
import { compilePattern } from '../../../src/ground/expr/regex.js'
import { ExpressionFailure, StepBudget } from '../../../src/ground/expr/run.js'

const texts: readonly { pattern: string; text: string; want: boolean }[] = [
  { pattern: 'b+', text: 'abbc', want: true },
  { pattern: '^b+$', text: 'abbc', want: false },
  { pattern: '', text: '', want: true },
  { pattern: '(?i)ÄB', text: 'xäb', want: true },
  { pattern: '^a.c$', text: 'a\nc', want: false },
  { pattern: '\\d{3}', text: 'ab12', want: false },
]

t.test('A pattern is found anywhere in a text', async (t) => {
  for (const { pattern, text, want } of texts) {
    const compiled = compilePattern(pattern)
    t.equal(compiled.ok && compiled.value(text, new StepBudget()), want, `${pattern} in ${text}`)
  }
})

const refused: readonly { name: string; pattern: string; want: RegExp }[] = [
  { name: 'an open bracket', pattern: '(a', want: /is not a regular expression in RE2 syntax/ },
  {
    name: 'a reference, which takes exponential time',
    pattern: '(a)\\1',
    want: /is not a regular expression/,
  },
  { name: 'a look ahead', pattern: '(?=a)', want: /is not a regular expression/ },
  { name: 'too many characters', pattern: 'a'.repeat(10_000), want: /longer than \d+ characters/ },
  {
    name: 'too many instructions',
    pattern: '(a{1,100}){1,9}',
    want: /compiles to \d+ instructions, more than/,
  },
]

t.test('Patterns that are refused', async (t) => {
  for (const { name, pattern, want } of refused) {
    const compiled = compilePattern(pattern)
    t.match(compiled.ok ? 'accepted' : compiled.problem.msg, want, name)
  }
})

t.test('A match takes steps by the length of the text and the size of the pattern', async (t) => {
  const steps = (pattern: string, chars: number): number => {
    const compiled = compilePattern(pattern)
    if (!compiled.ok) throw new Error(compiled.problem.msg)
    const budget = new StepBudget()
    compiled.value('x'.repeat(chars), budget)
    return budget.spent
  }
  t.equal(steps('a', 0), 1)
  t.equal(steps('a', 100), 401)
  t.equal(steps('ab', 100), 401, 'a small pattern costs as much as a smaller one')
  t.ok(steps('(abc){30}', 100) > 401, 'a large one costs more')
  t.throws(() => steps('a', 1_000_000), ExpressionFailure, 'a text may be too long')
})
