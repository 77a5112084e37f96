/** Sealed values open with their key, for their owner, unchanged; else not at all. */
import fc from 'fast-check'
import t from 'tap'
import { Sealer } from '../../../src/ground/core/seal.js'

const sealer = new Sealer([Buffer.alloc(32, 7)])
const owner = 'ac_1/ed_1/aws_secret_access_key'

t.test('what is sealed comes back, and is sealed anew each time', (t) => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string(), (secret, belongsTo) => {
      const clean = Buffer.from(secret).toString()
      const sealed = sealer.seal(clean, belongsTo)
      return sealer.unseal(sealed, belongsTo) === clean && sealer.seal(clean, belongsTo) !== sealed
    }),
    { seed: 1, numRuns: 300 },
  )
  t.end()
})

t.test('every changed bit is noticed', (t) => {
  const sealed = sealer.seal('secret', owner)
  const bytes = Buffer.from(sealed.slice(3), 'base64url')
  for (let bit = 0; bit < bytes.length * 8; bit += 1) {
    const changed = Buffer.from(bytes)
    changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    t.throws(() => sealer.unseal(`v1.${changed.toString('base64url')}`, owner), `bit ${bit}`)
  }
  t.end()
})

const sealed = sealer.seal('secret', owner)
const cases = [
  { name: 'another owner', open: () => sealer.unseal(sealed, 'ac_2/ed_1/aws_secret_access_key') },
  { name: 'another key', open: () => new Sealer([Buffer.alloc(32, 8)]).unseal(sealed, owner) },
  { name: 'cut short', open: () => sealer.unseal(sealed.slice(0, -4), owner) },
  { name: 'shorter than its tag', open: () => sealer.unseal('v1.AAAA', owner) },
  { name: 'nothing', open: () => sealer.unseal('', owner) },
  { name: 'of an unknown version', open: () => sealer.unseal(sealed.replace('v1', 'v2'), owner) },
  { name: 'a key of another length', open: () => new Sealer([Buffer.alloc(16)]) },
]

for (const { name, open } of cases) {
  t.test(`does not open: ${name}`, (t) => {
    t.throws(open)
    t.end()
  })
}

t.test('a key is told by its fingerprint, a secret by its digest', (t) => {
  const other = new Sealer([Buffer.alloc(32, 8)])
  t.equal(sealer.fingerprint, new Sealer([Buffer.alloc(32, 7)]).fingerprint)
  t.not(sealer.fingerprint, other.fingerprint)
  t.equal(sealer.digest('secret', owner), sealer.digest('secret', owner))
  t.not(sealer.digest('secret', owner), sealer.digest('secret', 'someone else'))
  t.not(sealer.digest('secret', owner), other.digest('secret', owner))
  t.notMatch(sealed, /secret/)
  t.end()
})
