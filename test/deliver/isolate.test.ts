import t from 'tap'
import { isolate } from '../../src/deliver/isolate.js'

const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index)

t.test('one culprit is found wherever it is, in nine requests among 512', async (t) => {
  for (const count of [1, 2, 3, 7, 500, 512]) {
    for (const culprit of numbers(count)) {
      const accepted: number[] = []
      let requests = 0
      const isolated = await isolate(numbers(count), async (half) => {
        requests += 1
        if (half.includes(culprit)) return 'refused'
        accepted.push(...half)
        return 'accepted'
      })
      const others = [...accepted, ...isolated.remaining].sort((a, b) => a - b)
      const complete =
        others.length === count - 1 && others.every((value, at) => value === at + (at >= culprit ? 1 : 0))
      if (isolated.culprit !== culprit || !complete || requests > 9) t.fail(`${culprit} of ${count}`)
    }
  }
  t.pass('every position')
})

t.test('of several culprits one is found, and the others stay with what remains', async (t) => {
  const culprits = [3, 4, 400]
  const isolated = await isolate(numbers(500), async (half) =>
    half.some((value) => culprits.includes(value)) ? 'refused' : 'accepted',
  )
  t.equal(isolated.culprit, 3)
  t.ok(isolated.remaining.includes(4) && isolated.remaining.includes(400))
})

t.test('an interrupted search gives back everything it has not finished', async (t) => {
  let requests = 0
  const isolated = await isolate(numbers(8), async () => {
    requests += 1
    if (requests === 1) return 'accepted'
    return requests === 2 ? 'refused' : 'interrupted'
  })
  t.equal(isolated.culprit, undefined)
  t.same([...isolated.remaining].sort(), [4, 5, 6, 7])
})
