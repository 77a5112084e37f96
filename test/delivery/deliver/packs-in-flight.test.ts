/** How many packs a destination may hold, whose lane sends at once or collects events. */
import t from 'tap'
import { ByteBudget } from '../../../src/delivery/deliver/lane/byte-budget.js'
import { PacksInFlight } from '../../../src/delivery/deliver/packs-in-flight.js'
import { collectGarbage } from '../../../src/ground/core/collect-garbage.js'
import { someEvents } from './events.js'

const never = (): Promise<void> => new Promise(() => {})

t.test('a lane that collects may hold more packs, unless memory is short or it is in trouble', (t) => {
  let collects = true
  const budget = new ByteBudget(1_000_000)
  const packs = new PacksInFlight(budget, () => collects)
  for (let pack = 0; pack < 20; pack += 1) packs.add(String(pack), someEvents(1), never)
  t.equal(packs.room, 512 - 20)
  collects = false
  t.ok(packs.room < 0)
  collects = true
  t.ok(packs.room > 0)
  budget.take(500_001)
  t.ok(packs.room < 0)
  t.end()
})

t.test('one that waits hears of an end, and of the signal', async (t) => {
  const packs = new PacksInFlight(new ByteBudget(1_000_000), () => false)
  let end = (): void => {}
  packs.add('held', someEvents(1), never)
  packs.add('ends', someEvents(1), () => new Promise((resolve) => (end = resolve)))
  const stop = new AbortController()
  const minute = 60_000
  const ended = packs.one(minute, stop.signal)
  end()
  await ended
  t.notOk(packs.has('ends'))
  const stopped = packs.one(minute, stop.signal)
  stop.abort()
  await stopped
  await packs.one(minute, stop.signal)
  t.ok(packs.has('held'))
})

t.test('waiting for a pack that stays in flight for days takes no memory', async (t) => {
  const packs = new PacksInFlight(new ByteBudget(1_000_000), () => false)
  packs.add('held', someEvents(1), never)
  const { signal } = new AbortController()
  const heapAfter = async (times: number): Promise<number> => {
    for (let time = 0; time < times; time += 1) await packs.one(0, signal)
    collectGarbage('all')
    return process.memoryUsage().heapUsed
  }
  const before = await heapAfter(300)
  const bytes = (await heapAfter(3_000)) - before
  // A promise that stays takes some hundred bytes.
  t.ok(bytes < 1_000_000, `${bytes}`)
})
