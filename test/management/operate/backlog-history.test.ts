/** How many events waited for a destination, for a chart. */
import t from 'tap'
import { BacklogHistory } from '../../../src/management/operate/backlog-history.js'

const minuteMs = 60_000
const dayMs = 24 * 60 * minuteMs

const pointsOf = (history: BacklogHistory, id: string, waiting = 0) => history.of(id, waiting).points

t.test('only minutes in which events waited have a point, and the present is one', (t) => {
  const waiting = new Map([
    ['ed_stuck', { backlog: 7 }],
    ['ed_fine', { backlog: 0 }],
  ])
  const history = new BacklogHistory(() => waiting)
  t.teardown(() => history.close())
  const begin = Math.floor(Date.now() / minuteMs) * minuteMs
  history.sample(begin + 5_000)
  waiting.set('ed_stuck', { backlog: 9 })
  history.sample(begin + minuteMs + 5_000)
  const counts = pointsOf(history, 'ed_stuck', 10).map(({ events }) => events)
  t.strictSame(counts, [7, 9, 10])
  t.equal(pointsOf(history, 'ed_stuck')[0]?.at, `${new Date(begin).toISOString().slice(0, 19)}Z`)
  t.strictSame(pointsOf(history, 'ed_fine'), [])
  t.end()
})

t.test('samples leave after a day, and with the last of them the destination', (t) => {
  const waiting = new Map([['ed_stuck', { backlog: 7 }]])
  const history = new BacklogHistory(() => waiting)
  t.teardown(() => history.close())
  history.sample(0)
  history.sample(10 * minuteMs)
  waiting.set('ed_stuck', { backlog: 0 })
  history.sample(dayMs + 5 * minuteMs)
  t.equal(pointsOf(history, 'ed_stuck').length, 1)
  history.sample(dayMs + 15 * minuteMs)
  t.strictSame(pointsOf(history, 'ed_stuck'), [])
  t.end()
})

t.test('of too many, the largest backlogs are kept', (t) => {
  const waiting = new Map(Array.from({ length: 1_500 }, (_, index) => [`ed_${index}`, { backlog: index }]))
  const history = new BacklogHistory(() => waiting)
  t.teardown(() => history.close())
  history.sample()
  t.equal(pointsOf(history, 'ed_1499').length, 1)
  t.equal(pointsOf(history, 'ed_500').length, 1)
  t.strictSame(pointsOf(history, 'ed_499'), [])
  t.end()
})
