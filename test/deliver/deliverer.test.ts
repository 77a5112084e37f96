/** What a deliverer does first, if idle destinations share a consumer. */
import t from 'tap'
import { Deliverer } from '../../src/deliver/deliverer.js'
import { SharedPacks } from '../../src/deliver/shared-packs.js'
import { packHeaders } from '../../src/wire/names.js'
import { PackWriter } from '../../src/wire/pack.js'
import type { PackedEvent } from '../../src/wire/packed-event.js'
import { onePartition, type Partition, sharedSubject } from '../../src/wire/partitions.js'
import { deliverySubject } from '../harness/first-partition.js'
import { openStreams } from '../harness/own-streams.js'
import { until } from '../harness/weir.js'
import { accepted, config } from './fake-lane.js'

const [partition] = onePartition.all
const limits = { eventsMax: 1, requestBytesMax: 1_000, eventBytesMax: 1_000, sizeOf: () => 1 }

function packOf(id: string): Uint8Array {
  const writer = new PackWriter()
  writer.append('key', 0, JSON.stringify({ event_id: id, event_type: 'log.v0' }))
  return writer.take()
}

t.test('packs that wait for a destination of its own come before those of the shared consumer', async (t) => {
  const { nats, ledger } = await openStreams(t)
  const headers = { [packHeaders.stream]: 'records', [packHeaders.segments]: '1:1' }
  const waiting = ['ev_1', 'ev_2', 'ev_3']
  for (const id of waiting)
    await nats.publish(deliverySubject('ed_1'), packOf(id), { msgId: `ed_1.${id}`, headers })
  await nats.publish(sharedSubject(partition!, 'ed_1'), packOf('ev_4'), { msgId: 'ed_1.ev_4', headers })
  const sent: string[] = []
  const send = async (events: readonly PackedEvent[]) => {
    for (const { data } of events) sent.push(JSON.parse(data.toString()).event_id)
    return accepted
  }
  const quiet = new Proxy({}, { get: () => () => {} }) as never
  const deliverer = new Deliverer({
    ...{ nats, ledger, occurrences: quiet, packs: new SharedPacks(), deliveryLog: { of: () => quiet } },
    ...{ retentionMs: 60_000, ages: { now: Date.now }, ownConsumersMax: 0, metricsDestinationsMax: 10 },
    partitions: { ...onePartition, each: (open: (of: Partition) => unknown) => void open(partition!) },
    openSender: () => ({ limits: () => limits, send, dropCredentials: () => {}, close: () => {} }),
  })
  t.teardown(() => deliverer.close())
  await deliverer.update([config], [])
  await until('all are sent', () => sent.length === 4)
  t.strictSame(sent, [...waiting, 'ev_4'])
})
