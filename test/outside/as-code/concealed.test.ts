/** What placeholders stand for does not come back in what people read. */
import fc from 'fast-check'
import t from 'tap'
import { shown } from '../../../src/ground/core/errors.js'
import { Concealed } from '../../../src/outside/as-code/concealed.js'

const placeholder = `\${env:X}`

function concealedOf(value: string): Concealed {
  const concealed = new Concealed()
  concealed.add(value, placeholder)
  return concealed
}

t.test('a refusal shows the placeholder, also if it repeats a part, in lower case or quoted', async (t) => {
  const concealed = concealedOf('Weir_Key-0123\nsecond "line" of it')
  for (const said of ['Weir_Key-0123', 'weir_key-0123', '_Key-0123\\nsecond', 'second "line" of it'])
    t.equal(
      concealed.refusal(`The text "${said}" is too long.`),
      `The text "${placeholder}" is too long.`,
      said,
    )
  t.equal(concealed.answer({ a: ['Weir_Key-0123\nsecond "line" of it', 7] }).a[0], placeholder)
})

t.test('short values and words of every certificate leave other texts as they are', async (t) => {
  t.equal(concealedOf('1').answer('1 of 21 rules'), '1 of 21 rules')
  t.equal(concealedOf('1').refusal('"1" is no 21'), `"${placeholder}" is no 21`)
  const pem = '-----BEGIN CERTIFICATE-----\nMIIBkTCB+wIJAK\n-----END CERTIFICATE-----'
  const said = '"ca_pem" must begin with -----BEGIN CERTIFICATE-----'
  t.equal(concealedOf(pem).refusal(said), said)
  t.equal(concealedOf('ssh.example.com').answer('www.example.com'), 'www.example.com')
})

t.test('no refusal has more than a few characters of a value', async () => {
  const around = fc.string({ maxLength: 20 })
  const value = fc.string({ minLength: 8, maxLength: 60, unit: fc.constantFrom(...'aBc9"\\\n-_ é') })
  fc.assert(
    fc.property(around, value, around, fc.nat(50), (before, planted, after, cut) => {
      const concealed = concealedOf(planted)
      const text = before + shown(planted.slice(Math.min(cut, planted.length - 8))) + after
      const found = concealed.refusal(text).toLowerCase()
      const lower = planted.trim().toLowerCase()
      for (let from = 0; from + 6 <= lower.length; from += 1)
        if (found.includes(lower.slice(from, from + 6))) return false
      return true
    }),
    { numRuns: 2_000 },
  )
})
