/** Packs on their way into the deliveries. */
import t from 'tap'
import { openNats } from '../../src/core/nats.js'
import { deliveriesStream, deliverySubject, packHeaders } from '../../src/deliver/destination-run.js'
import { LedgerWriter } from '../../src/deliver/ledger.js'
import { ensureStreams } from '../../src/ingest/streams.js'
import { type InputMessage, Packs } from '../../src/pipeline/packs.js'
import { OwnNats } from '../harness/own-nats.js'
import { tempDir } from '../harness/temp-dir.js'

const mebibyte = 1024 * 1024

t.test(
  'a record that was published twice within a millisecond: each of its messages has its event',
  async (t) => {
    const server = new OwnNats(tempDir(t))
    await server.start()
    t.teardown(() => server.stop())
    const nats = await openNats({ servers: [server.url], name: 'test', replicas: 1 })
    t.teardown(() => nats.close())
    await ensureStreams(nats, { storageMaxBytes: 16 * mebibyte, retentionMs: 60 * 60_000 })
    const ledger = new LedgerWriter(nats, (error) => t.comment(String(error)))
    t.teardown(() => ledger.close())
    const packs = new Packs({ nats, ledger, stream: 'records', failed: (error) => t.fail(String(error)) })

    const store = (sequence: number): Promise<void> =>
      new Promise((stored) => {
        const message: InputMessage = { sequence, since: 'run 1', packsOpen: 0, isRouted: false, stored }
        const buffers = packs.buffersFor(message)
        buffers.packOf('ed_a').append('ev_1', 1_790_000_000_000, '{"event_id":"ev_1"}')
        buffers.close()
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
