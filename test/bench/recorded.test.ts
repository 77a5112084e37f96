import t from 'tap'
import type { Measure } from './bench.js'
import { collapsed } from './recorded.js'

const faster = (ratio: number): Measure => ({ name: 'rate', ratio, bound: { atLeast: 10 } })
const slower = (ratio: number): Measure => ({ name: 'cost', ratio, bound: { atMost: 2 } })
const resultOf = (...measures: Measure[]) => ({ measures, nsPerOperation: {} })

const cases = [
  { name: 'as good as recorded', now: faster(30), before: faster(30), want: 0 },
  { name: 'more than half as fast', now: faster(16), before: faster(30), want: 0 },
  {
    name: 'less than half as fast, although the bound is reached',
    now: faster(14),
    before: faster(30),
    want: 1,
  },
  { name: 'the bound is missed, as it was', now: faster(6), before: faster(8), want: 0 },
  { name: 'less than twice as expensive', now: slower(1.9), before: slower(1), want: 0 },
  { name: 'more than twice as expensive', now: slower(2.1), before: slower(1), want: 1 },
  { name: 'a measure that is new', now: slower(9), before: faster(1), want: 0 },
]

for (const { name, now, before, want } of cases)
  t.test(`a collapse of speed: ${name}`, (t) => {
    t.equal(collapsed(resultOf(now), resultOf(before)).length, want)
    t.end()
  })

t.test('a collapse of speed: a row that was never recorded', (t) => {
  t.strictSame(collapsed(resultOf(faster(1)), undefined), [])
  t.end()
})
