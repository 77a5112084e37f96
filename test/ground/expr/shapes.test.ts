import { setImmediate } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import t from 'tap'
import {
  compileClosures,
  compileExpression,
  compileToInstruction,
} from '../../../src/ground/expr/expression.js'
import { StepBudget } from '../../../src/ground/expr/run.js'
import { defineScope } from '../../../src/ground/expr/scope.js'
import { compileAmongOthers } from './instruction.js'

const isFull = process.argv.includes('--full')

type Context = Readonly<Record<string, unknown>>

const any = (key: string) => ({ type: 'any' as const, read: (context: Context) => context[key] })
const scope = defineScope<Context>({ names: { a: any('a'), b: any('b'), list: any('list') } })

/** The value as a function, as an instruction and as closures, with the steps it takes; a failure as its message. */
function outcomes(text: string, context: Context): unknown[] {
  return [compileExpression, compileAmongOthers, compileClosures].map((compile) => {
    const compiled = compile(text, scope)
    if (!compiled.ok) return compiled.problem
    const budget = new StepBudget()
    try {
      return { value: compiled.value.evaluate(context, budget), spent: budget.spent }
    } catch (error) {
      return { failure: String(error), spent: budget.spent }
    }
  })
}

/** Calls `work`; the texts that were made code. */
function codeMadeBy(work: () => void): string[] {
  const texts: string[] = []
  const original = globalThis.Function
  globalThis.Function = new Proxy(original, {
    construct(target, args: string[]) {
      texts.push(...args)
      return Reflect.construct(target, args)
    },
  })
  try {
    work()
  } finally {
    globalThis.Function = original
  }
  return texts
}

const quoted = (text: string): string => `'${text.replace(/[\\']/g, '\\$&')}'`

/** Everywhere a text may stand. */
const places: readonly ((literal: string) => string)[] = [
  (x) => `a == ${x} || b != ${x}`,
  (x) => `a in [${x}] || a in [${x}, 'p'] || a in ['q', 'r', 's', ${x}]`,
  (x) => `a == ${x} || a == 'p' || a == 'q' || a == 'r' || b == 1`,
  (x) => `list[.k == ${x}].v == ${x}`,
  (x) => `b[${x}]`,
  (x) => `a ? b[${x}] : ${x}`,
  (x) => `startsWith(a, ${x}) || a.contains(${x}) || a|endsWith(${x})`,
  (x) => `a + ${x}`,
  (x) => `[a, {k: ${x}}, ${x}]`,
  (x) => `${x} == a && ${x} in b`,
]

const hostile = [
  ...[
    "'",
    '"',
    '`',
    '\\',
    "\\'",
    "');process.exit(1);('",
    `\${process.exit(1)}`,
    '*/ process.exit(1) /*',
    '//',
  ],
  ...['\u2028', '\u2029', '\n', '\0', '\ud800', '</script>', 'c0', 'k0', 'context', 'helpers', 'arguments'],
  ...['__proto__', 'constructor', 'prototype', 'toString', 'length', '0', '', 'k', 'v', 'x'.repeat(300)],
]

const contextWith = (text: string): Context => ({
  a: text,
  b: JSON.parse(`{${JSON.stringify(text)}: 1, "k": 2}`),
  list: [{ k: text, v: text }, { k: 'k', v: 'v' }, 7],
})

t.test('Whatever stands in a literal, a function does what closures do', async (t) => {
  let compared = 0
  const check = (place: (literal: string) => string, text: string) => {
    const expression = place(quoted(text))
    for (const context of [contextWith(text), contextWith('p'), { a: 1, list: [[]] }, {}]) {
      const [asFunction, asInstruction, asClosures] = outcomes(expression, context)
      compared++
      if (!isDeepStrictEqual([asFunction, asInstruction], [asClosures, asClosures]))
        t.fail(JSON.stringify({ expression, context, asFunction, asInstruction, asClosures }))
    }
  }
  for (const place of places) for (const text of hostile) check(place, text)
  fc.assert(fc.property(fc.constantFrom(...places), fc.string({ unit: 'binary', maxLength: 40 }), check), {
    ...(isFull ? {} : { seed: 5 }),
    numRuns: isFull ? 5_000 : 250,
  })
  t.ok(compared > (isFull ? 20_000 : 2_000), `${compared} values`)
})

t.test('Nothing from an expression becomes code', async (t) => {
  const texts = codeMadeBy(() => {
    for (const compile of [compileExpression, compileAmongOthers]) {
      for (const place of places) compile(place(quoted('xyzzy')), scope)
      compile('a.xyzzy.b == list[.xyzzy].xyzzy && b == 4711', scope)
    }
  })
  t.ok(texts.length > 5, 'code is made')
  t.notMatch(texts.join('\n'), /xyzzy|4711/, 'without names of members or literals')
  const again = codeMadeBy(() => {
    for (const compile of [compileExpression, compileAmongOthers])
      for (const place of [places[0]!, places[2]!, places[6]!]) compile(place(quoted('again')), scope)
  })
  t.same(again, [], 'expressions that differ in literals share a function')
})

t.test('Two expressions of one shape keep their own literals', async (t) => {
  const [one, other] = ["a == 'x' && b > 1", "a == 'y' && b > 2"].map((text) =>
    compileExpression(text, scope),
  )
  if (!one?.ok || !other?.ok) throw new Error('They are valid.')
  const isTrue = (a: string, b: number) =>
    [one, other].map(({ value }) => value.isTrue({ a, b }, new StepBudget()))
  t.same(
    [isTrue('x', 2), isTrue('y', 3), isTrue('y', 2)],
    [
      [true, false],
      [false, true],
      [false, false],
    ],
  )
})

t.test('Where no code may be made, expressions are closures', async (t) => {
  const original = globalThis.Function
  globalThis.Function = class {
    constructor() {
      throw new EvalError('Code generation from strings disallowed for this context')
    }
  } as unknown as FunctionConstructor
  try {
    const outcome = { value: true, spent: 0 }
    t.same(outcomes("a == 'x' && !!b && a != 'only here'", { a: 'x', b: 1 }), [outcome, outcome, outcome])
  } finally {
    globalThis.Function = original
  }
})

const shapeNo = (n: number): string => `${n % 2 ? '!' : ''}a.m${n} == 1 || b.n${n} < ${n}`

t.test('Expressions of ever more shapes are functions, and one in use is made once', async (t) => {
  const inUse = "b.inUse == 'x' && a.inUse > 1"
  const first = compileExpression(inUse, scope)
  if (!first.ok) throw new Error('It is valid.')
  for (let n = 0; n < 1400; n++) {
    const text = shapeNo(n)
    const context = { a: { [`m${n}`]: n % 3 }, b: { [`n${n}`]: n - 1 } }
    let [asFunction, asInstruction, asClosures]: unknown[] = []
    const made = codeMadeBy(() => {
      ;[asFunction, asInstruction, asClosures] = outcomes(text, context)
    })
    if (made.length !== 6) t.fail(`${text}: a function and an operation are made of it`)
    if (!isDeepStrictEqual([asFunction, asInstruction], [asClosures, asClosures])) t.fail(text)
    if (n % 100 === 0)
      t.strictSame(
        codeMadeBy(() => compileExpression(inUse, scope)),
        [],
        `after ${n} others`,
      )
  }
  const again = codeMadeBy(() => compileExpression(shapeNo(0), scope))
  t.equal(again.length, 3, 'one that was not asked for is forgotten')
  t.ok(first.value.isTrue({ a: { inUse: 2 }, b: { inUse: 'x' } }, new StepBudget()))
})

t.test('Functions that no expression has any more leave the memory', async (t) => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const operationOf = (text: string): WeakKey => {
    const compiled = compileToInstruction(text, scope)
    if (!compiled.ok) throw new Error('It is valid.')
    return compiled.value[0]
  }
  const kept = operationOf('a.kept == 1')
  const operations = Array.from({ length: 600 }, (_, n) => new WeakRef(operationOf(`a.o${n} == 1 || b`)))
  for (let n = 0; n < 1100; n++) operationOf(`a.later${n} == 1`)
  await setImmediate()
  collect()
  t.equal(operations.filter((one) => one.deref() !== undefined).length, 0)
  t.type(kept, 'function')
})
