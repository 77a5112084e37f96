/** A bouncer's bans, from a view that is in the middle of a change, and from the past. */
import t from 'tap'
import { packText } from '../../../src/ground/core/text/packed-text.js'
import { AccountBans } from '../../../src/management/insight/bans/account-bans.js'
import type { Ban, Bans } from '../../../src/management/insight/bans/bans.js'
import type { PastRows } from '../../../src/management/store/history/past-rows.js'
import type { DeclaredRow } from '../../../src/words/resource/registry.js'
import { rowKey, rulesKey, stateKey } from '../../../src/words/view/keys.js'
import { ViewState } from '../../../src/words/view/view-state.js'

const account_id = 'ac_1'
const rowOf = (id: string, version: number, more: object = {}) => ({
  id,
  account_id,
  version,
  created_at: 0,
  ...more,
})
const deny = (id: string, version: number, more: object) =>
  rowOf(id, version, { action: 'deny', enforced: true, ...more })

interface Configuration {
  readonly lists?: readonly (object & { readonly id: string })[]
  readonly chunks?: readonly (object & { readonly id: string })[]
  readonly policies: Readonly<Record<string, readonly object[]>>
}

/** A view with the bouncer's row of version 1. */
function opened(
  { lists = [], chunks = [], policies }: Configuration,
  past: Partial<Record<string, object[]>> = {},
) {
  const state = new ViewState()
  let revision = 0
  const take = (key: string, value: object) =>
    state.apply({ key, revision: ++revision, value: Buffer.from(JSON.stringify(value)) })
  const takeRules = (policyId: string, rules: readonly object[]) =>
    take(rulesKey(policyId, '0', 0), {
      account_id,
      rules: rules.map((rule) => ({ ip_policy_id: policyId, ...rule })),
    })
  const own = lists.map(({ id }) => id)
  const bouncer = rowOf('bnc_1', 1, { ip_policy_ids: Object.keys(policies), ip_list_ids: own })
  take(rowKey('bouncer', bouncer.id), bouncer)
  for (const list of lists) take(rowKey('ip_list', list.id), list)
  for (const chunk of chunks) take(rowKey('ip_list_chunk', chunk.id), chunk)
  for (const [id, rules] of Object.entries(policies)) {
    take(rowKey('ip_policy', id), rowOf(id, 1))
    takeRules(id, rules)
  }
  const takeVersion = (version: number) => take(stateKey(account_id), { version, stored: 0, counts: {} })
  takeVersion(1)
  const pastRows = { at: async (_account: string, _version: number, kind: string) => past[kind] ?? [] }
  const bans = new AccountBans(pastRows as unknown as Pick<PastRows, 'at'>, { bouncerTooLarge: () => {} })
  return { state, takeRules, takeVersion, bans, bouncer: bouncer as unknown as DeclaredRow<'bouncer'> }
}

const banned = (bans: Bans): Ban[] => [...bans.all(0, () => true)].filter((ban) => ban !== undefined)
const rangesOf = (bans: Bans): string[] => banned(bans).map(({ cidr }) => cidr)

t.test('rules that arrived before the version of the account wait for it', async (t) => {
  const [one, two, three] = [1, 2, 3].map((n) => deny(`ipr_${n}`, n, { cidr: `192.0.2.${n}/32` })) as [
    object,
    object,
    object,
  ]
  const { state, takeRules, takeVersion, bans, bouncer } = opened({ policies: { ipp_1: [one] } })
  t.equal(
    (await bans.of({ state, reached: () => Promise.reject(new Error('Nothing is missing.')) }, bouncer))
      .version,
    1,
  )
  takeRules('ipp_1', [one, two])
  const waited: number[] = []
  const reached = async (_account: string, version: number) => {
    waited.push(version)
    takeVersion(version)
    // The next change begins to arrive.
    if (version === 2) takeRules('ipp_1', [one, two, three])
  }
  const present = await bans.of({ state, reached }, bouncer)
  t.strictSame(waited, [2, 3])
  t.equal(present.version, 3, 'noted is a version that has them all')
  t.strictSame(rangesOf(present.bans), ['192.0.2.1/32', '192.0.2.2/32', '192.0.2.3/32'])
  takeRules('ipp_1', [deny('ipr_4', 9, { cidr: '192.0.2.4/32' })])
  await t.rejects(bans.of({ state, reached: async () => {} }, bouncer), { code: 'ERR_UNAVAILABLE' })
  const replaced = { ...bouncer, version: 0 }
  await t.rejects(bans.of({ state, reached }, replaced), { message: /has been changed/ }, 'meanwhile')
})

t.test('a list that several rules name bans once, as the rule that lasts longest says', async (t) => {
  const chunks = [rowOf('ilc_1', 1, { data: await packText('192.0.2.1/32\n192.0.2.2/32') })]
  const lists = [rowOf('ipl_1', 1, { name: 'tor', entries: 2, chunks: ['ilc_1'] })]
  const rule = (n: number, expires_at: string | null) =>
    deny(`ipr_${n}`, 1, { list_id: 'ipl_1', description: `rule ${n}`, expires_at })
  const { state, bans, bouncer } = opened({
    lists,
    chunks,
    policies: {
      ipp_1: [rule(1, '2027-01-01T00:00:00Z')],
      ipp_2: [rule(2, '2028-01-01T00:00:00Z')],
      ipp_3: [],
    },
  })
  const { bans: present } = await bans.of({ state, reached: async () => {} }, bouncer)
  t.equal(present.sources.length, 5, 'three policies, the list by a rule, and the list itself')
  const ofRules = present.find('192.0.2.1/32', 0, ({ origin }) => origin === 'weir')
  t.match(ofRules, { reason: 'rule 2', endMs: Date.parse('2028-01-01T00:00:00Z') })
  t.match(banned(present), [{ origin: 'lists' }, { origin: 'lists' }], 'the list itself has no end')
})

t.test('a part of a past list that is missing is not left out', async (t) => {
  const past = {
    bouncer: [rowOf('bnc_1', 1, { ip_policy_ids: [], ip_list_ids: ['ipl_1'] })],
    ip_list: [rowOf('ipl_1', 1, { name: 'tor', entries: 2, chunks: ['ilc_1', 'ilc_2'] })],
    ip_list_chunk: [rowOf('ilc_1', 1, { data: await packText('192.0.2.1/32') })],
  }
  const { bans, bouncer } = opened({ policies: {} }, past)
  await t.rejects(bans.at(bouncer, 1), { message: /entries of the IP list ipl_1/ })
  past.ip_list_chunk.push(rowOf('ilc_2', 1, { data: await packText('192.0.2.2/32') }))
  t.strictSame(rangesOf(await bans.at(bouncer, 1)), ['192.0.2.1/32', '192.0.2.2/32'], 'nor was it kept so')
})
