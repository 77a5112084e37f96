/** Counts of a subscription: those of the books, of its own sources, and of the own account alone. */
import t from 'tap'
import { Books } from '../../../src/delivery/books/books.js'
import { noRecords } from '../../../src/delivery/books/ledger.js'
import { sourceCountsOf } from '../../../src/management/operate/destination-operations.js'
import { openTestStore } from '../../harness/api.js'
import { idleDestinations } from '../../harness/idle-status.js'

t.test('counts of subscriptions', async (t) => {
  const store = await openTestStore(t)
  const books = new Books()
  const api = await store.api({
    destinations: { ...idleDestinations, sourceCounts: (id) => sourceCountsOf(books, id) },
  })
  const [me, other] = [await api.account(), await api.account()]
  const sources = [{ type: 'tcp_connection_closed.v0' }, { type: 'log.v0' }] as const
  const made = () => me.eventSubscription.create({ sources: [...sources], destination_ids: [] })
  const [mine, second] = [await made(), await made()]
  t.strictSame(await me.subscriptionCounts(mine.id), { counts: [] }, 'no record yet')
  const [tcp, log] = ['tcp_connection_closed.v0', 'log.v0']
  books.add({
    type: 'sources',
    list: 'a list',
    sources: [
      [mine.id, tcp, 'ed_1'],
      [mine.id, log, 'ed_2'],
      [second.id, tcp, 'ed_1'],
    ],
  })
  const entry = (first: number, last: number) =>
    books.add({
      type: 'input',
      stream: 'records',
      since: 's',
      ranges: [[first, last]],
      storedAtMs: 1,
      counts: { ...noRecords, asked: [['a list', 10]], sources: [[mine.id, tcp, 'ed_1', 7, 0]] },
    })
  entry(1, 2)
  entry(1, 2)
  const { counts } = await me.subscriptionCounts(mine.id)
  t.strictSame(
    counts.map(({ type, destination_id, looked_at, produced, kept_back }) => [
      type,
      destination_id,
      looked_at,
      produced,
      kept_back,
    ]),
    [
      [tcp, 'ed_1', 20, 14, 6],
      [log, 'ed_2', 20, 0, 20],
    ],
    'a message that is entered twice counts once',
  )
  t.match((await me.subscriptionCounts(second.id)).counts, [{ looked_at: 20, produced: 0, kept_back: 20 }])
  t.equal((await other.raw.send('GET', `/event_subscriptions/${mine.id}/counts`)).status, 404)
  t.equal((await me.raw.send('GET', `/event_subscriptions/${mine.id}/counts?x=1`)).status, 400)
})
