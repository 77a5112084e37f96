/** IP lists that their sources do not feed any more, as the overview names them. */
import t from 'tap'
import { failingLists } from '../../../src/management/operate/failing-lists.js'
import type { FeedStatus } from '../../../src/words/resource/fields/ip-list-source.js'
import type { Row } from '../../../src/words/resource/kind/define.js'
import { ViewState } from '../../../src/words/view/view-state.js'

const nowMs = Date.parse('2026-11-20T10:00:00Z')
const good: FeedStatus = {
  state: 'current',
  fetched_at: '2026-11-20T09:00:00Z',
  changed_at: null,
  etag: null,
  next_at: '2026-11-20T11:00:00Z',
  error: null,
}
const failing = (state: 'failing' | 'stale', since: string): FeedStatus => ({
  ...good,
  state,
  error: { code: 'timeout', message: 'No answer arrived in time.', since },
})

function found(statuses: Readonly<Record<string, FeedStatus | null>>) {
  const state = new ViewState()
  let revision = 0
  for (const id of Object.keys(statuses)) {
    const account_id = id.endsWith('_other') ? 'ac_2' : 'ac_1'
    const value = Buffer.from(
      JSON.stringify({ id, account_id, version: 1, created_at: 0, name: id.slice(4), chunks: [] }),
    )
    revision += 1
    state.apply({ key: `row.ip_list.${id}`, value, revision } as never)
  }
  return failingLists(state, 'ac_1', { of: ({ id }: Row) => statuses[id] ?? null }, nowMs)
}

t.test('lists that are fed, wait, or have no source need no hand', async (t) => {
  const other = failing('stale', '2026-11-20T08:00:00Z')
  t.strictSame(
    found({ ipl_a: good, ipl_b: { ...good, state: 'waiting' }, ipl_c: null, ipl_other: other }),
    [],
  )
})

t.test('one that failed just now is worth knowing', async (t) => {
  t.match(found({ ipl_a: good, ipl_b: failing('failing', '2026-11-20T09:30:00Z') }), [
    {
      type: 'lists_failing',
      severity: 'notice',
      sentence: `The IP list "b" can't be fetched from its source since 2026-11-20T09:30:00Z: No answer arrived in time.`,
      count: 1,
      since: '2026-11-20T09:30:00.000Z',
      kind: 'ip_list',
      ids: ['ipl_b'],
    },
  ])
})

t.test('those that are stale come first, and someone should act', async (t) => {
  const statuses = {
    ipl_stale: failing('stale', '2026-11-18T08:00:00Z'),
    ipl_failing: failing('failing', '2026-11-20T09:30:00Z'),
    ipl_never: { ...good, state: 'stale' as const, fetched_at: null },
  }
  t.match(found(statuses), [
    {
      severity: 'attention',
      sentence: /^3 IP lists, such as "\w+", can't be fetched from their sources since 2026-11-18T08:00:00Z/,
      count: 3,
    },
  ])
  t.equal(found(statuses)[0]?.ids.at(-1), 'ipl_failing')
})
