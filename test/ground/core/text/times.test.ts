/** Times in sentences. */
import t from 'tap'
import { sentenceForTerminal, withTimes } from '../../../../src/ground/core/text/times.js'

const cases: readonly [sentence: string, want: string][] = [
  ['It waits since 2026-11-20T13:19:00Z: 3 messages.', 'It waits since <1795180740>: 3 messages.'],
  ['From 2026-11-20T13:19:00Z to 2026-11-20T13:19:00.250Z.', 'From <1795180740> to <1795180740.25>.'],
  ['Destination "2026-11-20T13:19:00Z" is paused.', 'Destination "2026-11-20T13:19:00Z" is paused.'],
  [
    '"a \\" 2026-11-20T13:19:00Z" since 2026-11-20T13:19:00Z',
    '"a \\" 2026-11-20T13:19:00Z" since <1795180740>',
  ],
  ['2026-13-45T13:19:00Z and 2026-11-20 13:19', '2026-13-45T13:19:00Z and 2026-11-20 13:19'],
  ['no time', 'no time'],
]

for (const [sentence, want] of cases)
  t.test(sentence, async (t) => {
    t.equal(
      withTimes(sentence, (atMs) => `<${atMs / 1000}>`),
      want,
    )
  })

t.test('a terminal shows its own time', async (t) => {
  const before = process.env['TZ']
  t.teardown(() => {
    if (before === undefined) delete process.env['TZ']
    else process.env['TZ'] = before
  })
  process.env['TZ'] = 'Asia/Kolkata'
  t.equal(sentenceForTerminal('since 2026-11-20T13:19:00Z.'), 'since 2026-11-20 18:49:00.')
  process.env['TZ'] = 'UTC'
  t.equal(sentenceForTerminal('since 2026-11-20T13:19:00Z.'), 'since 2026-11-20 13:19:00Z.')
})
