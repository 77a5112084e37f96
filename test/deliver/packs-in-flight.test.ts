/** How many packs a destination may hold, whose lane sends at once or collects events. */
import t from 'tap'
import { ByteBudget } from '../../src/deliver/byte-budget.js'
import { PacksInFlight } from '../../src/deliver/packs-in-flight.js'
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
