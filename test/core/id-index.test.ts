import fc from 'fast-check'
import t from 'tap'
import { IdIndex } from '../../src/core/id-index.js'

t.test('finds the value of an id, and nothing for another', async (t) => {
  // Ids with equal ends have equal hashes.
  const end = fc.constantFrom('', '0000000000000000', '0000000000000001', 'é', '\u{1f600}')
  const id = fc.tuple(fc.string({ maxLength: 3 }), end).map(([beginning, end]) => beginning + end)
  const given = fc.property(fc.array(fc.tuple(id, fc.nat())), fc.array(id), (entries, others) => {
    const map = new Map(entries)
    const index = new IdIndex(map)
    return [...map.keys(), ...others].every((one) => index.get(one) === map.get(one))
  })
  t.doesNotThrow(() => fc.assert(given, { numRuns: 1_000 }))
})

t.test('thousands of ids that differ in few characters', async (t) => {
  const ids = Array.from({ length: 10_000 }, (_, n) => `edgtcp_${String(n).padStart(26, '0')}`)
  const index = new IdIndex(new Map(ids.map((one, place) => [one, place])))
  t.ok(ids.every((one, place) => index.get(one) === place))
  t.equal(index.get('edgtcp_'), undefined)
})
