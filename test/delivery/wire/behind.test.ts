import fc from 'fast-check'
import t from 'tap'
import {
  covers,
  extended,
  type LivePosition,
  messagesWithin,
  newWindow,
  undone,
  untilOf,
  type Window,
} from '../../../src/delivery/wire/behind.js'

const at = (delivered: number, messagesPerSecond = 100): LivePosition => ({ delivered, messagesPerSecond })

t.test('a window begins a second ahead of the traffic and is some seconds long', async (t) => {
  t.strictSame(newWindow(at(1_000)), [1_101, 1_617])
  t.strictSame(newWindow(at(1_000, 0)), [1_001, 1_017], 'without traffic: the next messages')
})

const cases: readonly {
  readonly situation: string
  readonly windows: readonly Window[]
  readonly live: LivePosition
  readonly expected: readonly Window[]
}[] = [
  {
    situation: 'enough is left of the window',
    windows: [[100, 1_000]],
    live: at(600),
    expected: [[100, 1_000]],
  },
  {
    situation: 'the traffic nears its end',
    windows: [[100, 1_000]],
    live: at(800),
    expected: [[100, 1_417]],
  },
  {
    situation: 'the traffic has stopped',
    windows: [[100, 1_000]],
    live: at(990, 0),
    expected: [[100, 1_000]],
  },
  { situation: 'and continues slowly', windows: [[100, 1_000]], live: at(995, 0), expected: [[100, 1_012]] },
  {
    situation: 'the traffic has passed it: messages in between were stored',
    windows: [[100, 1_000]],
    live: at(1_200),
    expected: [
      [100, 1_000],
      [1_301, 1_817],
    ],
  },
  { situation: 'no window', windows: [], live: at(0, 0), expected: [[1, 17]] },
  {
    situation: 'a burst: the next message of the pipeline is the first one',
    windows: [[100, 1_000]],
    live: { ...at(1_200), from: 1_150 },
    expected: [
      [100, 1_000],
      [1_150, 1_817],
    ],
  },
  {
    situation: 'a burst, but the message is in the last window',
    windows: [[100, 1_000]],
    live: { ...at(1_200), from: 950 },
    expected: [
      [100, 1_000],
      [1_000, 1_817],
    ],
  },
]

t.test('while the share is full, the windows follow the traffic', async (t) => {
  for (const { situation, windows, live, expected } of cases)
    t.strictSame(extended(windows, live), expected, situation)
})

t.test('the number of windows is bounded: the last one takes in what follows it', async (t) => {
  const windows = Array.from({ length: 50 }, (_, n): Window => [n * 1_000, n * 1_000 + 500])
  const more = extended(windows, at(60_000))
  t.strictSame(more, [...windows.slice(0, -1), [49_000, 60_617]])
})

t.test('a pipeline with any earlier entry leaves out no message that the last entry does not cover', (t) => {
  const step = fc.record({ passed: fc.nat(400), perSecond: fc.nat(200), isFull: fc.boolean() })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
      const entries: (readonly Window[])[] = [[]]
      let delivered = 0
      for (const { passed, perSecond, isFull } of steps) {
        delivered += passed
        const last = entries.at(-1)!
        if (isFull) entries.push(extended(last, at(delivered, perSecond)))
      }
      const final = entries.at(-1)!
      for (let sequence = 1; sequence <= untilOf(final); sequence += 7) {
        const isLeftOut = entries.some((windows) => covers(windows, sequence))
        if (isLeftOut && !covers(final, sequence)) return false
      }
      return final.every(([from, until], index) => from < until && (final[index - 1]?.[1] ?? 0) <= from)
    }),
  )
  t.end()
})

t.test('messages of the windows that are not done yet', async (t) => {
  const windows: readonly Window[] = [
    [10, 20],
    [30, 40],
  ]
  const counts = (
    [
      [0, 100],
      [9, 19],
      [14, 34],
      [19, 29],
      [0, 5],
      [39, 100],
    ] as const
  ).map(([after, last]) => messagesWithin(windows, after, last))
  t.strictSame(counts, [20, 10, 10, 0, 0, 0])
  t.strictSame(undone(windows, 18), windows)
  t.strictSame(undone(windows, 19), [[30, 40]])
  t.strictSame(undone(windows, 39), [])
})
