import fc from 'fast-check'
import t from 'tap'
import { StringIndex } from '../../../src/ground/core/string-index.js'

t.test('finds the value of an id, and nothing for another', async (t) => {
  // Ids with equal ends have equal hashes.
  const end = fc.constantFrom('', '0000000000000000', '0000000000000001', 'é', '\u{1f600}')
  const id = fc.tuple(fc.string({ maxLength: 3 }), end).map(([beginning, end]) => beginning + end)
  const given = fc.property(fc.array(fc.tuple(id, fc.nat())), fc.array(id), (entries, others) => {
    const map = new Map(entries)
    const index = new StringIndex(map)
    return [...map.keys(), ...others].every((one) => index.get(one) === map.get(one))
  })
  t.doesNotThrow(() => fc.assert(given, { numRuns: 1_000 }))
})

t.test('thousands of ids that differ in few characters', async (t) => {
  const ids = Array.from({ length: 10_000 }, (_, n) => `edgtcp_${String(n).padStart(26, '0')}`)
  const index = new StringIndex(new Map(ids.map((one, place) => [one, place])))
  t.ok(ids.every((one, place) => index.get(one) === place))
  t.equal(index.get('edgtcp_'), undefined)
})

/** As in the index, to choose keys that meet in it. */
function fnv1a(key: string): number {
  let hash = 0x811c9dc5
  for (const char of key) hash = Math.imul(hash ^ char.charCodeAt(0), 0x01000193)
  return hash ^ (hash >>> 16)
}

t.test('keys that were chosen for their equal hashes are found, and so is nothing else', async (t) => {
  const hosts = Array.from({ length: 20_000 }, (_, n) => `host-${n}.example.com`)
  const [first = '', ...equal] = hosts.filter((host) => (fnv1a(host) & 0x3ff) === (fnv1a(hosts[0]!) & 0x3ff))
  t.ok(equal.length > 15, 'more than there are slots for')
  const index = new StringIndex(new Map(equal.map((host) => [host, host])))
  t.ok(equal.every((host) => index.get(host) === host))
  t.equal(index.get(first), undefined)
})

t.test('a fetch reads the values of keys that are there', async (t) => {
  const index = new StringIndex(
    new Map([
      ['a.example', 1],
      ['b.example', 2],
    ]),
  )
  const read: number[] = []
  index.fetch(['b.example', 'unknown.example', '', 'a.example'], (value) => read.push(value))
  t.ok(read.includes(1) && read.includes(2))
  const empty = new StringIndex(new Map<string, number>())
  t.equal(
    empty.fetch(['a.example'], () => 1),
    0,
  )
  t.equal(empty.get('a.example'), undefined)
})
