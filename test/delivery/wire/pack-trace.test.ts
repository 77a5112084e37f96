/** The header of a pack that names the traces which go on in it. */
import fc from 'fast-check'
import t from 'tap'
import { packHeaders } from '../../../src/delivery/wire/names.js'
import { packMessage } from '../../../src/delivery/wire/pack-message.js'
import { formatTraces, tracesIn, tracesPerPackMax } from '../../../src/delivery/wire/pack-trace.js'
import type { TraceContext } from '../../../src/ground/core/telemetry/tracing.js'

const hex = (length: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: length, maxLength: length })
const traceparent = fc
  .tuple(hex(32), hex(16))
  .map(([trace, span]) => `00-1${trace.slice(1)}-1${span.slice(1)}-01`)
const printable = fc.string({
  unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)),
  minLength: 1,
  maxLength: 512,
})
const context = fc.oneof(
  fc.record({ traceparent }),
  fc.record({ traceparent, tracestate: printable }),
) as fc.Arbitrary<TraceContext>

const headersWith = (value: string) => ({ get: (name: string) => (name === packHeaders.traces ? value : '') })

t.test('what is written is read again, up to the bounds', (t) => {
  fc.assert(
    fc.property(fc.array(context, { minLength: 1, maxLength: 60 }), (traces) => {
      const text = formatTraces(traces)!
      const read = tracesIn(headersWith(text))
      // A header is one line of ASCII.
      if (!/^[\x20-\x7e]*$/.test(text) || text.length > 8 * 1024) return false
      const isFirst = read.every((one, index) => JSON.stringify(one) === JSON.stringify(traces[index]))
      const isCut = read.length < Math.min(traces.length, tracesPerPackMax)
      return isFirst && read.length > 0 && (!isCut || text.length > 7 * 1024)
    }),
    { seed: 1 },
  )
  t.end()
})

const malformed = [
  { name: 'no header', text: '' },
  { name: 'no JSON', text: '[["00-' },
  { name: 'no list', text: '{"traceparent":"00"}' },
  { name: 'an entry that is no list', text: '["00-1-1-01", 7, null]' },
  { name: 'an entry of numbers', text: '[[1, 2]]' },
  { name: 'an empty entry', text: '[[]]' },
  { name: 'a text that is no position', text: `[[${JSON.stringify('x'.repeat(200))}]]` },
  { name: 'more than a header may have', text: `[["${'0'.repeat(9_000)}"]]` },
]

for (const { name, text } of malformed)
  t.test(`a header without a position: ${name}`, (t) => {
    t.same(tracesIn(headersWith(text)), [])
    t.end()
  })

t.test('a pack has the same id with and without traces', (t) => {
  const origin = { stream: 'records', since: 'run 1', segments: '1:1' }
  const [plain, traced] = [undefined, '[]'].map((traces) =>
    packMessage('ed_1', Buffer.from('events'), 1, origin, traces),
  )
  t.equal(plain?.msgId, traced?.msgId)
  t.notOk(packHeaders.traces in plain!.headers)
  t.end()
})

t.test('no traces, no header', (t) => {
  t.equal(formatTraces([]), undefined)
  t.same(tracesIn(undefined), [])
  t.end()
})
