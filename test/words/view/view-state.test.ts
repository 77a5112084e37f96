/** A view's state after entries of a bucket: rows, lists of ids, rules that count, and whether it is complete. */
import fc from 'fast-check'
import t from 'tap'
import type { Row } from '../../../src/words/resource/kind/define.js'
import { Completeness } from '../../../src/words/view/completeness.js'
import { metaKey, rowKey, rulesKey, stateKey } from '../../../src/words/view/keys.js'
import { SortedIds } from '../../../src/words/view/sorted-ids.js'
import { isOlder } from '../../../src/words/view/view.js'
import { ViewState } from '../../../src/words/view/view-state.js'

const accountId = 'ac_1'
const rowOf = (id: string, more: object = {}): Row => ({
  id,
  account_id: accountId,
  version: 1,
  created_at: 0,
  // Fields that rows of the kinds of this file must have.
  action: 'deny',
  hostports: [],
  target: {},
  edge_id: 'edghts_1',
  ip_policy_id: 'ipp_1',
  match: '/',
  match_type: 'path_prefix',
  ...more,
})
const policy = (generation: string): Row => rowOf('ipp_1', { rules_generation: generation })
const rule = (id: string): Row => rowOf(id, { ip_policy_id: 'ipp_1' })

/** A state, and a function that gives it the next entry; without a value the key was deleted. */
function fed(kinds?: readonly string[]) {
  const state = new ViewState(kinds && new Set(kinds))
  let revision = 0
  const take = (key: string, value?: object) => {
    const bytes = value === undefined ? undefined : Buffer.from(JSON.stringify(value))
    return state.apply({ key, revision: ++revision, value: bytes })
  }
  const takeRules = (generation: string, chunk: number, ids?: readonly string[]) =>
    take(
      rulesKey('ipp_1', generation, chunk),
      ids && { account_id: accountId, rules: ids.map((id) => rule(id)) },
    )
  return { state, take, takeRules }
}

const countingRules = (state: ViewState): string[] =>
  [...(state.rules('ipp_1')?.rules ?? [])].map(({ id }) => id)
const listedRules = (state: ViewState): string[] => [...state.ids(accountId, 'ip_policy_rule').below()]

t.test('rules of the generation that the policy names count', async (t) => {
  const { state, take, takeRules } = fed()
  take(rowKey('ip_policy', 'ipp_1'), rowOf('ipp_1'))
  t.equal(takeRules('0', 0, ['b', 'a']), 'ip_policy_rule', 'single rules count at once')
  t.strictSame(countingRules(state), ['b', 'a'])
  t.strictSame(listedRules(state), ['b', 'a'], 'lists are in descending order')
  t.equal(takeRules('5-x', 0, ['a', 'c']), undefined, 'a staged generation changes nothing')
  t.strictSame(countingRules(state), ['b', 'a'])
  t.strictSame([...state.idleGenerations()], [{ policyId: 'ipp_1', generation: '5-x', accountId }])
  const { version } = state.rules('ipp_1')!
  take(rowKey('ip_policy', 'ipp_1'), policy('5-x'))
  t.strictSame(countingRules(state), ['a', 'c'], 'all of it counts as soon as the policy names it')
  t.strictSame(listedRules(state), ['c', 'a'])
  t.not(state.rules('ipp_1')?.version, version, 'its stamp is another one')
  t.strictSame([...state.idleGenerations()], [], 'the one before is forgotten')
  t.equal(state.revisionOf(rulesKey('ipp_1', '0', 0)), 0, 'with its revisions')
})

t.test('rules move between chunks and are removed', async (t) => {
  const { state, take, takeRules } = fed()
  take(rowKey('ip_policy', 'ipp_1'), rowOf('ipp_1'))
  takeRules('0', 0, ['a', 'b'])
  takeRules('0', 1, ['b', 'c'])
  t.equal(state.chunkOf('b'), 1, 'the later entry decides')
  takeRules('0', 0, ['a'])
  t.strictSame(listedRules(state), ['c', 'b', 'a'], 'a rule that moved is not removed with its old chunk')
  takeRules('0', 1)
  t.strictSame(listedRules(state), ['a'])
  t.equal(state.chunkOf('c'), undefined)
  t.strictSame(state.countsOf(accountId), { ip_policy: 1, ip_policy_rule: 1 })
})

t.test('a state that holds one kind only', async (t) => {
  const { state, take, takeRules } = fed(['event_destination'])
  const row = rowKey('event_destination', 'ed_1')
  t.equal(take(rowKey('tcp_edge', 'edgtcp_1'), rowOf('edgtcp_1')), undefined)
  t.equal(takeRules('0', 0, ['a']), undefined)
  t.equal(take(row, rowOf('ed_1')), 'event_destination')
  t.strictSame([...state.rows.keys()], ['event_destination'])
  const counts = { tcp_edge: 2, ip_policy_rule: 1, event_destination: 2 }
  take(stateKey(accountId), { version: 1, stored: 1, counts })
  t.notOk(state.isWhole(accountId), 'not without all rows of this kind')
  take(rowKey('event_destination', 'ed_2'), rowOf('ed_2'))
  t.ok(state.isWhole(accountId), 'whatever it has of others')
  take(row)
  take(rowKey('tcp_edge', 'edgtcp_1'))
  t.equal(state.revision, 7, 'it is as new as the last entry of any kind')
  t.strictSame([...state.revisions.keys()], [row, stateKey(accountId), rowKey('event_destination', 'ed_2')])
})

t.test('lists by account and by parent', async (t) => {
  const { state, take } = fed()
  const route = (id: string, edge: string) => rowOf(id, { edge_id: edge })
  take(rowKey('https_edge', 'edghts_1'), rowOf('edghts_1'))
  take(rowKey('https_edge_route', 'r1'), route('r1', 'edghts_1'))
  take(rowKey('https_edge_route', 'r2'), route('r2', 'edghts_2'))
  t.strictSame([...state.ids(accountId, 'https_edge_route').below()], ['r2', 'r1'])
  t.strictSame([...state.ids('edghts_1', 'https_edge_route').below()], ['r1'])
  take(rowKey('https_edge_route', 'r1'))
  t.strictSame([...state.ids('edghts_1', 'https_edge_route').below()], [])
  t.equal(state.revisionOf(rowKey('https_edge_route', 'r1')), 4, 'a deletion has a revision, too')
  t.equal(take('unknown.key', {}), undefined, 'an unknown key is ignored')
})

t.test('is an account whole?', async (t) => {
  const cases = [
    { name: 'as many rows as it says', counts: { ip_policy: 1, api_key: 1 }, want: true },
    { name: 'a row is missing', counts: { ip_policy: 2, api_key: 1 }, want: false },
    { name: 'a row too many', counts: { api_key: 1 }, want: false },
    { name: 'a kind without any row', counts: { ip_policy: 1, api_key: 1, domain: 1 }, want: false },
    { name: 'an API key is missing', counts: { ip_policy: 1, api_key: 2 }, want: false },
    { name: 'an API key too many is forged and changes nothing', counts: { ip_policy: 1 }, want: true },
  ]
  for (const { name, counts, want } of cases) {
    const { state, take } = fed()
    take(rowKey('ip_policy', 'ipp_1'), rowOf('ipp_1'))
    take(rowKey('api_key', 'ak_1'), rowOf('ak_1'))
    take(stateKey(accountId), { version: 3, stored: 3, counts })
    t.equal(state.isWhole(accountId), want, name)
  }
})

t.test('a state is complete once each account was whole at some time', async (t) => {
  const meta = (accounts: number) => ({ deployment_id: 'd', epoch: 1, accounts, key_fingerprint: '' })
  const account = (counts: object) => ({ version: 1, stored: 1, counts })
  const { state, take } = fed()
  const completeness = new Completeness(state)
  const takeNoted = (key: string, value?: object): boolean => {
    take(key, value)
    completeness.note(key)
    return completeness.holds
  }
  takeNoted(stateKey(accountId), account({ ip_policy: 1 }))
  t.notOk(completeness.holds, 'not before everything was read')
  completeness.begin()
  t.notOk(completeness.holds, 'a row is missing')
  takeNoted(rowKey('ip_policy', 'ipp_1'), rowOf('ipp_1'))
  t.notOk(
    takeNoted(stateKey(accountId), account({ ip_policy: 1 })),
    'whole, but the bucket has no meta entry',
  )
  t.notOk(takeNoted(metaKey, meta(2)), 'an account is missing')
  t.ok(takeNoted(stateKey('ac_2'), account({})), 'complete')
  t.notOk(takeNoted(stateKey('ac_2'), account({ domain: 1 })), 'an account that is no longer whole')
  completeness.begin()
  t.notOk(completeness.holds, 'a second pass forgives nothing')
})

t.test('is a state older than another?', async (t) => {
  const stateAt = (deployment: string, epoch: number, version: number): ViewState => {
    const { state, take } = fed()
    take(metaKey, { deployment_id: deployment, epoch, accounts: 1, key_fingerprint: '' })
    take(stateKey(accountId), { version, stored: version, counts: {} })
    return state
  }
  const inUse = stateAt('d', 2, 7)
  const cases = [
    { name: 'the same', state: stateAt('d', 2, 7), want: false },
    { name: 'a later version', state: stateAt('d', 2, 8), want: false },
    { name: 'an earlier version: restored from a backup', state: stateAt('d', 2, 6), want: true },
    { name: 'an earlier version of a refilled bucket', state: stateAt('d', 3, 6), want: false },
    { name: 'another deployment', state: stateAt('e', 2, 6), want: false },
    { name: 'an account is missing', state: new ViewState(), want: false },
  ]
  for (const { name, state, want } of cases) t.equal(isOlder(state, inUse), want, name)
})

t.test('sorted ids are a sorted set after any additions and removals', async () => {
  const idOf = (number: number): string => String(number).padStart(5, '0')
  const id = fc.nat(4_000).map(idOf)
  // Up to some blocks of ids, at any distance, in either direction.
  const some = fc
    .record({
      from: fc.nat(2_000),
      by: fc.integer({ min: 1, max: 7 }),
      count: fc.nat(1_500),
      isUp: fc.boolean(),
    })
    .map(({ from, by, count, isUp }) => {
      const ids = Array.from({ length: count }, (_, at) => idOf(from + at * by))
      return isUp ? ids : ids.reverse()
    })
  const step = fc.oneof(
    fc.record({ add: fc.oneof(some, fc.array(id)) }),
    fc.record({ remove: fc.oneof(some, fc.array(id)) }),
    fc.record({ gone: fc.oneof(some, fc.array(id)), come: fc.oneof(some, fc.uniqueArray(id)) }),
  )
  fc.assert(
    fc.property(fc.array(step), id, (steps, before) => {
      const ids = new SortedIds()
      const want = new Set<string>()
      for (const each of steps) {
        if ('add' in each) {
          for (const one of each.add) {
            ids.add(one)
            want.add(one)
          }
        } else if ('remove' in each) {
          for (const one of each.remove) {
            ids.delete(one)
            want.delete(one)
          }
        } else {
          const gone = new Set(each.gone)
          for (const one of gone) want.delete(one)
          const come = each.come.filter((one) => !want.has(one)).sort()
          for (const one of come) want.add(one)
          ids.replace(gone, come)
        }
      }
      const sorted = [...want].sort().reverse()
      const below = sorted.filter((one) => one < before)
      return [ids, ids.copy()].every(
        (each) =>
          each.size === want.size &&
          [...each.below()].join() === sorted.join() &&
          [...each.below(before)].join() === below.join(),
      )
    }),
  )
})

t.test('a few ids among very many are changed without a look at all of them', async (t) => {
  let looks = 0
  class CountedId {
    readonly #text: string
    constructor(number: number) {
      this.#text = String(number).padStart(7, '0')
    }
    // Called by each comparison.
    valueOf(): string {
      looks += 1
      return this.#text
    }
  }
  const counted = (number: number) => new CountedId(number) as unknown as string
  const ids = new SortedIds()
  ids.replace(
    new Set(),
    Array.from({ length: 100_000 }, (_, at) => counted(10 * at)),
  )
  const come = Array.from({ length: 10 }, (_, at) => counted(10_000 * at + 5))
  looks = 0
  ids.replace(new Set(), come)
  ids.replace(new Set(come), [])
  t.equal(ids.size, 100_000)
  t.ok(looks < 2_000, `${looks} values were compared`)
})
