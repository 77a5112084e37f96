import t from 'tap'
import { compileExpression } from '../../../src/ground/expr/expression.js'
import { StepBudget } from '../../../src/ground/expr/run.js'
import { defineScope, namesNear, resolveName } from '../../../src/ground/expr/scope.js'

interface Context {
  readonly reads: string[]
}

const counted = (name: string, value: unknown) => ({
  type: 'any' as const,
  read: ({ reads }: Context) => {
    reads.push(name)
    return value
  },
})

const scope = defineScope<Context>({
  names: {
    a: counted('a', { b: { c: 1 } }),
    'a.b': counted('a.b', { c: 2 }),
    'geo.city': counted('geo.city', 'Zürich'),
  },
  aliases: { City: 'geo.city' },
  unavailable: { 'geo.secret': 'cannot be filtered on' },
})

t.test('The longest declared name is used; the rest are members', async (t) => {
  const cases = {
    a: ['a', { b: { c: 1 } }],
    'a.b.c': ['a.b', 2],
    'a.x': ['a', undefined],
    City: ['geo.city', 'Zürich'],
  }
  for (const [text, [name, want]] of Object.entries(cases)) {
    const context = { reads: [] }
    const compiled = compileExpression(text, scope)
    t.strictSame(compiled.ok && compiled.value.evaluate(context, new StepBudget()), want, text)
    t.same(context.reads, [name], `${text} reads ${name} alone`)
  }
})

t.test('A name is read only when its value is needed', async (t) => {
  const context = { reads: [] }
  const compiled = compileExpression("false && (City == 'x' || a)", scope)
  t.equal(compiled.ok && compiled.value.isTrue(context, new StepBudget()), false)
  t.same(context.reads, [])
})

t.test('An alias must refer to a declared name', async (t) => {
  t.throws(() => defineScope({ names: {}, aliases: { x: 'y' } }), /alias x refers to y/)
})

t.test('Suggestions for unknown names', async (t) => {
  t.same(namesNear(scope, 'geo'), ['geo.city'], 'names that begin with it')
  t.same(namesNear(scope, 'geo.ctiy'), ['geo.city'], 'the nearest name')
  t.same(namesNear(scope, 'nothing.like.it'), [])
  t.equal(resolveName(scope, ['geo', 'city', 'length'])?.members.length, 1)
})

t.test('A problem has a reason, a message, a position and a mark', async (t) => {
  const compiled = compileExpression('1 == 1 && geo.secret', scope)
  t.same(compiled, {
    ok: false,
    problem: {
      reason: 'unknown_name',
      msg: 'geo.secret cannot be filtered on at character 11.',
      position: 11,
      mark: { offset: 10, length: 10, line: 1, column: 11 },
    },
  })
})
