/** A reader's memory of acknowledged messages, for those that are delivered again. */
import fc from 'fast-check'
import t from 'tap'
import { AcknowledgedContents, AcknowledgedSequences } from '../../../src/ground/nats/durable-reader.js'
import type { PulledMessage } from '../../../src/ground/nats/pulled-message.js'

const span = 16
const messages = fc.record({
  sequence: fc.integer({ min: 1, max: 100 }),
  since: fc.constantFrom('old', 'new'),
  identity: fc.nat(3),
})

function inRun(since: string): AcknowledgedSequences {
  const known = new AcknowledgedSequences(span)
  known.beginRun(since)
  return known
}

t.test('by sequence: what is remembered was acknowledged, at that time, in this run', async () => {
  fc.assert(
    fc.property(fc.array(messages), messages, (added, asked) => {
      const known = inRun('new')
      for (const message of added) known.add(message)
      const wasAdded = added.some(
        ({ sequence, since, identity }) =>
          since === 'new' && sequence === asked.sequence && identity === asked.identity,
      )
      if (known.has(asked) && !wasAdded) throw new Error('It was never added.')
      known.beginRun('next')
      if (known.has(asked)) throw new Error('It is of another run.')
    }),
  )
})

t.test('by sequence: the last ones of the stream are remembered, in whatever order they came', async (t) => {
  fc.assert(
    fc.property(
      fc.nat(1_000).chain((first) => {
        const sequences = Array.from({ length: span }, (_, index) => first + index + 1)
        return fc.shuffledSubarray(sequences, { minLength: span })
      }),
      (sequences) => {
        const known = inRun('run')
        for (const sequence of sequences) known.add({ sequence, since: 'run', identity: 1 })
        return sequences.every(
          (sequence) => known.has({ sequence, identity: 1 }) && !known.has({ sequence, identity: 2 }),
        )
      },
    ),
  )
  t.notOk(inRun('run').has({ sequence: 1, identity: 0 }), 'nothing was added')
})

t.test('by contents: a message that was published twice, in any run; the oldest are forgotten', async (t) => {
  const known = new AcknowledgedContents(2, ({ subject }) => subject)
  const contents = (subject: string) => ({ identity: known.identityOf({ subject } as PulledMessage) })
  known.add(contents('a'))
  known.add(contents('b'))
  known.beginRun()
  t.ok(known.has(contents('a')), 'in another run')
  known.add(contents('c'))
  t.notOk(known.has(contents('a')), 'the oldest')
  t.ok(known.has(contents('b')))
  t.ok(known.has(contents('c')))
})
