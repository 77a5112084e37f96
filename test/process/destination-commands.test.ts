import t from 'tap'
import { checkText } from '../../src/process/destination-commands.js'
import type { DestinationCheck } from '../../src/resource/delivery-status.js'

t.test('the report of a check', (t) => {
  const nothing = { proved: [], not_proved: [], error: null, advice: null }
  const cases: { name: string; check: DestinationCheck; want: string[] }[] = [
    {
      name: 'unproved: what works, and what was not looked at',
      check: {
        ...nothing,
        result: 'unproved',
        proved: ['A works.', 'B works.'],
        not_proved: ['The right to C.'],
      },
      want: ['ed_1  unproved', '  A works.', '  B works.', '  Not proved: The right to C.'],
    },
    {
      name: 'failed: why, and what to do',
      check: {
        ...nothing,
        result: 'failed',
        error: { code: 'X', msg: 'It is missing.' },
        advice: 'Create it.',
      },
      want: ['ed_1  failed', '  X: It is missing.', '  Create it.'],
    },
  ]
  for (const { name, check, want } of cases) t.same(checkText('ed_1', check).split('\n'), want, name)
  t.end()
})
