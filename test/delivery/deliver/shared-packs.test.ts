/** Packs that several destinations have in flight: which of them share events. */
import t from 'tap'
import { SharedPacks } from '../../../src/delivery/deliver/shared-packs.js'
import { packOf } from './events.js'

const bytes = packOf([{ id: 'ev_1' }, { id: 'ev_2' }])

t.test('destinations that have an equal pack in flight share its events', (t) => {
  const packs = new SharedPacks()
  const first = packs.take('ed_a', 'contents', bytes)
  t.same(
    first.events.map(({ id }) => id),
    ['ev_1', 'ev_2'],
  )
  t.notOk(packs.areShared, 'one destination alone')
  const second = packs.take('ed_b', 'contents', Uint8Array.from(bytes))
  t.equal(second.events, first.events)
  t.ok(packs.areShared)
  first.release()
  t.ok(packs.areShared, 'the second still has it in flight')
  t.equal(packs.take('ed_c', 'contents', bytes).events, first.events, 'and so a third can share it')
  second.release()
  t.end()
})

t.test('packs whose deliveries have ended are read again', (t) => {
  const packs = new SharedPacks()
  const taken = ['ed_a', 'ed_b'].map((destination) => packs.take(destination, 'contents', bytes))
  for (const { release } of taken) release()
  t.notOk(packs.areShared)
  const later = packs.take('ed_c', 'contents', bytes)
  t.not(later.events[0], taken[0]!.events[0])
  later.release()
  t.end()
})

t.test('a destination never gets the same objects twice', (t) => {
  const packs = new SharedPacks()
  const first = packs.take('ed_a', 'contents', bytes)
  const redelivered = packs.take('ed_a', 'contents', bytes)
  t.not(redelivered.events[0], first.events[0])
  t.notOk(packs.areShared)
  packs.take('ed_b', 'contents', bytes)
  redelivered.release()
  t.ok(packs.areShared, 'the end of the redelivery is not that of the others')
  t.end()
})

t.test('different bytes are never shared, whatever their ids say', (t) => {
  const packs = new SharedPacks()
  packs.take('ed_a', 'contents', bytes)
  const other = packs.take('ed_b', 'contents', packOf([{ id: 'ev_3' }]))
  t.same(
    other.events.map(({ id }) => id),
    ['ev_3'],
  )
  t.notOk(packs.areShared)
  t.end()
})

t.test('a malformed line is reported for each destination', (t) => {
  const packs = new SharedPacks()
  const malformed = Buffer.concat([bytes, Buffer.from('nonsense\n')])
  for (const destination of ['ed_a', 'ed_b']) {
    const taken = packs.take(destination, 'contents', malformed)
    t.same([taken.events.length, taken.malformed.map(({ line }) => line)], [2, [3]])
  }
  t.end()
})
