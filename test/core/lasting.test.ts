import t from 'tap'
import { LastingConditions } from '../../src/core/lasting.js'

t.test('a condition lasts if each look of 10 s found the same', (t) => {
  let nowMs = 0
  const conditions = new LastingConditions(() => nowMs)
  const look = (atMs: number, value?: string): boolean => {
    nowMs = atMs
    conditions.look(new Map(value === undefined ? [] : [['a', value]]))
    return conditions.hasLasted('a', '1')
  }
  t.notOk(look(0, '1'))
  t.notOk(look(5_000, '1'))
  t.ok(look(10_000, '1'))
  t.notOk(conditions.hasLasted('b', '1'), 'another one')
  t.notOk(look(15_000, '2'), 'it has changed')
  t.notOk(look(20_000, '1'), 'and changed back')
  t.ok(look(30_000, '1'))
  t.notOk(look(35_000), 'it is over')
  t.notOk(look(40_000, '1'), 'one that comes again begins again')
  t.end()
})
