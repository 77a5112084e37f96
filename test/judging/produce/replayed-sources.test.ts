/** Which sources a replay has: those of the chosen types; a filter lets no event of a type that lacks its names through. */
import t from 'tap'
import { buildTrafficView } from '../../../src/judging/produce/compiled-configuration.js'
import { replayedView } from '../../../src/judging/produce/replayed-sources.js'
import { trafficEvents } from '../../../src/words/event/catalog.js'
import { noYield, TestConfiguration } from '../evaluate/configuration.js'

t.test('types of a replay', async (t) => {
  const sources = ['tcp_connection_closed.v0', 'http_request_complete.v0', 'log.v0'].map((type) => {
    return { type, filter: null, fields: null }
  })
  const configured = new TestConfiguration('ac_1').subscription('es_1', { sources })
  const view = await buildTrafficView(configured, undefined, noYield)
  const replayed = (types: readonly string[] | null, filter: string | null = null) => {
    const of = { accountId: 'ac_1', destinationId: 'ed_1', types, filter }
    const lists = Object.values(replayedView(view, of, trafficEvents).subscriptions.byAccount.get('ac_1')!)
    return lists.flatMap(({ sources }) =>
      sources.map(({ kindName, filter }) => {
        const { requirement } = filter ?? {}
        return requirement?.kind === 'any' && requirement.of.length === 0 ? `no ${kindName}` : kindName
      }),
    )
  }
  const [closed, whole, log] = sources.map(({ type }) => type)
  t.strictSame(replayed(null).toSorted(), [whole, log, closed])
  t.strictSame(replayed([closed!]), [closed])
  t.strictSame(replayed([log!, whole!]).toSorted(), [whole, log])
  const filter = "decision != 'allow'"
  t.strictSame(replayed(null, filter).toSorted(), [whole, `no ${log}`, closed])
  t.strictSame(replayed([closed!], filter), [closed])
})
