import t from 'tap'
import { LastingFailure } from '../../src/core/lasting-failure.js'

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
