/** How a run treats packs of its own consumer. */
import t from 'tap'
import { readEntries } from '../../../src/delivery/books/ledger-lines.js'
import { DestinationRun } from '../../../src/delivery/deliver/destination-run.js'
import { ByteBudget } from '../../../src/delivery/deliver/lane/byte-budget.js'
import { SharedPacks } from '../../../src/delivery/deliver/shared-packs.js'
import { fault } from '../../../src/delivery/outgoing/faults.js'
import { ledgerStream, ledgerSubject, packHeaders } from '../../../src/delivery/wire/names.js'
import { PackWriter } from '../../../src/delivery/wire/pack.js'
import type { PackedEvent } from '../../../src/delivery/wire/packed-event.js'
import { onePartition } from '../../../src/delivery/wire/partitions.js'
import { deliveriesStream, deliverySubject } from '../../harness/first-partition.js'
import { openStreams } from '../../harness/own-streams.js'
import { until } from '../../harness/weir.js'
import { accepted, config } from './fake-lane.js'

/** Nothing is dropped within the first half of it. */
const retentionMs = 200

function packOf(id: string): Uint8Array {
  const writer = new PackWriter()
  writer.append('key', 0, JSON.stringify({ event_id: id, event_type: 'log.v0' }))
  return writer.take()
}

t.test('the age of a pack that was moved counts from when it was stored first', async (t) => {
  const { nats, ledger } = await openStreams(t)
  const quiet = new Proxy({}, { get: () => () => {} })
  const pausedAt = new Date().toISOString()
  // It stands still: a pack never gets too old after it was moved.
  const nowMs = Date.now()
  const run = new DestinationRun(
    { ...config, pausedAt },
    {
      nats,
      ledger,
      retentionMs,
      partitions: onePartition,
      occurrences: quiet as never,
      ages: { now: () => nowMs },
      budget: new ByteBudget(1_000_000),
      packs: new SharedPacks(),
      openSender: () => ({ limits: () => ({}), close: () => {} }) as never,
      deletedAfterMs: () => undefined,
      deliveryLog: { of: () => quiet as never },
    },
  )
  t.teardown(() => run.close())
  const headers = {
    [packHeaders.pack]: 'ed_1.pack',
    [packHeaders.storedAt]: String(nowMs - 2 * retentionMs),
    [packHeaders.stream]: 'records',
    [packHeaders.segments]: '1:1',
  }
  const subject = deliverySubject('ed_1')
  await nats.publish(subject, packOf('ev_1'), { headers })
  run.sources.open(onePartition.all[0]!)
  await until('it is dropped', async () => (await nats.nextMessage(deliveriesStream, subject)) === undefined)
  const last = await nats.lastMessage(ledgerStream, ledgerSubject)
  t.match([...readEntries(last!.data)].at(-1), { pack: 'ed_1.pack', dropped: { kinds: [['log.v0', '1:1']] } })
})

t.test('while it holds a pack, it asks for others from time to time: its consumer stays', async (t) => {
  const { nats, ledger } = await openStreams(t)
  const quiet = new Proxy({}, { get: () => () => {} }) as never
  let asked = 0
  const openConsumer: typeof nats.openConsumer = async (options) => {
    const { consumer, ...opened } = await nats.openConsumer(options)
    const fetch: typeof consumer.fetch = (request) => {
      asked += 1
      return consumer.fetch(request)
    }
    return { ...opened, consumer: { fetch } as typeof consumer }
  }
  const sent: string[] = []
  let isDenied = true
  const denied = fault('configuration', 'AccessDenied', 'not allowed')
  const send = async (events: readonly PackedEvent[]) => {
    if (isDenied) return { outcome: 'failed', fault: denied } as const
    for (const { data } of events) sent.push(JSON.parse(data.toString()).event_id)
    return accepted
  }
  const limits = { eventsMax: 1, requestBytesMax: 1_000, eventBytesMax: 1_000, sizeOf: () => 1 }
  const { acknowledgements } = nats
  const onReconnect = nats.onReconnect.bind(nats)
  const deps = { nats: { openConsumer, acknowledgements, onReconnect } as never, ledger, occurrences: quiet }
  const run = new DestinationRun(config, {
    ...deps,
    retentionMs: 60_000,
    ages: { now: Date.now },
    partitions: onePartition,
    budget: new ByteBudget(1_000_000),
    packs: new SharedPacks(),
    openSender: () => ({ limits: () => limits, send, dropCredentials: () => {}, close: () => {} }),
    deletedAfterMs: () => 3_000,
    deliveryLog: { of: () => quiet },
  })
  t.teardown(() => run.close())
  run.update({ ...config, keepsEvents: true })
  run.sources.open(onePartition.all[0]!)
  const headers = { [packHeaders.stream]: 'records', [packHeaders.segments]: '1:1' }
  const store = (id: string) =>
    nats.publish(deliverySubject('ed_1'), packOf(id), { msgId: `ed_1.${id}`, headers })
  await store('ev_1')
  await store('ev_2')
  await until('it is probed', () => run.status().state === 'paused')
  const before = asked
  // It asks three times while the server would keep a consumer that no one reads.
  await until('it asks again and again', () => asked >= before + 3)
  isDenied = false
  run.probe()
  await until('both are delivered', () => sent.length >= 2)
  // A consumer that was made again would give them before one that is stored now.
  await store('ev_3')
  await until('the next one is delivered', () => sent.includes('ev_3'))
  t.strictSame(sent.toSorted(), ['ev_1', 'ev_2', 'ev_3'])
})
