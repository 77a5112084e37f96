import fc from 'fast-check'
import t from 'tap'
import { exprBytesMax } from '../../../src/ground/core/limits.js'
import { checkExpression, compileClosures, compileExpression } from '../../../src/ground/expr/expression.js'
import { expressionFunctions } from '../../../src/ground/expr/functions.js'
import type { ProblemReason } from '../../../src/ground/expr/problem.js'
import { ExpressionFailure, StepBudget } from '../../../src/ground/expr/run.js'
import { defineScope } from '../../../src/ground/expr/scope.js'
import { exprNestingMax, exprTokensMax } from '../../../src/ground/expr/tokens.js'
import { exprStringBytesMax } from '../../../src/ground/expr/values.js'

type Context = Readonly<Record<string, unknown>>

const any = (key: string) => ({ type: 'any' as const, read: (context: Context) => context[key] })
const scope = defineScope<Context>({
  names: { a: any('a'), list: any('list'), text: any('text'), map: { type: 'map', read: (_, key) => key } },
})

const refusals: readonly { name: string; text: unknown; want: ProblemReason }[] = [
  { name: 'no value', text: undefined, want: 'not_text' },
  { name: 'null', text: null, want: 'not_text' },
  { name: 'an object that says it is text', text: { toString: () => 'a' }, want: 'not_text' },
  { name: 'a list of texts', text: ['a'], want: 'not_text' },
  { name: 'a text object', text: Object('a'), want: 'not_text' },
  { name: 'a byte too many', text: `'${'x'.repeat(exprBytesMax - 1)}'`, want: 'too_large' },
  { name: 'few letters of many bytes', text: `'${'€'.repeat(exprBytesMax / 3)}'`, want: 'too_large' },
  { name: '1 MB of names', text: 'a + '.repeat(262_144), want: 'too_large' },
  { name: '1 MB of one quoted text', text: `'${'x'.repeat(1_000_000)}`, want: 'too_large' },
  { name: '100,000 open brackets', text: '('.repeat(100_000), want: 'too_large' },
  { name: '16,000 open brackets', text: '('.repeat(16_000), want: 'too_large' },
  { name: '2,000 pairs of brackets', text: `${'['.repeat(2000)}a${']'.repeat(2000)}`, want: 'too_large' },
  { name: '2,000 objects', text: `${'{k:'.repeat(1000)}a${'}'.repeat(1000)}`, want: 'too_large' },
  { name: '1,000 filters', text: `${'a['.repeat(1000)}0${']'.repeat(1000)}`, want: 'too_large' },
  { name: '500 conditionals', text: `${'a ? '.repeat(500)}1${' : 2'.repeat(500)}`, want: 'too_large' },
  { name: '500 conditionals to the right', text: `${'a ? 1 : '.repeat(500)}2`, want: 'too_large' },
  { name: '500 calls', text: `${'size('.repeat(500)}a${')'.repeat(500)}`, want: 'too_large' },
  { name: 'a token too many', text: `${'!'.repeat(exprTokensMax)}a`, want: 'too_large' },
  { name: 'only closing brackets', text: ')'.repeat(4000), want: 'unclosed_bracket' },
  { name: 'only quotes', text: "'".repeat(4001), want: 'unclosed_bracket' },
  { name: 'only backslashes', text: '\\'.repeat(16_000), want: 'syntax' },
  { name: 'a null byte', text: 'a\0', want: 'syntax' },
  { name: 'half a surrogate pair', text: 'a \ud800', want: 'syntax' },
  { name: 'an invisible space', text: 'a\u200b', want: 'syntax' },
  { name: 'letters that look like others', text: 'а', want: 'unknown_name' },
  { name: 'an emoji', text: '😀', want: 'syntax' },
  { name: 'a backtick', text: '`a`', want: 'syntax' },
  { name: 'a name as long as allowed', text: 'x'.repeat(exprBytesMax), want: 'unknown_name' },
  { name: 'a member of a member of …', text: `x${'.y'.repeat(2000)}`, want: 'unknown_name' },
  { name: 'a function of a long name', text: `${'f'.repeat(16_000)}(1)`, want: 'unknown_function' },
  { name: 'a pattern of repetitions', text: "matches(text, '(x{1000}){1000}')", want: 'bad_literal' },
  { name: 'a pattern of many letters', text: `matches(text, '${'x'.repeat(2000)}')`, want: 'bad_literal' },
  { name: 'a map without a key', text: 'map', want: 'unknown_name' },
  { name: 'a key of a map that is not spelled out', text: 'map[text]', want: 'unknown_name' },
  { name: 'a key of a map that is put together', text: "map['a' + 'b']", want: 'unknown_name' },
  { name: 'a place in a map', text: 'map[0]', want: 'unknown_name' },
  { name: 'a filter of a map', text: 'map[.a]', want: 'unknown_name' },
  { name: 'a member of a text of a map', text: 'map.a.b', want: 'unknown_name' },
  {
    name: 'many patterns',
    text: `matches(text, 'x')${" && matches(text, 'x')".repeat(20)}`,
    want: 'too_large',
  },
  {
    name: 'a pattern of nested groups',
    text: `matches(text, '${'('.repeat(500)}${')'.repeat(500)}')`,
    want: 'bad_literal',
  },
]

t.test('Hostile texts are refused', async (t) => {
  for (const { name, text, want } of refusals) {
    const problem = checkExpression(text, scope)
    t.equal(problem?.reason, want, `${name}: ${problem?.msg.slice(0, 120)}`)
    t.ok((problem?.msg.length ?? 0) < 400, `${name}: the message is short`)
  }
})

/** As long as the limits allow; their value is true. */
const longest: readonly { name: string; text: string; want: unknown }[] = [
  { name: 'a long sum', text: `1${' + 1'.repeat(2047)}`, want: 2048 },
  { name: 'a long sum of names', text: `a${' + a'.repeat(2047)}`, want: 2048 },
  { name: 'a long mixture', text: `a${' + a - a * a'.repeat(682)}`, want: 1 },
  { name: 'a long either-or', text: `${'!a || '.repeat(1364)}a`, want: 1 },
  { name: 'many nots', text: `${'!'.repeat(4095)}a`, want: false },
  { name: 'many nots, one less', text: `${'!'.repeat(4094)}a`, want: true },
  { name: 'many transforms', text: `text${'|lower'.repeat(2047)}`, want: 'text' },
  { name: 'many methods', text: `text${'.lower()'.repeat(1023)}`, want: 'text' },
  { name: 'many members', text: `a${'.x'.repeat(2047)}`, want: undefined },
  { name: 'many keys', text: `list${'[true]'.repeat(1365)}`, want: [1, 2, 3] },
  { name: 'many filters', text: `list${'[.x||true]'.repeat(500)}`, want: [1, 2, 3] },
  { name: 'a long list', text: `a in [${'2, '.repeat(2045)}1]`, want: true },
  { name: 'deep parentheses', text: `${'('.repeat(exprNestingMax)}a${')'.repeat(exprNestingMax)}`, want: 1 },
  {
    name: 'deep conditionals',
    text: `${'a ? '.repeat(exprNestingMax)}1${' : 2'.repeat(exprNestingMax)}`,
    want: 1,
  },
  {
    name: 'many conditionals beside one another',
    text: `[${'a ? 1 : 2, '.repeat(100)}a]`,
    want: Array.from({ length: 101 }, () => 1),
  },
]

t.test('The largest expressions run, with little stack left', async (t) => {
  const context = { a: 1, text: 'text', list: [1, 2, 3] }
  const atDepth = <T>(depth: number, work: () => T): T => (depth === 0 ? work() : atDepth(depth - 1, work))
  for (const { name, text, want } of longest) {
    const outcome = atDepth(500, () => {
      const compiled = compileExpression(text, scope)
      return compiled.ok ? compiled.value.evaluate(context, new StepBudget()) : compiled.problem
    })
    t.strictSame(outcome, want, name)
  }
})

const randomTexts = process.argv.includes('--full') ? 20_000 : 5_000

t.test('Any text yields an expression or a problem', async (t) => {
  const pieces = fc.constantFrom(
    ...'()[]{}.,:?|!-+*/^%<>="\' \\',
    '&&',
    '||',
    'in',
    'a',
    'list',
    'null',
    '1',
    'size',
    '__proto__',
  )
  const nearly = fc.array(pieces, { maxLength: 30 }).map((parts) => parts.join(''))
  const texts = fc.oneof(fc.string({ unit: 'binary', maxLength: 60 }), nearly)
  fc.assert(
    fc.property(texts, (text) => {
      const compiled = compileExpression(text, scope)
      if (!compiled.ok) return compiled.problem.msg.length > 0
      try {
        compiled.value.evaluate({ a: 1, list: [{ a: [] }, null, 'x'] }, new StepBudget())
        return true
      } catch (error) {
        return error instanceof ExpressionFailure
      }
    }),
    { seed: 4, numRuns: randomTexts },
  )
  t.pass(`${randomTexts} texts`)
})

const numbers = Array.from({ length: 2000 }, (_, index) => index)

const runaways: readonly { name: string; text: string; context: Context; want: RegExp }[] = [
  {
    name: 'a filter in a filter in a filter',
    text: 'list[.x || list[.y || list[.z]]]',
    context: { list: numbers.map(() => ({})) },
    want: /more than 100000 steps/,
  },
  {
    name: 'long lists searched for each item',
    text: 'list[.x in a]',
    context: { list: numbers.map(() => ({ x: -1 })), a: numbers },
    want: /steps/,
  },
  {
    name: 'a text that doubles',
    text: 'text + text',
    context: { text: 'x'.repeat(exprStringBytesMax / 2 + 1) },
    want: /longer than 65536/,
  },
  {
    name: 'lists that become text',
    text: "[text, text, text] == ''",
    context: { text: 'x'.repeat(exprStringBytesMax / 2) },
    want: /longer than 65536/,
  },
  {
    name: 'a letter that grows when it is made large',
    text: 'upper(text)',
    context: { text: 'ß'.repeat(exprStringBytesMax / 2 + 1) },
    want: /longer than 65536/,
  },
  {
    name: 'a long text sought in a longer one',
    text: 'contains(text, a)',
    context: { text: 'a'.repeat(60_000), a: `b${'a'.repeat(20_000)}` },
    want: /steps/,
  },
  {
    name: 'the same with in',
    text: 'a in text',
    context: { text: 'a'.repeat(60_000), a: `b${'a'.repeat(20_000)}` },
    want: /steps/,
  },
  {
    name: 'a text of few letters and many bytes',
    text: "text + ''",
    context: { text: '€'.repeat(exprStringBytesMax / 3 + 1) },
    want: /longer than 65536/,
  },
  {
    name: 'long texts compared for each item',
    text: 'list[.x >= 0 && text == a]',
    context: {
      list: numbers.map((x) => ({ x })),
      text: `${'x'.repeat(60_000)}y`,
      a: `${'x'.repeat(60_000)}z`,
    },
    want: /steps/,
  },
  {
    name: 'a long number read for each item',
    text: 'list[.x >= 0 && text * 1 == 3]',
    context: { list: numbers.map((x) => ({ x })), text: '1'.repeat(60_000) },
    want: /steps/,
  },
  {
    name: 'text too long for a pattern',
    text: "matches(text, 'a')",
    context: { text: 'x'.repeat(1025) },
    want: /1024 bytes/,
  },
  {
    name: 'few letters of too many bytes',
    text: "matches(text, 'a')",
    context: { text: '€'.repeat(342) },
    want: /1024 bytes/,
  },
  {
    name: 'large patterns again and again',
    text: "list[.x.matches('(a|b)*a(a|b){100}[^ab]')]",
    context: { list: numbers.map(() => ({ x: 'ab'.repeat(500) })) },
    want: /steps/,
  },
  {
    name: 'an object with a member toString',
    text: "list[0] == 'x'",
    context: { list: [JSON.parse('{"toString": 1}')] },
    want: /toString/,
  },
]

t.test('Costly expressions fail instead of running on', async (t) => {
  for (const { name, text, context, want } of runaways) {
    const compiled = compileExpression(text, scope)
    if (!compiled.ok) {
      t.fail(`${name}: ${compiled.problem.msg}`)
      continue
    }
    t.throws(() => compiled.value.evaluate(context, new StepBudget()), { message: want }, name)
    t.throws(
      () => compiled.value.isTrue(context, new StepBudget()),
      ExpressionFailure,
      `${name}: as a condition`,
    )
  }
})

t.test('All expressions of a record share one budget', async (t) => {
  const compiled = compileExpression('list[.x]', scope)
  if (!compiled.ok) throw new Error(compiled.problem.msg)
  const budget = new StepBudget(5000)
  const context = { list: numbers }
  compiled.value.evaluate(context, budget)
  const { spent } = budget
  t.ok(spent > 2000, `${spent} steps for 2,000 items`)
  t.throws(() => {
    for (let round = 0; round < 3; round++) compiled.value.evaluate(context, budget)
  }, ExpressionFailure)
  budget.reset()
  t.equal(budget.spent, 0)
  t.doesNotThrow(() => compiled.value.evaluate(context, budget), 'the next record has the whole budget')
})

t.test('Members named constructor or __proto__ are never read', async (t) => {
  const hostile = JSON.parse('{"constructor": {"x": 1}, "__proto__": {"x": 2}, "prototype": 3, "x": 4}')
  for (const key of ['constructor', '__proto__', 'prototype']) {
    const compiled = compileExpression('list[text]', scope)
    t.ok(compiled.ok)
    if (compiled.ok)
      t.equal(compiled.value.evaluate({ list: hostile, text: key }, new StepBudget()), undefined, key)
  }
  const made = compileExpression('{x: 1, y: a}', scope)
  t.strictSame(made.ok && made.value.evaluate({ a: hostile.x }, new StepBudget()), { x: 1, y: 4 })
  t.equal(Object.getOwnPropertyDescriptor(Object.prototype, 'x'), undefined, 'Object.prototype is unchanged')
})

/** Passwords that a client may have sent: one begins as a text, and one as a number. */
const secrets = ['hunter2hunter2', '31415926535897932384']
const sent = ['text', 'a', 'double(a)', 'list', 'list[0]', '[text, a]', 'missing']
const operations = ['+', '-', '*', '/', '%', '^', '<', 'in', '==']
const pairsOf = (write: (one: string, other: string) => string): readonly string[] =>
  sent.flatMap((one) => sent.map((other) => write(one, other)))

t.test('A failure quotes nothing that a request has', async (t) => {
  const names = { a: any('a'), list: any('list'), text: any('text'), missing: any('missing') }
  const requests = defineScope<Context>({ names })
  const calls = [...expressionFunctions.values()].flatMap(({ name, parameters }) =>
    parameters.length === 1
      ? sent.map((each) => `${name}(${each})`)
      : pairsOf((one, other) => `${name}(${one}, ${other})`),
  )
  const indexes = pairsOf((one, other) => `${one}[${other}]`)
  const others = operations.flatMap((operator) => pairsOf((one, other) => `${one} ${operator} ${other}`))
  const known = sent.flatMap((each) => [`${each}['k']`, `${each}[.k].k`, `(${each}).k`])
  let failures = 0
  for (const text of [...calls, ...indexes, ...others, ...known])
    for (const secret of secrets)
      for (const compile of [compileExpression, compileClosures]) {
        const compiled = compile(text, requests)
        if (!compiled.ok) continue
        try {
          const list = [{ toString: secret }, secret]
          compiled.value.evaluate({ text: secret, a: secret, list }, new StepBudget())
        } catch (error) {
          failures += 1
          const { message } = error as Error
          t.notMatch(message, new RegExp(`${secret.slice(0, 4)}|3\\.14`), text)
        }
      }
  t.ok(failures > 100, `${failures} failures`)
})
