/** How many challengers are evaluated at the same time, of one account and of all. */
import t from 'tap'
import { challenger } from '../../../src/words/resource/challenger.js'
import type { Row } from '../../../src/words/resource/kind/define.js'
import { lookupsIn } from './lookups.js'

const hourMs = 60 * 60_000

/** One that began and ended so many hours ago. */
const one = (
  number: number,
  account_id: string,
  [begun, ended]: readonly [number, number],
  outcome = {},
) => ({
  id: `chl_${number}`,
  account_id,
  created_at: Date.now() - begun * hourMs,
  version: 1,
  description: null,
  metadata: null,
  draft: { edges: [], routes: [], ip_policies: [], ip_restrictions: [] },
  ends_at: new Date(Date.now() - ended * hourMs).toISOString(),
  based_on: [],
  promoted_at: null,
  discarded_at: null,
  ...outcome,
})

type Made = ReturnType<typeof one>

const others = (
  count: number,
  account: (index: number) => string,
  times: readonly [number, number],
  outcome = {},
) => Array.from({ length: count }, (_, index) => one(index, account(index), times, outcome))

const mine = () => 'ac_me'
const ofOthers = (index: number) => `ac_${index}`
const recent = [3, 1] as const

const cases: [string, Made[], RegExp | undefined][] = [
  [
    'ten of the account ended within a day',
    others(10, mine, recent),
    /The account has 10 challengers .*at most 10/,
  ],
  ['nine of the account ended within a day', others(9, mine, recent), undefined],
  ['ten of the account ended earlier', others(10, mine, [30, 25]), undefined],
  ['ten of the account were discarded', others(10, mine, recent, { discarded_at: 'then' }), undefined],
  ['ten of the account were promoted', others(10, mine, recent, { promoted_at: 'then' }), undefined],
  [
    'a hundred of all accounts are evaluated',
    others(100, ofOthers, [3, -1]),
    /All accounts have 100 challengers/,
  ],
  ['a hundred of all accounts ended within a day', others(100, ofOthers, recent), /All accounts have 100/],
  ['ninety-nine of all accounts are evaluated', others(99, ofOthers, [3, -1]), undefined],
]

t.test('how many an account keeps, also such as ended long ago', async (t) => {
  const begun = one(1000, 'ac_me', [0, -1])
  const attempt = (count: number) => () =>
    challenger.check?.(begun as never, undefined, lookupsIn({ challenger: others(count, mine, [300, 200]) }))
  t.doesNotThrow(attempt(99))
  t.throws(attempt(100), { message: /The account has 100 challengers: at most 100 are allowed/ })
})

for (const [name, present, refusal] of cases) {
  t.test(name, async (t) => {
    const all = {
      ...lookupsIn(),
      ofAllAccounts: () => present as unknown as Row[],
      all: () => present.filter(({ account_id }) => account_id === 'ac_me') as unknown as Row[],
    }
    const begun = one(1000, 'ac_me', [0, -1])
    const discarded = { ...begun, discarded_at: 'then' }
    const attempts = {
      created: () => challenger.check?.(begun as never, undefined, all),
      restored: () => challenger.check?.(begun as never, discarded as never, all),
    }
    for (const [way, attempt] of Object.entries(attempts))
      if (refusal === undefined) t.doesNotThrow(attempt, way)
      else t.throws(attempt, { message: refusal }, way)
    t.doesNotThrow(
      () => challenger.check?.(begun as never, begun as never, all),
      'an update of one that runs',
    )
  })
}
