/** What a reader remembers of acknowledged messages, for those that are delivered again. */
import fc from 'fast-check'
import t from 'tap'
import { AcknowledgedContents, AcknowledgedSequences } from '../../src/nats/acknowledged.js'
import type { PulledMessage } from '../../src/nats/messages.js'

const span = 16
const messages = fc.record({ sequence: fc.integer({ min: 1, max: 100 }), storedAtMs: fc.nat(3) })

t.test('by sequence: what is remembered was acknowledged, at that time, in this run', async () => {
  fc.assert(
    fc.property(fc.array(messages), messages, (added, asked) => {
      const known = new AcknowledgedSequences(span)
      for (const { sequence, storedAtMs } of added) known.add(sequence, storedAtMs)
      const wasAdded = added.some(
        ({ sequence, storedAtMs }) => sequence === asked.sequence && storedAtMs === asked.storedAtMs,
      )
      if (known.has(asked.sequence, asked.storedAtMs) && !wasAdded) throw new Error('It was never added.')
      known.beginRun()
      if (known.has(asked.sequence, asked.storedAtMs)) throw new Error('It is of another run.')
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
        const known = new AcknowledgedSequences(span)
        for (const sequence of sequences) known.add(sequence, 1)
        return sequences.every((sequence) => known.has(sequence, 1) && !known.has(sequence, 2))
      },
    ),
  )
  t.notOk(new AcknowledgedSequences(span).has(1, 0), 'nothing was added')
})

t.test('by contents: a message that was published twice, in any run; the oldest are forgotten', async (t) => {
  const known = new AcknowledgedContents(2, ({ subject }) => subject)
  const contents = (subject: string) => known.identityOf({ subject } as PulledMessage)
  known.add(1, contents('a'))
  known.add(2, contents('b'))
  known.beginRun()
  t.ok(known.has(7, contents('a')), 'another sequence, in another run')
  known.add(3, contents('c'))
  t.notOk(known.has(1, contents('a')), 'the oldest')
  t.ok(known.has(2, contents('b')))
  t.ok(known.has(3, contents('c')))
})
