/** The first steps of a deliverer, if idle destinations share a consumer. */
import t, { type Test } from 'tap'
import { Deliverer } from '../../../src/delivery/deliver/deliverer.js'
import { SharedPacks } from '../../../src/delivery/deliver/shared-packs.js'
import { packHeaders } from '../../../src/delivery/wire/names.js'
import { PackWriter } from '../../../src/delivery/wire/pack.js'
import type { PackedEvent } from '../../../src/delivery/wire/packed-event.js'
import { onePartition, type Partition, sharedSubject } from '../../../src/delivery/wire/partitions.js'
import { deliverySubject } from '../../harness/first-partition.js'
import { openStreams } from '../../harness/own-streams.js'
import { until } from '../../harness/weir.js'
import { accepted, config } from './fake-lane.js'

const [partition] = onePartition.all
const limits = { eventsMax: 1, requestBytesMax: 1_000, eventBytesMax: 1_000, sizeOf: () => 1 }

function packOf(id: string): Uint8Array {
  const writer = new PackWriter()
  writer.append('key', 0, JSON.stringify({ event_id: id, event_type: 'log.v0' }))
  return writer.take()
}

const headers = { [packHeaders.stream]: 'records', [packHeaders.segments]: '1:1' }
const quiet = new Proxy({}, { get: () => () => {} }) as never

interface OpenOptions {
  readonly ownConsumersMax: number
  readonly send: (destinationId: string, events: readonly PackedEvent[]) => Promise<typeof accepted>
  readonly closed?: (destinationId: string) => void
}

async function open(t: Test, { ownConsumersMax, send, closed }: OpenOptions) {
  const { nats, ledger } = await openStreams(t)
  const deliverer = new Deliverer({
    nats,
    ledger,
    occurrences: quiet,
    packs: new SharedPacks(),
    deliveryLog: { of: () => quiet },
    retentionMs: 60_000,
    ages: { now: Date.now },
    ownConsumersMax,
    metricsDestinationsMax: 10,
    partitions: { ...onePartition, each: (open: (of: Partition) => unknown) => void open(partition!) },
    openSender: ({ id }) => ({
      limits: () => limits,
      dropCredentials: () => {},
      close: () => closed?.(id),
      send: (events: readonly PackedEvent[]) => send(id, events),
    }),
  })
  t.teardown(() => deliverer.close())
  return { nats, deliverer }
}

t.test('packs that wait for a destination of its own come before those of the shared consumer', async (t) => {
  const sent: string[] = []
  const { nats, deliverer } = await open(t, {
    ownConsumersMax: 0,
    send: async (_, events) => {
      for (const { data } of events) sent.push(JSON.parse(data.toString()).event_id)
      return accepted
    },
  })
  const waiting = ['ev_1', 'ev_2', 'ev_3']
  for (const id of waiting)
    await nats.publish(deliverySubject('ed_1'), packOf(id), { msgId: `ed_1.${id}`, headers })
  await nats.publish(sharedSubject(partition!, 'ed_1'), packOf('ev_4'), { msgId: 'ed_1.ev_4', headers })
  await deliverer.update([config], [])
  await until('all are sent', () => sent.length === 4)
  t.strictSame(sent, [...waiting, 'ev_4'])
})

t.test('a new destination does not wait for the end of one that was deleted', async (t) => {
  const seen: string[] = []
  let answer = (): void => {}
  const answered = new Promise<typeof accepted>((resolve) => {
    answer = () => resolve(accepted)
  })
  const { nats, deliverer } = await open(t, {
    ownConsumersMax: 10,
    send: (id) => {
      seen.push(id)
      return id === 'ed_1' ? answered : Promise.resolve(accepted)
    },
    closed: (id) => seen.push(`${id} is closed`),
  })
  const publish = (id: string) =>
    nats.publish(deliverySubject(id), packOf('ev_1'), { msgId: `${id}.ev_1`, headers })
  await publish('ed_1')
  await deliverer.update([config], [])
  await until('a request of the first is under way', () => seen.length === 1)
  await publish('ed_2')
  await deliverer.update([{ ...config, id: 'ed_2' }], ['ed_1'])
  await until('the second is served', () => seen.includes('ed_2'))
  t.equal(deliverer.statusOf('ed_1'), undefined)
  answer()
  await until('the first has ended', () => seen.includes('ed_1 is closed'))
  t.strictSame(seen, ['ed_1', 'ed_2', 'ed_1 is closed'])
})
