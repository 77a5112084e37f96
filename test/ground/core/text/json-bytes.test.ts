import fc from 'fast-check'
import t from 'tap'
import { JsonBytes } from '../../../../src/ground/core/text/json-bytes.js'
import { Checks } from '../../../harness/checks.js'

type Step = (out: JsonBytes) => string

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 400 }),
  fc.stringMatching(/^[ -~]{0,300}$/),
  fc.constantFrom('\ud800', '\udc00x', '"\\', '\u2028', '\u0000', '\u007f', '\u0080'),
)
const number = fc.oneof(
  fc.maxSafeInteger(),
  fc.nat(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(0, -0, 9, 10, 99, 100, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, -1, 0.5),
)

/** Writes a value, and says what JSON it wrote. */
const step: fc.Arbitrary<Step> = fc.oneof(
  text.map(
    (value): Step =>
      (out) => {
        out.quoted(value)
        return JSON.stringify(value)
      },
  ),
  number.map(
    (value): Step =>
      (out) => {
        out.number(value)
        return JSON.stringify(value)
      },
  ),
  fc.stringMatching(/^[ -~]{0,80}$/).map(
    (value): Step =>
      (out) => {
        out.ascii(value)
        return value
      },
  ),
  fc.stringMatching(/^[ -~]{0,80}$/).map(
    (value): Step =>
      (out) => {
        out.bytes(Buffer.from(value))
        return value
      },
  ),
  fc.string({ unit: 'grapheme', maxLength: 6000 }).map(
    (value): Step =>
      (out) => {
        out.text(value)
        return value
      },
  ),
)

t.test('what is written is what JSON.stringify writes, and stays', async (t) => {
  const checks = new Checks()
  const texts = fc.array(fc.array(step, { maxLength: 20 }), { maxLength: 10 })
  fc.assert(
    fc.property(texts, fc.constantFrom(1, 100, 64 * 1024), (given, bufferBytes) => {
      const out = new JsonBytes(bufferBytes)
      const taken = given.map((steps) => {
        const wanted = steps.map((write) => write(out)).join('')
        checks.equal(out.byteLength, Buffer.byteLength(wanted))
        return { wanted, bytes: out.take() }
      })
      checks.equal(out.byteLength, 0)
      for (const { wanted, bytes } of taken) checks.equal(Buffer.from(bytes).toString(), wanted)
    }),
    { seed: 3, numRuns: 300 },
  )
  checks.report(t)
})

t.test('what was dropped is not part of the next text', async (t) => {
  const out = new JsonBytes()
  out.ascii('1')
  const first = out.take()
  out.ascii('22')
  out.clear()
  t.equal(out.byteLength, 0)
  out.ascii('3')
  t.equal(Buffer.from(out.take()).toString(), '3')
  t.equal(Buffer.from(first).toString(), '1')
})
