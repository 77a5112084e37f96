import fc from 'fast-check'
import t from 'tap'
import { TopCounts } from '../../../src/ground/core/top-counts.js'

t.test('as long as there is room, counts are exact', async (t) => {
  const counts = new TopCounts(3)
  for (const text of ['a', 'b', 'b', 'c', 'b', 'c']) counts.add(text, 1)
  t.strictSame(counts.top(2), [
    { text: 'b', count: 3 },
    { text: 'c', count: 2 },
  ])
})

t.test('whatever comes: bounded, nothing frequent is missed, and no count is too low', async () => {
  const kept = 4
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.constantFrom(...'abcdefghij'), fc.integer({ min: 1, max: 5 }))),
      (given) => {
        const counts = new TopCounts(kept)
        const exact = new Map<string, number>()
        let total = 0
        for (const [text, count] of given) {
          counts.add(text, count)
          exact.set(text, (exact.get(text) ?? 0) + count)
          total += count
        }
        const top = counts.top(100)
        const isBounded = top.length <= kept && top.reduce((sum, { count }) => sum + count, 0) === total
        const isHighEnough = top.every(({ text, count }) => count >= exact.get(text)!)
        const hasFrequent = [...exact].every(
          ([text, count]) => count <= total / kept || top.some((one) => one.text === text),
        )
        return isBounded && isHighEnough && hasFrequent
      },
    ),
    { seed: 11, numRuns: 500 },
  )
})
