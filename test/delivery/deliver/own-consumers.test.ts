/** Consumers of a time with fewer destinations go; no pack goes with them. */
import t, { type Test } from 'tap'
import { KeptConsumers, OwnConsumers } from '../../../src/delivery/deliver/own-consumers.js'
import { formatNotice, noticeHoldsMs, parseNotice } from '../../../src/delivery/wire/own-consumers.js'
import {
  homeOf,
  onePartition,
  type Partition,
  partitionsUpTo,
  deliverySubject as subjectIn,
} from '../../../src/delivery/wire/partitions.js'
import type { Consumer, ConsumerOptions } from '../../../src/ground/nats/consumers.js'
import { pullBatch } from '../../../src/ground/nats/pull.js'
import { deliveriesStream, deliverySubject } from '../../harness/first-partition.js'
import { openStreams } from '../../harness/own-streams.js'
import { until } from '../../harness/weir.js'

const deletedAfterMs = 1_000
const never = new AbortController().signal

async function openKept(t: Test) {
  const { nats } = await openStreams(t)
  const optionsOf = (id: string): ConsumerOptions => ({
    stream: deliveriesStream,
    name: id,
    filter: deliverySubject(id),
    ackPendingMax: 10,
    ackWaitMs: 10_000,
  })
  const open = async (id: string) => (await nats.openConsumer(optionsOf(id))).consumer
  const exists = async (id: string) => (await nats.consumerInfo(deliveriesStream, id)) !== undefined
  const take = async (id: string) => {
    for await (const message of pullBatch(await open(id), 1, never)) return message
    throw new Error(`${id} got no pack`)
  }
  const kept = new KeptConsumers({ nats, partitions: onePartition, deletedAfterMs })
  /** Waits for as long as the server keeps a consumer that no one reads. */
  const whileUnread = async (): Promise<void> => {
    await nats.openConsumer({ ...optionsOf('unread'), deletedAfterMs })
    await until('one that no one reads is deleted', async () => !(await exists('unread')))
  }
  return { nats, kept, open, exists, take, whileUnread }
}

function untilStopped() {
  const stop = new AbortController()
  return { signal: stop.signal, stopReading: () => stop.abort() }
}

/** As a deliverer does that has a pack of it in flight: without that, only a current server keeps it. */
async function readOn(consumer: Consumer, signal: AbortSignal): Promise<void> {
  while (!signal.aborted)
    for await (const _ of pullBatch(consumer, 1, signal)) throw new Error('It has no other.')
}

t.test('those that no one reads go when destinations share, but for one with a pack in flight', async (t) => {
  const { nats, kept, open, exists, take, whileUnread } = await openKept(t)
  const ids = ['ed_idle', 'ed_held', 'ed_none']
  await open('ed_idle')
  await nats.publish(deliverySubject('ed_held'), 'held')
  const held = await take('ed_held')
  const { signal, stopReading } = untilStopped()
  const reading = readOn(await open('ed_held'), signal)
  await kept.look(false, ids)
  await whileUnread()
  t.ok(await exists('ed_idle'), 'not while each has its own')
  await kept.look(true, ids)
  await until('the idle one is deleted', async () => !(await exists('ed_idle')))
  await whileUnread()
  t.ok(await exists('ed_held'), 'its pack would come again')
  nats.acknowledgements.done(held.reply)
  stopReading()
  await reading
  await until('it is deleted, too', async () => !(await exists('ed_held')), 30_000)
  t.equal(await nats.nextMessage(deliveriesStream, deliverySubject('ed_held')), undefined)
})

t.test('a pack that comes later, from a pipeline that did not hear of it, waits in the stream', async (t) => {
  const { nats, kept, open, exists, take } = await openKept(t)
  await open('ed_1')
  await kept.look(true, ['ed_1'])
  await until('it is deleted', async () => !(await exists('ed_1')))
  await nats.publish(deliverySubject('ed_1'), 'late')
  t.equal(Buffer.from((await take('ed_1')).data).toString(), 'late')
})

t.test('a server is asked about a hundred at a time, and about each once while they share', async (t) => {
  const asked: string[] = []
  const nats = { expireConsumer: async (_: string, id: string) => void asked.push(id) }
  const kept = new KeptConsumers({ nats, partitions: onePartition, deletedAfterMs })
  const ids = Array.from({ length: 150 }, (_, n) => `ed_${n}`)
  await kept.look(true, ids)
  t.equal(asked.length, 100)
  await kept.look(true, ids)
  await kept.look(true, ids)
  t.strictSame(asked.toSorted(), ids.toSorted())
  await kept.look(false, ids)
  await kept.look(true, ids)
  t.equal(asked.length, 250, 'again, when they share again')
})

t.test('in a partition that a destination left, its consumer goes; packs that wait there stay', async (t) => {
  const all = partitionsUpTo(2)
  const { nats } = await openStreams(t, 2)
  const openIn = async (partition: Partition, id: string) =>
    nats.openConsumer({
      stream: partition.deliveriesStream,
      name: id,
      filter: subjectIn(partition, id),
      ackPendingMax: 10,
      ackWaitMs: 10_000,
    })
  const existsIn = async ({ deliveriesStream }: Partition, id: string) =>
    (await nats.consumerInfo(deliveriesStream, id)) !== undefined
  const ids = ['ed_1', 'ed_2', 'ed_3', 'ed_4']
  for (const partition of all) for (const id of ids) await openIn(partition, id)
  const home = (id: string): Partition => homeOf(id, 2)
  const left = (id: string): Partition => all.find((partition) => partition !== home(id))!
  await nats.publish(subjectIn(left('ed_4'), 'ed_4'), 'late')
  const kept = new KeptConsumers({ nats, partitions: { all, homeOf: home }, deletedAfterMs })
  await kept.look(false, [])
  await kept.look(false, ids)
  for (const id of ids)
    await until(`that of ${id} is deleted`, async () => !(await existsIn(left(id), id)), 30_000)
  for (const id of ids) t.ok(await existsIn(home(id), id), `${id} keeps that of its home`)
  const { consumer } = await openIn(left('ed_4'), 'ed_4')
  for await (const { data } of pullBatch(consumer, 1, never)) t.equal(Buffer.from(data).toString(), 'late')
})

t.test('what still holds is said again before pipelines forget it, and not more often', async (t) => {
  const state = { nowMs: 0 }
  const said: string[] = []
  let hear = (_: Uint8Array): void => {}
  const notice = { destination: 'ed_1', partition: onePartition.all[0]! }
  const own = new OwnConsumers({
    nats: {
      emit: (_, data) => void said.push(parseNotice(Buffer.from(data))!.destination),
      subscribe: (_, onMessage) => {
        hear = (data) => onMessage(data, () => '')
        return { close: () => {} } as never
      },
      subjectCounts: async () => ({}),
    },
    partitions: onePartition,
    occurrences: { deliveryFaulted: (fault) => t.fail(JSON.stringify(fault)) },
    heard: () => {},
    nowMs: () => state.nowMs,
  })
  own.announce(notice)
  for (; state.nowMs < noticeHoldsMs - 5_000; state.nowMs += 5_000) own.remind(notice)
  t.equal(said.length, 3)
  state.nowMs += noticeHoldsMs
  hear(Buffer.from(formatNotice(notice)))
  own.remind(notice)
  t.equal(said.length, 3, 'another process has said it')
})
