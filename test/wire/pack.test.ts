import * as fc from 'fast-check'
import t from 'tap'
import { PackWriter, readPack } from '../../src/wire/pack.js'
import { packOf } from '../deliver/events.js'

t.test('appended events are read back in order', (t) => {
  const event = fc.record({
    partitionKey: fc.string({ minLength: 1, unit: 'grapheme' }).filter((key) => !/[ \n]/.test(key)),
    timestampMs: fc.nat({ max: 4_102_444_800_000 }),
    id: fc.stringMatching(/^ev_[0-9A-Za-z]{1,26}$/),
    rest: fc.string({ unit: 'binary', maxLength: 2000 }),
  })
  fc.assert(
    fc.property(fc.array(event, { maxLength: 30 }), (given) => {
      const writer = new PackWriter()
      const jsons = given.map(({ id, rest }) => JSON.stringify({ event_id: id, rest }))
      for (const [at, { partitionKey, timestampMs }] of given.entries()) {
        writer.append(partitionKey, timestampMs, jsons[at]!)
      }
      t.equal(writer.events, given.length)
      const { byteLength } = writer
      const bytes = writer.take()
      t.equal(bytes.byteLength, byteLength)
      t.equal(writer.byteLength, 0)
      const { events, malformed } = readPack(bytes)
      t.same(malformed, [])
      t.same(
        events.map(({ partitionKey, timestampMs, id, data }) => [
          partitionKey,
          timestampMs,
          id,
          data.toString(),
        ]),
        given.map(({ partitionKey, timestampMs, id }, at) => [
          partitionKey,
          timestampMs,
          id,
          Buffer.from(`${jsons[at]}\n`).toString(),
        ]),
      )
    }),
    { seed: 1, numRuns: 200 },
  )
  t.end()
})

t.test('events appended later do not change a pack that was taken', (t) => {
  const writer = new PackWriter()
  writer.append('k', 1, '{"event_id":"ev_1"}')
  const first = writer.take()
  writer.append('k', 2, '{"event_id":"ev_2"}')
  t.equal(Buffer.from(first).toString(), 'k 1 {"event_id":"ev_1"}\n')
  t.equal(Buffer.from(writer.take()).toString(), 'k 2 {"event_id":"ev_2"}\n')
  t.equal(writer.take().byteLength, 0)
  t.end()
})

t.test('an event that is appended in parts is the same as in one', (t) => {
  const [writer, other] = [new PackWriter(), new PackWriter()]
  const rest = Buffer.from('","object":{"é":1}}\n')
  for (const timestampMs of [1, 1, 2]) {
    const parts = { recordPart: Buffer.from('ev_12'), purposePart: Buffer.from('34'), rest }
    writer.appendIdentified(parts, timestampMs)
    other.append('ev_1234', timestampMs, '{"event_id":"ev_1234","object":{"é":1}}')
  }
  t.equal(writer.events, 3)
  t.equal(writer.byteLength, other.byteLength)
  const bytes = writer.take()
  t.same(bytes, other.take())
  t.ok(readPack(bytes).events[0]?.isItsOwnKey)
  t.end()
})

t.test('a malformed line is reported and its neighbours are read', (t) => {
  const cases = [
    { name: 'empty', line: '\n', reason: /no partition key/ },
    { name: 'no spaces', line: 'nothing\n', reason: /no partition key/ },
    { name: 'an empty partition key', line: ' 1 {"event_id":"ev_x"}\n', reason: /no partition key/ },
    { name: 'no timestamp', line: 'k  {"event_id":"ev_x"}\n', reason: /no timestamp/ },
    { name: 'a timestamp that is no number', line: 'k 1x {"event_id":"ev_x"}\n', reason: /no timestamp/ },
    {
      name: 'a timestamp beyond all bounds',
      line: 'k 99999999999999999 {"event_id":"ev_x"}\n',
      reason: /no timestamp/,
    },
    { name: 'nothing after the timestamp', line: 'k 1 \n', reason: /does not begin with/ },
    { name: 'another first member', line: 'k 1 {"id":"ev_x","more":1}\n', reason: /does not begin with/ },
    { name: 'an empty id', line: 'k 1 {"event_id":"","more":1}\n', reason: /no id/ },
    { name: 'an id without an end', line: 'k 1 {"event_id":"ev_x\n', reason: /no id/ },
    { name: 'zero bytes', line: '\0\0\0\n', reason: /no partition key/ },
  ]
  const good = Buffer.from(packOf([{ id: 'ev_before' }, { id: 'ev_after' }]))
    .toString()
    .split('\n')
  for (const { name, line, reason } of cases) {
    const { events, malformed } = readPack(Buffer.from(`${good[0]}\n${line}${good[1]}\n`))
    t.same(
      events.map(({ id }) => id),
      ['ev_before', 'ev_after'],
      name,
    )
    t.match(malformed, [{ line: 2, reason, bytes: Buffer.from(line) }], name)
  }
  const cut = readPack(Buffer.from('k 1 {"event_id":"ev_1"}\nk 1 {"event_id":"ev_2"}'))
  t.same(
    cut.events.map(({ id }) => id),
    ['ev_1'],
  )
  t.match(cut.malformed, [{ line: 2, reason: /no end/ }])
  t.end()
})

t.test('arbitrary bytes are read without an error', (t) => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      const { events, malformed } = readPack(bytes)
      const lines =
        Buffer.from(bytes).toString('latin1').split('\n').length -
        (bytes.at(-1) === 10 || bytes.length === 0 ? 1 : 0)
      return events.length + malformed.length === lines
    }),
    { seed: 2, numRuns: 1000 },
  )
  t.end()
})
