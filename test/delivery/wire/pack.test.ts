import * as fc from 'fast-check'
import t from 'tap'
import { tagOf } from '../../../src/delivery/wire/event-tag.js'
import { EventTemplate } from '../../../src/delivery/wire/event-template.js'
import { PackWriter, readPack } from '../../../src/delivery/wire/pack.js'
import type { PackedEvent } from '../../../src/delivery/wire/packed-event.js'
import { Checks } from '../../harness/checks.js'
import { packOf } from '../deliver/events.js'

t.test('appended events are read back in order', (t) => {
  const event = fc.record({
    partitionKey: fc.string({ minLength: 1, unit: 'grapheme' }).filter((key) => !/^[=@#]|[ \n]/.test(key)),
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

/** JSON without raw control characters. */
const json = fc.oneof(
  fc.json({ maxDepth: 2 }),
  fc.string({ unit: 'binary', maxLength: 40 }).map((text) => JSON.stringify(text)),
)

const templated = fc.record({
  tail: fc.stringMatching(/^[0-9a-f]{0,16}$/),
  members: fc.uniqueArray(fc.string({ maxLength: 40 }), { maxLength: 6 }),
})

t.test('traffic events are read back as the JSON of their templates and values', async (t) => {
  const checks = new Checks()
  const event = fc.record({
    source: fc.nat(),
    recordPart: fc.stringMatching(/^[0-9a-f]{1,32}$/),
    timestampMs: fc.nat({ max: 4_102_444_800_000 }),
    values: fc.array(json, { minLength: 6, maxLength: 6 }),
    isWhole: fc.boolean(),
  })
  const given = fc.record({
    sources: fc.array(templated, { minLength: 1, maxLength: 4 }),
    events: fc.array(event, { maxLength: 20 }),
    times: fc.array(fc.nat({ max: 4_102_444_800_000 }), { minLength: 1, maxLength: 3 }),
  })
  fc.assert(
    fc.property(given, ({ sources, events: specs, times }) => {
      const templates = sources.map(({ tail, members }) => templateOf(tail, members))
      const writer = new PackWriter()
      const want = specs.map(({ source, recordPart, values, isWhole }, index) => {
        const { tail, members } = sources[source % sources.length]!
        const timestampMs = times[index % times.length]!
        const id = `ev_${recordPart}${tail}`
        const at = new Date(timestampMs).toISOString()
        const object = members.map((name, place) => `${JSON.stringify(name)}:${values[place]}`).join()
        const data = `{"event_id":"${id}","at":"${at}","object":{${object}}}`
        if (isWhole) writer.append(id, timestampMs, data)
        else {
          const template = templates[source % sources.length]!
          const tabbed = members.map((_, place) => `\t${values[place]}`).join('')
          writer.appendParts({ template, line: Buffer.from(`${recordPart}${tabbed}\n`) }, timestampMs)
        }
        return { id, timestampMs, data: `${data}\n` }
      })
      checks.equal(writer.events, specs.length)
      const { byteLength } = writer
      const bytes = writer.take()
      checks.equal(bytes.length, byteLength)
      const { events, malformed } = readPack(bytes)
      checks.equal(malformed, [])
      checks.equal(events.length, want.length)
      for (const [index, { id, timestampMs, data }] of want.entries())
        checkEvent(checks, events[index]!, id, timestampMs, data)
    }),
    { seed: 3, numRuns: 300 },
  )
  checks.report(t)
})

function templateOf(tail: string, members: readonly string[]): EventTemplate {
  const [first = '', ...others] = members.map(
    (name, place) => `${place === 0 ? '' : ','}${JSON.stringify(name)}:`,
  )
  const pieces = ['{"event_id":"ev_', `${tail}","at":"`, `","object":{${first}`, ...others]
  return EventTemplate.of(members.length === 0 ? pieces.with(-1, `${pieces.at(-1)}}}`) : [...pieces, '}}'])
}

/** All that a deliverer asks of an event. */
function checkEvent(checks: Checks, event: PackedEvent, id: string, timestampMs: number, data: string): void {
  checks.equal(event.id, id)
  checks.equal(event.partitionKey, id)
  checks.ok(event.isItsOwnKey)
  checks.equal(event.timestampMs, timestampMs)
  checks.equal(event.tag, tagOf(id))
  checks.equal(event.data.toString(), data)
  checks.equal(event.dataBytes, Buffer.byteLength(data))
  checks.equal(event.partitionKeyBytes, id.length)
  const [before, target] = [3, Buffer.alloc(event.dataBytes + id.length + 9)]
  const end = event.writeData(target, before)
  checks.equal(target.toString('utf8', before, end), data)
  checks.equal(target.toString('latin1', end, event.writeKey(target, end)), id)
}

t.test(
  'a writer counts the events of its pack by kind, and knows the times of the first and the last',
  (t) => {
    const writer = new PackWriter()
    const closed = EventTemplate.of(['{"event_id":"ev_', '","event_type":"log.v0","at":"', '"}'])
    const line = Buffer.from('abc\n')
    for (const timestampMs of [7, 9, 5]) writer.appendParts({ template: closed, line }, timestampMs)
    writer.append('k', 8, '{"event_id":"ev_1","event_type":"tcp_edge_created.v0"}')
    writer.append('k', 8, '{"event_id":"ev_2","event_type":"log.v0"}')
    const kinds = new Map([
      ['log.v0', 4],
      ['tcp_edge_created.v0', 1],
    ])
    const summary = writer.summary()
    t.match(summary, { events: 5, first: 5, last: 9 })
    t.strictSame(new Map([...summary.kinds].sort()), kinds)
    writer.take()
    writer.append('k', 3, '{"event_id":"ev_3","event_type":"log.v0"}')
    t.strictSame(writer.summary(), { events: 1, kinds: [['log.v0', 1]], first: 3, last: 3 })
    t.end()
  },
)

t.test('a pack holds a template once, and a time as long as it stays', (t) => {
  const writer = new PackWriter()
  const [one, other] = [templateOf('34', ['é']), templateOf('56', [])]
  const add = (template: EventTemplate, line: string, timestampMs: number) =>
    writer.appendParts({ template, line: Buffer.from(line) }, timestampMs)
  add(one, '12\t1\n', 1)
  add(other, '12\n', 1)
  add(one, '78\tnull\n', 2)
  const lines = [
    '@1',
    '={"event_id":"ev_\t34","at":"\t","object":{"é":\t}}',
    '#0\t12\t1',
    '={"event_id":"ev_\t56","at":"\t","object":{}}',
    '#1\t12',
    '@2',
    '#0\t78\tnull',
  ]
  t.equal(Buffer.from(writer.take()).toString(), `${lines.join('\n')}\n`)
  add(one, '12\t1\n', 2)
  t.match(Buffer.from(writer.take()).toString(), /^@2\n=.*\n#0\t12\t1\n$/, 'the next pack begins anew')
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

const template = '={"event_id":"ev_\t34","at":"\t","a":\t}'

t.test('a malformed line of a traffic event is reported and its neighbours are read', async (t) => {
  const cases = [
    { name: 'no number', line: '#\t12\t1', reason: /no template/ },
    { name: 'an unknown template', line: '#1\t12\t1', reason: /no template/ },
    { name: 'nothing behind the number', line: '#0', reason: /no template/ },
    { name: 'no id', line: '#0\t\t1', reason: /no id/ },
    { name: 'too few values', line: '#0\t12', reason: /has 0 values instead of 1/ },
    { name: 'too many values', line: '#0\t12\t1\t2', reason: /has 2 values instead of 1/ },
    { name: 'a control character', line: '#0\t12\t"\u0001"', reason: /has 2 values/ },
    { name: 'a template of few pieces', line: '={"event_id":"ev_\t34","at":"', reason: /too few pieces/ },
    {
      name: 'a template of something else',
      line: '={"id":"ev_\t34","at":"\t}',
      reason: /does not begin with/,
    },
    { name: 'a template without an end of the id', line: '={"event_id":"ev_\t34\t}', reason: /has no end/ },
  ]
  for (const { name, line, reason } of cases) {
    const text = `@1\n${template}\n#0\tbb\t1\n${line}\n${template}\n#0\taa\t1\n`
    const { events, malformed } = readPack(Buffer.from(text))
    t.same(
      events.map(({ id }) => id),
      ['ev_bb34', 'ev_aa34'],
      name,
    )
    t.match(malformed, [{ line: 4, reason, bytes: Buffer.from(`${line}\n`) }], name)
  }
  const noTime = readPack(Buffer.from(`${template}\n#0\tbb\t1\n@x\n@99999999999999999\n@8640000000000001\n`))
  t.match(noTime, {
    events: [],
    malformed: [
      { reason: /no time/ },
      { reason: /no timestamp/ },
      { reason: /no timestamp/ },
      { reason: /no timestamp/ },
    ],
  })
  const second = readPack(Buffer.from(`@1\n=bad\n${template}\n#0\taa\t1\n#1\tbb\t1\n`))
  t.match(second, {
    events: [{ id: 'ev_bb34' }],
    malformed: [{ line: 2 }, { line: 4, reason: /no template/ }],
  })
})

t.test('arbitrary bytes are read without an error', (t) => {
  const checks = new Checks()
  const bytesOfLines = fc
    .array(
      fc.oneof(
        fc.constant('@1'),
        fc.constant(template),
        fc.string().map((text) => `#0\t${text}`),
        fc.string(),
      ),
    )
    .map((lines) => Buffer.from(lines.join('\n')))
  fc.assert(
    fc.property(fc.oneof(fc.uint8Array({ maxLength: 300 }), bytesOfLines), (bytes) => {
      const { events, malformed } = readPack(bytes)
      const lines = Buffer.from(bytes).toString('latin1').split('\n')
      const marks = lines.filter((line, index) => /^[=@]/.test(line) && index < lines.length - 1).length
      const ended = lines.length - (bytes.at(-1) === 10 || bytes.length === 0 ? 1 : 0)
      checks.ok(
        events.every((event) => event.writeData(Buffer.alloc(event.dataBytes), 0) === event.dataBytes),
      )
      const reported = events.length + malformed.length
      return reported <= ended && reported >= ended - marks
    }),
    { seed: 2, numRuns: 2000 },
  )
  checks.report(t)
  t.end()
})
