/** `weir top`: rates of the last seconds from lines and samples, and what is shown of destinations. */
import t from 'tap'
import { shownDecision } from '../../../src/management/insight/shown-decision.js'
import { pictureData, pictureOf, RecentDecisions } from '../../../src/outside/cli/top.js'
import { operatorAction } from '../../../src/words/event/operator-actions.js'
import type { LoggedDecision } from '../../../src/words/shape/decisions/logged-decision.js'
import { decisionRow } from '../../harness/decision-rows.js'

const time = '2026-11-20T10:00:00.000Z'
const line = (decision: LoggedDecision['decision'], server_name: string): LoggedDecision => ({
  ...shownDecision(decisionRow({ edgeId: 'edgtcp_1', at: Date.parse(time), decision })),
  server_name,
  decided_by:
    decision === 'allow'
      ? { type: 'none', id: null, policy: null, rule_id: null }
      : { type: 'traffic_policy', id: 'edgtcp_1', policy: 'not from X', rule_id: null },
})

t.test('rates are those of the last ten seconds, and samples count for what they stand for', async (t) => {
  const recent = new RecentDecisions()
  t.equal(recent.rate, 0)
  for (let second = 0; second < 5; second += 1) {
    recent.add(line('deny', 'forgotten.example'))
    recent.endSecond({ seen: 1, sent: 1, lost: 0 })
  }
  for (let second = 0; second < 10; second += 1) {
    for (let index = 0; index < 3; index += 1) recent.add(line('allow', 'a.example'))
    recent.add(line('deny', 'b.example'))
    recent.endSecond({ seen: 400, sent: 4, lost: 0 })
  }
  t.equal(recent.rate, 400)
  t.strictSame(recent.rates('byDecision'), [
    ['allow', 300],
    ['deny', 100],
  ])
  t.strictSame(recent.rates('byEdge'), [
    ['a.example:22  edgtcp_1', 300],
    ['b.example:22  edgtcp_1', 100],
  ])
  t.strictSame(recent.rates('byDecider'), [['traffic_policy not from X edgtcp_1', 100]])
  const last_error = { at: time, code: 'Http503', msg: 'The server answered 503.' }
  const actions = [operatorAction('try_now', 'ed_1')]
  const backlog = { events: 7, oldest_at: time, expires_at: null }
  const status = { state: 'failing', cause: 'transient', backlog, last_error, actions } as const
  const destinations = [{ id: 'ed_1', description: 'lake', status }]
  t.strictSame(
    pictureData(recent, destinations, Date.parse(time) + 2_500),
    {
      at: '2026-11-20T10:00:02.500Z',
      newest_record_at: time,
      rate: 400,
      decisions: { allow: 300, deny: 100 },
      edges: { 'a.example:22  edgtcp_1': 300, 'b.example:22  edgtcp_1': 100 },
      stopped_by: { 'traffic_policy not from X edgtcp_1': 100 },
      unserved: [],
      destinations,
    },
    'as JSON',
  )
  t.strictSame(pictureOf(recent, destinations, Date.parse(time) + 2_500), [
    '400.0 decisions per second; the newest record is 2.5 s old',
    '',
    '    per s  decision',
    '      300  allow',
    '      100  deny',
    '',
    '    per s  endpoint and edge',
    '      300  a.example:22  edgtcp_1',
    '      100  b.example:22  edgtcp_1',
    '',
    '    per s  stopped by',
    '      100  traffic_policy not from X edgtcp_1',
    '',
    '  backlog  destination',
    '        7  ed_1  failing (transient), oldest 3 s  lake',
    '           Http503: The server answered 503.',
    '           try now: weir destination resume ed_1',
  ])
})

t.test('by own times, what began long before it was stored is no traffic of now', async (t) => {
  const began = (secondsBefore: number) => ({
    ...line('allow', secondsBefore > 60 ? 'late.example' : 'a.example'),
    own_at: new Date(Date.parse(time) - secondsBefore * 1_000).toISOString(),
  })
  const recent = new RecentDecisions('own')
  for (const secondsBefore of [3_600, 1, 59, 61]) recent.add(began(secondsBefore))
  recent.add(line('deny', 'says no time'))
  recent.endSecond({ seen: 50, sent: 5, lost: 0 })
  t.strictSame(recent.rates('byEdge'), [
    ['a.example:22  edgtcp_1', 20],
    ['says no time:22  edgtcp_1', 10],
  ])
  t.equal(
    pictureOf(recent, [], Date.parse(time) + 500)[0],
    '30.0 decisions per second of what began in the last minute, 20.0 of what began before; the newest record is 0.5 s old',
  )
  t.match(pictureData(recent, [], 0), { rate: 50, late_rate: 20 })
})

t.test('before the first record there is nothing to show', async (t) => {
  t.strictSame(pictureOf(new RecentDecisions(), [], 0), ['0.0 decisions per second; no record yet'])
  const sentence = '2 records in the last 24 hours: no edge serves a:80; your edges: a:443.'
  t.ok(pictureOf(new RecentDecisions(), [], 0, [sentence]).includes(sentence))
})
