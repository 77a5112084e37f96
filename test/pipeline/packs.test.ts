/** How packs are stored in the deliveries stream. */
import t from 'tap'
import { type InputMessage, Packs } from '../../src/pipeline/packs.js'
import { deliveriesStream, deliverySubject, packHeaders } from '../../src/wire/names.js'
import { openStreams } from '../harness/own-streams.js'

t.test(
  'a record that was published twice within a millisecond: each of its messages has its event',
  async (t) => {
    const { nats, ledger } = await openStreams(t)
    const packs = new Packs({ nats, ledger, stream: 'records', failed: (error) => t.fail(String(error)) })

    const store = (sequence: number): Promise<void> =>
      new Promise((stored) => {
        const message: InputMessage = { sequence, since: 'run 1', packsOpen: 0, isRouted: false, stored }
        packs.begin(message)
        packs.packOf('ed_a').append('ev_1', 1_790_000_000_000, '{"event_id":"ev_1"}')
        packs.end()
        packs.storeAll()
      })
    // The last one comes again, as after the end of a process that had stored its pack.
    for (const sequence of [1, 2, 2]) await store(sequence)

    const held: string[] = []
    for (let from = 1; ; ) {
      const pack = await nats.nextMessage(deliveriesStream, deliverySubject('ed_a'), from)
      if (pack === undefined) break
      held.push(pack.headers.get(packHeaders.segments))
      from = pack.sequence + 1
    }
    t.strictSame(held, ['1:1', '2:1'], 'each message has its pack, and one that is done again no other')
  },
)
