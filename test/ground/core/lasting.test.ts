import t from 'tap'
import { LastingConditions, LastingFailure } from '../../../src/ground/core/lasting.js'

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

const fails = () => Promise.reject(new Error('away'))
const works = async () => 'done'

t.test('a failure is reported once it has lasted', async (t) => {
  let nowMs = 1_000
  const reported: unknown[] = []
  const failure = new LastingFailure(
    (error) => reported.push(error),
    () => nowMs,
  )
  const at = async (ms: number, work: () => Promise<unknown>): Promise<number> => {
    nowMs = ms
    await failure.watch(work)
    return reported.length
  }
  t.equal(await at(1_000, fails), 0)
  t.equal(await at(10_900, fails), 0, 'it may pass')
  t.equal(await at(11_000, fails), 1)
  t.equal(await at(12_000, fails), 2, 'and each one after it')
  t.equal(await failure.watch(works), 'done')
  t.equal(await at(30_000, fails), 2, 'after a success it begins again')
  t.equal(await at(40_000, fails), 3)
})
