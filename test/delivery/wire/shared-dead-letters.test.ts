/** Many dead letters in one message: each comes back as it was, and they take room in proportion to their bytes. */
import fc from 'fast-check'
import t from 'tap'
import { headerText } from '../../../src/delivery/wire/dead-letter.js'
import { deadLetterHeaders } from '../../../src/delivery/wire/names.js'
import {
  lettersIn,
  type SharedRecord,
  sharedDeadLetter,
} from '../../../src/delivery/wire/shared-dead-letters.js'

const origin = { [deadLetterHeaders.stream]: 'WEIR_RECORDS', [deadLetterHeaders.sequence]: '7' }

const lettersOf = ({ data, headers }: ReturnType<typeof sharedDeadLetter>) =>
  lettersIn(data, (name) => headers[name] ?? '')

const recordsOf = (lines: readonly { gap: number; text: string; reason: string }[]): SharedRecord[] => {
  let line = 0
  return lines.map(({ gap, text, reason }) => {
    line += 1 + gap
    return { line, bytes: Buffer.from(text), reason }
  })
}

const text = fc.string({ unit: 'binary' }).map((each) => each.replaceAll('\n', ' '))
const reason = fc.oneof(fc.constantFrom('It is not JSON.', 'It is …'), fc.string())

t.test('each letter has its line, its bytes and its reason', async (t) => {
  const lines = fc.array(fc.record({ gap: fc.nat(3), text, reason }), { minLength: 1 })
  fc.assert(
    fc.property(lines, (given) => {
      const records = recordsOf(given)
      const letters = lettersOf(sharedDeadLetter(records, origin))
      t.equal(letters.size, records.length)
      for (const [index, { line, bytes, reason }] of records.entries()) {
        const { origin, data } = letters.at(index)
        if (origin.line !== line || Buffer.compare(data, bytes) !== 0 || origin.sequence !== 7) return false
        if (origin.reason !== headerText(reason)) return false
      }
      return true
    }),
  )
})

const floods = {
  'the same byte': () => ({ text: 'x', reason: 'It is not JSON: no value is written "x".' }),
  'two faults in turn': (n: number) => ({ text: 'x', reason: n % 2 === 0 ? 'It is bad.' : 'It is worse.' }),
  'another reason each': (n: number) => ({
    text: String(n),
    reason: `"record" is ${n}; it must be an object.`,
  }),
  'the longest reasons': (n: number) => ({ text: `{${n}}`, reason: `${n} ${'r'.repeat(480)}` }),
  'reasons that differ in members': (n: number) => ({ text: `{"${n}":1}`, reason: `"${n}" has a fault.` }),
}

for (const [name, lineOf] of Object.entries(floods))
  t.test(`a flood takes room in proportion to its bytes: ${name}`, async (t) => {
    for (const count of [5, 100, 30_000]) {
      const records = recordsOf(Array.from({ length: count }, (_, n) => ({ gap: n % 2, ...lineOf(n) })))
      const sent = records.reduce((sum, { bytes }) => sum + bytes.length + 1, 0)
      const stored = sharedDeadLetter(records, origin)
      t.ok(
        stored.data.length <= 8 * sent + 8 * 1024,
        `${count} lines: ${sent} bytes, stored ${stored.data.length}`,
      )
      const letters = lettersOf(stored)
      t.equal(letters.size, count)
      t.equal(Buffer.from(letters.at(count - 1).data).toString(), lineOf(count - 1).text)
      t.not(letters.reasonAt(count - 1), '')
    }
  })

t.test('beyond the room for reasons, the pattern of each is stored', async (t) => {
  const lines = Array.from({ length: 5_000 }, (_, n) => ({ gap: 0, ...floods['another reason each'](n) }))
  const letters = lettersOf(sharedDeadLetter(recordsOf(lines), origin))
  t.equal(letters.reasonAt(0), '"record" is 0; it must be an object.')
  t.equal(letters.reasonAt(4_999), '"record" is …; it must be an object.')
})

t.test('a letter that has its message alone, and an index that is malformed', async (t) => {
  const headers: Record<string, string> = {
    ...origin,
    [deadLetterHeaders.reason]: 'It is bad.',
    [deadLetterHeaders.line]: '3',
  }
  const alone = lettersIn(Buffer.from('x'), (name) => headers[name] ?? '')
  t.match(alone, { size: 1, areShared: false })
  t.match(alone.at(0).origin, { reason: 'It is bad.', line: 3, sequence: 7 })
  headers[deadLetterHeaders.letters] = '2'
  for (const [data, index] of [
    ['x', '0'],
    ['x\nnull', '2'],
    ['x\n{}', '2'],
    ['x\n{"reasons":[],"runs":[0,9,0]}', '2'],
    ['x', 'y'],
  ] as const) {
    headers[deadLetterHeaders.index] = index
    const letters = lettersIn(Buffer.from(data), (name) => headers[name] ?? '')
    t.match(letters, { size: 1, areShared: false }, data)
  }
})
