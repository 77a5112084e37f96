/** A plan as a draft of the account: what is given for each difference, and what is said of the rest. */
import t from 'tap'
import type { Live } from '../../../../src/outside/as-code/account-state.js'
import type { Difference, Plan } from '../../../../src/outside/as-code/difference.js'
import { draftOf } from '../../../../src/outside/as-code/effect/plan-draft.js'
import { plainLine } from '../../../../src/outside/as-code/effect/report-lines.js'
import { managedKinds } from '../../../../src/outside/as-code/managed-kinds.js'

const kindOf = (name: string) => managedKinds.find((each) => each.name === name)!

const live = (kind: string, id: string, more: Partial<Live> = {}): Live => ({
  kind: kindOf(kind),
  id,
  shown: {},
  body: {},
  rules: [],
  routes: [],
  entries: undefined,
  ...more,
})

const difference = (
  action: Difference['action'],
  kind: string,
  more: Partial<Difference> = {},
): Difference => ({
  action,
  kind: kindOf(kind),
  name: 'one',
  place: undefined,
  id: 'new_1',
  live: undefined,
  body: {},
  written: {},
  fields: [],
  parts: { counts: {} },
  refusal: undefined,
  ...more,
})

const planOf = (differences: readonly Difference[], others: Plan['others'] = []): Plan => ({
  differences,
  others,
  unchanged: 0,
  unchecked: 0,
  present: new Set(),
  secrets: [],
  nameOf: (id) => `name of ${id}`,
  refusalOf: (_, msg) => msg,
})

const rule = { id: 'ipr_1', cidr: '10.0.0.0/8', action: 'allow' }
const route = (id: string, match: string) => ({ id, match, match_type: 'exact_path' })
const part = (id: string, body: object) => ({ id, isNew: true, body: { ...body }, changed: [] })

t.test('what is given', async (t) => {
  const routes = [route('edghtsrt_1', '/a'), route('edghtsrt_2', '/b'), route('edghtsrt_3', '/c')]
  const cases: [name: string, of: Difference, draft: object][] = [
    [
      'a policy of which only a member differs keeps its rules',
      difference('update', 'ipPolicy', { id: 'ipp_1', live: live('ipPolicy', 'ipp_1', { rules: [rule] }) }),
      { ip_policies: [{ id: 'ipp_1', description: '', rules: [rule] }] },
    ],
    [
      'a policy with other rules',
      difference('update', 'ipPolicy', {
        id: 'ipp_1',
        live: live('ipPolicy', 'ipp_1', { rules: [rule] }),
        parts: { rules: [part('ipr_2', { cidr: '192.0.2.0/24', action: 'deny' })], counts: {} },
      }),
      {
        ip_policies: [
          { id: 'ipp_1', description: '', rules: [{ id: 'ipr_2', cidr: '192.0.2.0/24', action: 'deny' }] },
        ],
      },
    ],
    [
      'a list that keeps its entries, without the secrets of its source',
      difference('update', 'ipList', {
        id: 'ipl_1',
        live: live('ipList', 'ipl_1'),
        body: {
          name: 'feed',
          category: null,
          source: { url: 'https://a.example', secret_headers: { a: 'b' } },
        },
      }),
      { ip_lists: [{ id: 'ipl_1', name: 'feed', category: null, entries: 0 }] },
    ],
    [
      'a list with other entries',
      difference('create', 'ipList', { body: { name: 'l' }, parts: { entries: ['192.0.2.1'], counts: {} } }),
      { ip_lists: [{ id: 'new_1', name: 'l', category: undefined, entries: ['192.0.2.1'] }] },
    ],
    [
      'an edge with one route that stays, one that changes, one that goes and a new one',
      difference('update', 'httpsEdge', {
        id: 'edghts_1',
        live: live('httpsEdge', 'edghts_1', { routes }),
        body: { hostports: ['a.example:443'], backend: { backend_id: 'x' } },
        parts: {
          routes: [part('edghtsrt_2', { match: '/b2' }), part('new_2', { match: '/d' })],
          routesRemoved: ['edghtsrt_3'],
          counts: {},
        },
      }),
      {
        https_edges: [
          {
            id: 'edghts_1',
            hostports: ['a.example:443'],
            routes: [routes[0], { id: 'edghtsrt_2', match: '/b2' }, { id: 'new_2', match: '/d' }],
          },
        ],
      },
    ],
    [
      'something that is replaced',
      difference('replace', 'tcpEdge', { live: live('tcpEdge', 'edgtcp_1'), body: { hostports: [] } }),
      { tcp_edges: [{ id: 'new_1', hostports: [] }], removes: ['edgtcp_1'] },
    ],
    [
      'something that goes',
      difference('delete', 'ipRestriction', { live: live('ipRestriction', 'ipx_1') }),
      { removes: ['ipx_1'] },
    ],
  ]
  for (const [name, of, draft] of cases) {
    const found = draftOf(planOf([of]), [])
    t.strictSame(found.draft, { removes: [], policy_tests: [], ...draft }, name)
    t.ok(found.decides, name)
  }
})

t.test('tests of the files, and those that the account keeps', async (t) => {
  const test = (id: string) =>
    live('policyTest', id, { body: { description: id, given: { type: id }, expect: {} } })
  const [same, changed, gone, kept] = ['same', 'changed', 'gone', 'kept'].map(test)
  const plan = planOf(
    [
      difference('update', 'policyTest', { live: changed!, body: { description: '', given: 1, expect: 2 } }),
      difference('delete', 'policyTest', { live: gone! }),
    ],
    [{ kind: kindOf('policyTest'), live: kept!, name: 'kept' }],
  )
  const { tests, decides } = draftOf(plan, [same!, changed!, gone!, kept!])
  t.strictSame(
    tests.files.map(({ description }) => description),
    ['name of one', 'same'],
  )
  t.strictSame(
    tests.kept.map(({ description }) => description),
    ['kept'],
  )
  t.notOk(decides, 'tests decide nothing')
})

t.test('what a trial says nothing about', async (t) => {
  const { gaps } = draftOf(
    planOf([
      difference('create', 'ipList', { name: 'feed', body: { name: 'feed', source: { url: 'x' } } }),
      difference('create', 'ipRestriction', { body: { type: 'api' } }),
      difference('create', 'apiKey'),
      difference('create', 'tcpEdge', { body: { hostports: ['a.example:22', 'rsvaddr1.invalid:1'] } }),
    ]),
    [],
  )
  t.strictSame(gaps.map(plainLine), [
    'The list feed gets its entries from its source after it is made: here it has none.',
    'Records say nothing about the restriction of the type api.',
    'No decision about records depends on keys.',
    'Records of names that no edge serves now (a.example:22) are looked at only if they name the account, or there is no other account.',
  ])
})
