import t from 'tap'
import { recent } from '../../../src/ground/core/recent.js'
import { until } from '../../harness/weir.js'

t.test('callers at the same time share one, and later ones get a new one', async (t) => {
  let made = 0
  const gates: (() => void)[] = []
  const ask = recent(async () => {
    made += 1
    await new Promise<void>((resolve) => gates.push(resolve))
    return made
  })
  const asked = Array.from({ length: 60 }, () => ask())
  gates[0]!()
  t.strictSame(new Set(await Promise.all(asked)), new Set([1]))
  await until('it is made again', async () => {
    const next = ask()
    gates.at(-1)!()
    return (await next) === 2
  })
})

t.test('a failure is shared, and not kept', async (t) => {
  let made = 0
  const ask = recent(async () => {
    made += 1
    if (made === 1) throw new Error('not now')
    return made
  })
  const both = await Promise.allSettled([ask(), ask()])
  t.match(both, [{ status: 'rejected' }, { status: 'rejected' }])
  t.equal(await ask(), 2)
})
