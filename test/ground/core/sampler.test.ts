/** Sampling beyond a rate: everything up to it, and sums that stay exact. */
import fc from 'fast-check'
import t from 'tap'
import { Sampler } from '../../../src/ground/core/sampler.js'

const perSecondMax = 5

function opened() {
  const clock = { nowMs: 0 }
  const taken: { item: string; weight: number }[] = []
  const sampler = new Sampler<string>({
    perSecondMax,
    take: (item, weight) => taken.push({ item, weight }),
    nowMs: () => clock.nowMs,
  })
  return { clock, taken, sampler }
}

const sumOf = (taken: readonly { weight: number }[]): number =>
  taken.reduce((sum, { weight }) => sum + weight, 0)

t.test('up to the rate, every item is taken for itself', async (t) => {
  const { clock, taken, sampler } = opened()
  for (let second = 0; second < 3; second += 1) {
    clock.nowMs = second * 1_000
    for (let n = 0; n < perSecondMax; n += 1) sampler.add('a', `${second}.${n}`)
  }
  t.equal(taken.length, 3 * perSecondMax)
  t.ok(taken.every(({ weight }) => weight === 1))
})

t.test('beyond it, a sample from the whole second stands for the rest', async (t) => {
  const { clock, taken, sampler } = opened()
  const perSecond = 100
  for (let n = 0; n < perSecond; n += 1) sampler.add('flood', `first ${n}`)
  t.equal(taken.length, perSecondMax)
  clock.nowMs = 1_000
  sampler.add('rare', 'of another key')
  t.strictSame(taken.at(-1), { item: 'of another key', weight: 1 }, 'a flood hides no other key')
  taken.length = 0
  for (let n = 0; n < perSecond; n += 1) sampler.add('flood', `${n}`)
  t.strictSame(
    taken.map(({ item }) => item),
    ['19', '39', '59', '79', '99'],
  )
  t.equal(sumOf(taken), 2 * perSecond - perSecondMax, 'those of the second before are not forgotten')
})

t.test('what a burst has left out is taken by itself', async (t) => {
  const taken: number[] = []
  const weights = new Promise<number[]>((resolve) => {
    const sampler = new Sampler<string>({
      perSecondMax,
      take: (_, weight) => {
        taken.push(weight)
        if (taken.length > perSecondMax) resolve(taken)
      },
    })
    for (let n = 0; n < 20; n += 1) sampler.add('a', 'x')
  })
  // The timer alone does not keep a process alive.
  const alive = setInterval(() => {}, 100)
  t.equal(sumOf((await weights).map((weight) => ({ weight }))), 20)
  clearInterval(alive)
})

t.test('the weights of a key always add up to what was offered', async () => {
  const step = fc.record({ key: fc.constantFrom('a', 'b'), waitMs: fc.oneof(fc.constant(0), fc.nat(1_500)) })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const { clock, taken, sampler } = opened()
      for (const { key, waitMs } of steps) {
        clock.nowMs += waitMs
        sampler.add(key, key)
      }
      sampler.flush()
      return ['a', 'b'].every(
        (key) =>
          sumOf(taken.filter(({ item }) => item === key)) === steps.filter((each) => each.key === key).length,
      )
    }),
  )
})
