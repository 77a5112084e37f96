/** Segments: which message caused which events of a pack. */
import fc from 'fast-check'
import t from 'tap'
import { parseSegments, Segments, sequenceOfEvent } from '../../../src/delivery/wire/pack-message.js'

const cases = [
  { name: 'one message', messages: [[10, 0, 2]], text: '10:2' },
  {
    name: 'a run of equal messages',
    messages: [
      [10, 0, 2],
      [11, 0, 2],
      [12, 0, 2],
    ],
    text: '10-12:2',
  },
  {
    name: 'a gap ends a run',
    messages: [
      [10, 0, 2],
      [12, 0, 2],
    ],
    text: '10:2,12:2',
  },
  {
    name: 'a later part stands alone',
    messages: [
      [17, 0, 900],
      [17, 1, 200],
      [18, 0, 200],
    ],
    text: '17:900,17/1:200,18:200',
  },
] as const

/** Its segments, read and made again from their messages. */
function again(text: string): string {
  const segments = new Segments()
  for (const { range, part, events } of parseSegments(text))
    for (let sequence = range[0]; sequence <= range[1]; sequence += 1) segments.add(sequence, part, events)
  return segments.format()
}

for (const { name, messages, text } of cases) {
  t.test(name, async (t) => {
    const segments = new Segments()
    for (const [sequence, part, events] of messages) segments.add(sequence, part, events)
    t.equal(segments.format(), text)
    t.equal(again(text), text)
  })
}

t.test('malformed headers are skipped', async (t) => {
  for (const text of ['', 'x', '1', '1-:2', '1:2:3', ':5', '1/2', '-1:2'])
    t.strictSame(parseSegments(text), [])
  t.equal(again('7:1,nonsense,9-11/2:3'), '7:1,9-11/2:3')
})

t.test('every event of a pack leads back to its message', async (t) => {
  const message = fc.tuple(
    fc.integer({ min: 1, max: 3 }),
    fc.integer({ min: 0, max: 1 }),
    fc.integer({ min: 1, max: 4 }),
  )
  fc.assert(
    fc.property(fc.array(message, { maxLength: 30 }), (steps) => {
      const made = new Segments()
      const owners: number[] = []
      let sequence = 0
      for (const [step, part, events] of steps) {
        sequence += step
        made.add(sequence, part, events)
        for (let event = 0; event < events; event += 1) owners.push(sequence)
      }
      const text = made.format()
      const segments = parseSegments(text)
      const found = owners.map((_, position) => sequenceOfEvent(segments, position))
      return (
        JSON.stringify(found) === JSON.stringify(owners) &&
        sequenceOfEvent(segments, owners.length) === undefined &&
        again(text) === text
      )
    }),
    { seed: 2, numRuns: 1_000 },
  )
  t.pass('1,000 packs')
})
