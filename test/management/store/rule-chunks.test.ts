/** Which chunk a rule goes to, what a chunk holds after an edit, and what a replacement puts and removes. */
import t from 'tap'
import type { ReplacedRules } from '../../../src/management/store/change/change-rows.js'
import {
  addReplaced,
  chunksOf,
  editedChunk,
  isStagedFor,
  placeRules,
  rulesPerChunkMax,
} from '../../../src/management/store/change/rule-chunks.js'
import type { Row } from '../../../src/words/resource/kind/define.js'
import { accountId, policyRow, ruleRow, rulesIn, stateWith } from './states.js'

const ruleKind = 'ip_policy_rule'
const rulesOf = (count: number, from = 0, version = 1): Row[] =>
  Array.from({ length: count }, (_, at) =>
    ruleRow(`ipr_${String(from + at).padStart(3, '0')}`, 'ipp_1', version),
  )
const put = (row: Row) => ({ kind: ruleKind, row, isNew: true })
const removal = (row: Row) => ({ kind: ruleKind, row })

t.test('the chunks in which rules are placed', async (t) => {
  const full = rulesOf(rulesPerChunkMax)
  const some = rulesOf(2, 100)
  const state = stateWith(
    policyRow('ipp_1', '9'),
    policyRow('ipp_2'),
    rulesIn('ipp_1', '9', 0, full),
    rulesIn('ipp_1', '9', 3, some),
    rulesIn('ipp_2', '0', 0, [ruleRow('ipr_900', 'ipp_2')]),
  )
  const inChunk = (chunk: number, put: string[], gone: string[] = []) => ({
    policyId: 'ipp_1',
    generation: '9',
    chunk,
    put,
    gone,
  })
  const added = rulesOf(rulesPerChunkMax - 1, 200)
  const addedIds = added.map(({ id }) => id)
  const cases = [
    { name: 'nothing', puts: [], removals: [], want: [] },
    {
      name: 'other kinds',
      puts: [{ ...put(policyRow('ipp_1')), kind: 'ip_policy' }],
      removals: [],
      want: [],
    },
    {
      name: 'a new rule goes into the last chunk',
      puts: rulesOf(1, 200).map(put),
      removals: [],
      want: [inChunk(3, ['ipr_200'])],
    },
    {
      name: 'new rules that do not fit begin a new chunk',
      puts: added.map(put),
      removals: [],
      want: [inChunk(3, addedIds.slice(0, -1)), inChunk(4, addedIds.slice(-1))],
    },
    {
      name: 'a known rule stays in its chunk',
      puts: [full[5]!, some[1]!].map(put),
      removals: [],
      want: [inChunk(0, ['ipr_005']), inChunk(3, ['ipr_101'])],
    },
    {
      name: 'a rule is removed from its chunk',
      puts: [],
      removals: [full[5]!, full[6]!].map(removal),
      want: [inChunk(0, [], ['ipr_005', 'ipr_006'])],
    },
    {
      name: 'a rule that is not there is not removed',
      puts: [],
      removals: rulesOf(1, 300).map(removal),
      want: [],
    },
    {
      name: 'two policies',
      puts: [ruleRow('ipr_400', 'ipp_2'), ...rulesOf(1, 200)].map(put),
      removals: [],
      want: [{ ...inChunk(0, ['ipr_400']), policyId: 'ipp_2', generation: '0' }, inChunk(3, ['ipr_200'])],
    },
    {
      name: 'the first rule of a policy',
      puts: [ruleRow('ipr_500', 'ipp_3')].map(put),
      removals: [],
      want: [{ ...inChunk(0, ['ipr_500']), policyId: 'ipp_3', generation: '0' }],
    },
  ]
  for (const { name, puts, removals, want } of cases)
    t.strictSame(placeRules(state, puts, removals), want, name)
})

t.test('a chunk after an edit', async (t) => {
  const [one, two, three] = rulesOf(3) as [Row, Row, Row]
  const newer = { ...two, version: 2 }
  const before = { account_id: accountId, rules: [one, two] }
  const cases = [
    { name: 'no chunk before', before: undefined, put: [one], gone: [], want: [one] },
    { name: 'an added rule', before, put: [three], gone: [], want: [one, two, three] },
    { name: 'a changed rule', before, put: [newer], gone: [], want: [one, newer] },
    { name: 'a removed rule', before, put: [], gone: [one.id], want: [two] },
    { name: 'the last one removed', before, put: [], gone: [one.id, two.id], want: [] },
    { name: 'an unknown one removed', before, put: [], gone: [three.id], want: [one, two] },
  ]
  for (const { name, before, put, gone, want } of cases) {
    const after = editedChunk(accountId, before, put, gone)
    t.strictSame(after, { account_id: accountId, rules: want }, name)
    t.strictSame(editedChunk(accountId, after, put, gone), after, `${name}: the same when done twice`)
  }
})

t.test('rules are cut into chunks that fit a key', async (t) => {
  const cases = [
    { rules: 0, want: [] },
    { rules: 1, want: [1] },
    { rules: rulesPerChunkMax, want: [rulesPerChunkMax] },
    { rules: rulesPerChunkMax + 1, want: [rulesPerChunkMax, 1] },
  ]
  for (const { rules, want } of cases) {
    const chunks = [...chunksOf(rulesOf(rules), accountId)]
    t.strictSame(
      chunks.map((chunk) => chunk.rules.length),
      want,
    )
    t.strictSame(
      chunks.flatMap((chunk) => chunk.rules),
      rulesOf(rules),
      'all of them, in order',
    )
  }
})

t.test('are the staged rules those of the change?', async (t) => {
  const staged = [...chunksOf([...rulesOf(40), ...rulesOf(2, 40, 9)], accountId)]
  const cases = [
    { name: 'as many, none later', count: 42, version: 9, want: true },
    { name: 'a chunk is missing', count: 43, version: 9, want: false },
    { name: 'some belong to a later change', count: 42, version: 8, want: false },
  ]
  for (const { name, count, version, want } of cases) t.equal(isStagedFor(staged, count, version), want, name)
  t.ok(isStagedFor([], 0, 1), 'a replacement by nothing')
})

t.test('what a replacement puts and removes', async (t) => {
  const [one, two, three] = rulesOf(3) as [Row, Row, Row]
  const newer = { ...two, version: 9 }
  const cases = [
    { name: 'the same rules', present: [one, two], staged: [one, two], put: [], removed: [] },
    { name: 'a changed rule', present: [one, two], staged: [one, newer], put: [newer], removed: [] },
    { name: 'rules left out', present: [one, two, three], staged: [two], put: [], removed: [one, three] },
    { name: 'all of them', present: [one], staged: [], put: [], removed: [one] },
    { name: 'the first rules', present: [], staged: [newer], put: [newer], removed: [] },
  ]
  for (const { name, present, staged, put, removed } of cases) {
    const replaced: ReplacedRules = { put: [], removed: [] }
    await addReplaced(replaced, [...chunksOf(present, accountId)], [...chunksOf(staged, accountId)], 9)
    t.strictSame(replaced, { put, removed }, name)
  }
})
