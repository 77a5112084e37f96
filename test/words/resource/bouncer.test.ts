/** How much a bouncer may ban, and how many bouncers an account may have. */
import t from 'tap'
import { bouncer } from '../../../src/words/resource/bouncers/bouncer.js'
import { ipPolicyRule } from '../../../src/words/resource/ip-policy.js'
import type { PolicyBans, Row } from '../../../src/words/resource/kind/define.js'
import { lookupsIn, refusalOf } from './lookups.js'

const entries = { small: 10, half: 150_001, other_half: 150_000 }
const policies: Readonly<Record<string, PolicyBans>> = {
  empty: { ranges: 0, listIds: [] },
  ranges: { ranges: 149_999, listIds: [] },
  names: { ranges: 0, listIds: ['half'] },
  names_both: { ranges: 0, listIds: ['half', 'other_half'] },
}
const one = (ip_policy_ids: string[], ip_list_ids?: string[]) => ({ id: 'bnc_1', ip_policy_ids, ip_list_ids })
const accountWith = (...bouncers: object[]) => ({
  ...lookupsIn({
    bouncer: bouncers,
    ip_list: Object.entries(entries).map(([id, count]) => ({ id, name: `${id}.txt`, entries: count })),
  }),
  bansOf: (id: string) => policies[id]!,
})
const excess = (bans: number) =>
  `The bouncer bnc_1 would have ${bans} bans: at most 300000 deny rules and entries of IP lists are allowed. Its largest list is half ("half.txt"): 150001 entries.`

type Bouncer = ReturnType<typeof one>

const bouncers: [situation: string, after: Bouncer, before: Bouncer | undefined, refusal?: string][] = [
  ['rules and entries up to the bound', one(['ranges'], ['half']), undefined],
  ['one more', one(['ranges', 'names'], ['small']), undefined, excess(300_010)],
  [
    'a list that is named twice counts once',
    one(['names', 'names_both'], ['small']),
    undefined,
    excess(300_011),
  ],
  ['a change of other fields when there are too many', one(['names_both']), one(['names_both'])],
  ['one that was stored without lists', one(['names_both'], []), one(['names_both'])],
  ['one list fewer when there are too many', one(['names_both']), one(['names_both'], ['small'])],
  ['another list in place of a larger one', one(['names_both'], []), one(['names'], ['other_half', 'small'])],
  [
    'one list more when there are too many',
    one(['names_both'], ['small']),
    one(['names_both']),
    excess(300_011),
  ],
]

for (const [situation, after, before, refusal] of bouncers)
  t.test(`a bouncer: ${situation}`, async (t) => {
    const check = () => bouncer.check?.(after as never, before as never, accountWith())
    t.equal(refusalOf(check), refusal)
  })

const rule = (list_id: string | null, more = {}) => ({
  id: 'ipr_1',
  ip_policy_id: 'names',
  list_id,
  cidr: list_id === null ? '192.0.2.1/32' : null,
  action: 'deny',
  enforced: true,
  expires_at: null,
  ...more,
})
type Rule = ReturnType<typeof rule>

const both = one(['names'], ['small'])
const tooLarge = one(['names'], ['other_half'])
const rules: [situation: string, of: Bouncer, after: Rule, before: Rule | undefined, refusal?: string][] = [
  ['of one list too many', both, rule('other_half'), undefined, excess(300_011)],
  ['of a list that others name', one(['names_both']), rule('half'), undefined],
  ['of another policy', one(['ranges'], ['half']), rule('other_half'), undefined],
  ['that allows', both, rule('other_half', { action: 'allow' }), undefined],
  ['that is not enforced', both, rule('other_half', { enforced: false }), undefined],
  [
    'that begins to be enforced',
    both,
    rule('other_half'),
    rule('other_half', { enforced: false }),
    excess(300_011),
  ],
  ['that ends when there are too many', tooLarge, rule('half', { enforced: false }), rule('half')],
  ['that names another list', both, rule('other_half'), rule('half')],
  [
    'whose description changes when there are too many',
    tooLarge,
    rule('half', { description: 'new' }),
    rule('half'),
  ],
]

for (const [situation, of, after, before, refusal] of rules)
  t.test(`a rule ${situation}`, async (t) => {
    const lookups = { ...accountWith(of), rules: () => [] as Row[], countRules: () => 0 }
    t.equal(
      refusalOf(() => ipPolicyRule.check?.(after as never, before as never, lookups)),
      refusal,
    )
  })

t.test('an account has a hundred bouncers', async (t) => {
  const attempt = (count: number, previous?: Bouncer) => () =>
    bouncer.check?.(
      one(['empty']) as never,
      previous as never,
      accountWith(...Array(count).fill(one(['empty']))),
    )
  t.equal(refusalOf(attempt(99)), undefined)
  t.equal(refusalOf(attempt(100)), 'The account has 100 bouncers: at most 100 are allowed. Delete one first.')
  t.equal(refusalOf(attempt(100, one(['empty']))), undefined, 'those it has can be changed')
})
