import t from 'tap'
import { yieldTurn } from '../../../src/ground/core/clock.js'
import { ahead, Turns } from '../../../src/ground/core/concurrency.js'

/** Work that ends when the test says so. */
function work() {
  let end = (): void => {}
  const until = new Promise<void>((resolve) => {
    end = resolve
  })
  return { until, end }
}

t.test('few work at once, the others in the order they came', async (t) => {
  const turns = new Turns(2, 2)
  const begun: number[] = []
  const works = [0, 1, 2, 3].map(() => work())
  const all = works.map(({ until }, at) =>
    turns.take(async () => {
      begun.push(at)
      await until
      return at
    }),
  )
  t.strictSame(begun, [0, 1], 'two at once')
  await t.rejects(
    turns.take(async () => begun.push(4)),
    { code: 'ERR_UNAVAILABLE' },
    'no more than two wait',
  )
  works[1]!.end()
  t.equal(await all[1], 1)
  t.strictSame(begun, [0, 1, 2])
  for (const { end } of works) end()
  t.strictSame(await Promise.all(all), [0, 1, 2, 3])
  t.equal(await turns.take(async () => 5), 5, 'there is room again')
})

t.test('a failure hands the place on', async (t) => {
  const turns = new Turns(1, 1)
  const failing = turns.take(async () => {
    throw new Error('No.')
  })
  const next = turns.take(async () => 'next')
  await t.rejects(failing, { message: 'No.' })
  t.equal(await next, 'next')
})

t.test('owners take turns, however much one of them asks', async (t) => {
  const turns = new Turns(1, 3)
  const begun: string[] = []
  const first = work()
  const take = (name: string, owner: string, until?: Promise<void>) =>
    turns.take(async () => {
      begun.push(name)
      await until
    }, owner)
  const all = [take('busy 0', 'busy', first.until)]
  for (const name of ['busy 1', 'busy 2', 'busy 3']) all.push(take(name, 'busy'))
  await t.rejects(take('busy 4', 'busy'), { code: 'ERR_UNAVAILABLE' }, 'an owner has a queue of this length')
  for (const name of ['other 1', 'other 2']) all.push(take(name, 'other'))
  first.end()
  await Promise.all(all)
  t.strictSame(begun, ['busy 0', 'busy 1', 'other 1', 'busy 2', 'other 2', 'busy 3'])
})

t.test('items made ahead', async (t) => {
  const told: string[] = []
  async function* made() {
    try {
      for (const item of ['a', 'b', 'c']) {
        told.push(`${item} made`)
        yield item
      }
      throw new Error('No more.')
    } finally {
      told.push('over')
    }
  }
  const use = async () => {
    for await (const item of ahead(made())) {
      told.push(`${item} in use`)
      await yieldTurn()
      told.push(`${item} used`)
    }
  }
  await t.rejects(use(), { message: 'No more.' }, 'a failure is told where its item would be')
  t.strictSame(told, [
    ...['a made', 'b made', 'a in use', 'a used'],
    ...['c made', 'b in use', 'b used'],
    ...['over', 'c in use', 'c used'],
  ])

  told.length = 0
  for await (const item of ahead(made())) {
    t.equal(item, 'a')
    break
  }
  t.strictSame(told, ['a made', 'b made', 'over'], 'who stops early ends the making')
})
