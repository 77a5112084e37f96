import t from 'tap'
import { type Code, constant, folded } from '../../../src/ground/expr/code.js'
import { ExpressionFailure } from '../../../src/ground/expr/run.js'

const variable: Code<number> = { run: (context) => context, weight: 1 }

t.test('A part of constants is computed once, unless that fails or takes too long', async (t) => {
  const two = constant<number>(2)
  t.same(folded(() => 4, [two, two]).known, { value: 4 })
  t.equal(folded(() => 4, [two, two]).weight, 1, 'then it is one part')
  t.equal(folded(() => 4, [two, variable]).known, undefined, 'a part varies')
  t.equal(folded(() => 4, [two, variable]).weight, 3)
  const failing = folded<number>(() => {
    throw new ExpressionFailure('It fails.')
  }, [two])
  t.equal(failing.known, undefined, 'it fails for each record')
  t.throws(() => failing.run(0, undefined as never), ExpressionFailure)
  const costly = folded<number>((_, budget) => budget.take(1_000_000), [two])
  t.equal(costly.known, undefined)
  t.throws(() => folded(() => (undefined as never)['x'], [two]), TypeError, 'a defect is no failure')
})
