/** A destination that is dead for longer than its share of the storage lasts: the others go on, and it loses nothing. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { behindIn } from '../../src/delivery/wire/behind.js'
import { behindBucket, replayConsumer } from '../../src/delivery/wire/names.js'
import { streamOf } from '../../src/ground/nats/bucket-stream.js'
import { deliveriesStream, recordsStream } from '../harness/first-partition.js'
import { untilInUse } from '../harness/in-use.js'
import { total } from '../harness/metrics.js'
import { metricsOf } from '../harness/pages.js'
import { endNow, processesBelow } from '../harness/tree.js'
import { type Emulator, until } from '../harness/weir.js'
import { openDeployment, statusOf, target } from './deployment.js'
import { deleteStream } from './losses.js'

const bytesMax = 16 * 1024 * 1024
/** Two subscriptions: the destination fills its share sooner than the records fill their stream. */
const eventsPerRecord = 2

// One deployment for both tests, because starts take longest.
const env = { WEIR_STORAGE_MAX: '16MiB', WEIR_DECISION_LOG: 'off' }
const deployment = await openDeployment(t, env)
const { weir, emulator, destinations, edgeId } = deployment
const { api } = weir
const nats = await weir.nats()
const counts = (name: string) => emulator.client.counts({ service: 'kinesis', name })
/** A new key is tried at once; the next probe may be a minute away. */
async function giveKey(key: Emulator['key']): Promise<void> {
  const { kinesis } = target('', { ...emulator, key }).target
  const { stream_arn } = (await api.eventDestination.get(destinations.all)).target.kinesis!
  await api.eventDestination.update(destinations.all, { target: { kinesis: { ...kinesis, stream_arn } } })
}

t.test('a destination is dead for longer than its share', async (t) => {
  const bucket = (await nats.findBucket(behindBucket))!
  const entryOf = async (name: 'all' | 'filtered') => {
    const entry = await bucket.get(destinations[name])
    return entry && behindIn(entry)
  }
  const source = { type: 'tcp_connection_closed.v0' }
  await api.eventSubscription.create({ sources: [source], destination_ids: [destinations.all] })
  await untilInUse(weir)

  let published = 0
  const record = (n: number): string =>
    JSON.stringify({
      record_id: `long-${n}`,
      type: 'tcp_connection',
      edge_id: edgeId,
      conn: {
        client_ip: n % 4 === 3 ? '192.0.2.7' : '10.1.2.3',
        server_name: 'x'.repeat(1_500),
        bytes_in: n,
      },
    })
  const publishFor = async (seconds: number, perMessage = 20): Promise<void> => {
    for (let tenth = 0; tenth < seconds * 10; tenth += 1) {
      for (const _ of [1, 2]) {
        const lines = Array.from({ length: perMessage }, (_, at) => record(published + at))
        await nats.publish('weir.records.eu.node-1', lines.join('\n'))
        published += perMessage
      }
      await sleep(100)
    }
  }

  await emulator.client.addFault({ effect: { type: 'access_denied' }, resource: 'all' })
  // Near its share, records come so slowly that a busy machine notices in time.
  await publishFor(3)
  for (let seconds = 0; (await entryOf('all')) === undefined; seconds += 1) {
    if (seconds === 30) throw new Error('The destination did not fall behind.')
    await publishFor(1, 5)
  }
  await publishFor(3)

  await t.test('the others get everything meanwhile', async (t) => {
    await until('every event has arrived', async () => (await counts('filtered')).unique === published / 4)
    t.equal((await counts('all')).events, 0)
    const { state } = (await nats.streamInfo(deliveriesStream))!
    t.ok(state.bytes < bytesMax * 0.8, `room is left: ${state.bytes} of ${bytesMax} bytes are used`)
    t.equal(await entryOf('filtered'), undefined)
  })

  await t.test('status and metrics say what waits for it, and for how long', async (t) => {
    const { behind, advice } = await api.deliveryStatus(destinations.all)
    t.ok(behind!.messages > 10 && behind!.missed === 0, JSON.stringify(behind))
    const hours = (Date.parse(behind!.expires_at!) - Date.now()) / 3_600_000
    t.ok(hours > 0 && hours < 72, `${hours}`)
    t.match(
      advice,
      /It is behind: records wait for it in \d+ messages\. It gets their events when it works again\./,
    )
    t.equal((await api.deliveryStatus(destinations.filtered)).behind, null)
    const shown = () => metricsOf(weir.url)
    await until(
      'the metrics show it',
      async () => total(await shown(), 'weir_destination_behind_messages') > 0,
    )
    t.match(
      await shown(),
      new RegExp(`behind_expiry_seconds\\{destination="${destinations.all}",target="kinesis"\\}`),
    )
  })

  await t.test('NATS loses the bucket of those that are behind: pipelines put the entry back', async (t) => {
    const { id } = (await entryOf('all'))!
    await deleteStream(nats, streamOf(behindBucket))
    const entry = () => entryOf('all').catch(() => undefined)
    await until('the entry is there again', async () => (await entry()) !== undefined)
    t.match(await entryOf('all'), { id })
    await publishFor(1)
  })

  await t.test('it gets what it missed when it works again, although a pipeline is killed', async (t) => {
    const { id } = (await entryOf('all'))!
    const key = { accessKeyId: 'AKIA0000000000000000', secretAccessKey: 'another' }
    await emulator.client.addKey(key)
    await emulator.client.clearFaults()
    await giveKey(key)
    const consumer = () => nats.consumerInfo(recordsStream, replayConsumer(id))
    await until('it catches up', async () => (await consumer()) !== undefined)
    endNow(processesBelow(weir.process.pid).find(({ role }) => role === 'pipeline')!.pid)
    const expected = published * eventsPerRecord
    await until('every event has arrived', async () => (await counts('all')).unique >= expected)
    t.equal((await counts('all')).unique, expected)
    t.equal((await counts('filtered')).unique, published / 4)
  })

  await t.test('it is not behind any more: later events go to it directly', async (t) => {
    for (let second = 0; (await entryOf('all')) !== undefined; second += 1) {
      if (second === 60) throw new Error('The destination is still behind.')
      await publishFor(1, 1)
    }
    const expected = published * eventsPerRecord
    await until('every event has arrived', async () => (await counts('all')).unique === expected)
    t.equal((await api.deliveryStatus(destinations.all)).behind, null)
  })

  await t.test('the books balance', async (t) => {
    const settled = async (): Promise<boolean> => {
      const metrics = await metricsOf(weir.url)
      return (
        total(metrics, 'weir_records_in_total') === published && total(metrics, 'weir_events_backlog') === 0
      )
    }
    await until('nothing is under way', settled)
    const metrics = await metricsOf(weir.url)
    const ends = total(metrics, 'weir_events_delivered_total')
    t.equal(total(metrics, 'weir_events_produced_total'), ends)
    t.equal(total(metrics, 'weir_events_dead_lettered_total'), 0)
    t.match(metrics, /weir_events_produced_total\{kind="replayed",target="kinesis"\} \d+/)
  })
})

t.test(
  'a burst into a small stream: a dead destination gets about its share of it, and later the rest',
  async () => {
    const before = { all: (await counts('all')).unique, filtered: (await counts('filtered')).unique }
    await emulator.client.addFault({ effect: { type: 'access_denied' }, resource: 'all' })
    const [messages, perMessage, publishers] = [120, 50, 4]
    const line = (n: number): string => {
      const conn = { client_ip: '192.0.2.7', server_name: `${n}-${'x'.repeat(1_000)}`, bytes_in: n }
      return JSON.stringify({ record_id: `burst-${n}`, type: 'tcp_connection', edge_id: edgeId, conn })
    }
    const publishOne = (message: number): Promise<unknown> => {
      const lines = Array.from({ length: perMessage }, (_, at) => line(message * perMessage + at))
      return nats.publish('weir.records.eu.node-1', lines.join('\n'))
    }
    const publisher = async (first: number): Promise<void> => {
      for (let message = first; message < messages; message += publishers) await publishOne(message)
    }
    await Promise.all(Array.from({ length: publishers }, (_, first) => publisher(first)))
    const all = messages * perMessage
    await until(
      'the other one has got everything',
      async () => (await counts('filtered')).unique === before.filtered + all,
      300_000,
    ).catch(async (error: Error) => {
      const { state } = (await nats.streamInfo(deliveriesStream))!
      const statuses = [await statusOf(deployment, 'all'), await statusOf(deployment, 'filtered')]
      throw new Error(`${error.message} ${JSON.stringify([await counts('filtered'), state, statuses])}`)
    })
    // Packs of the other one leave the stream, those of the dead one stay.
    const held = async (): Promise<number> => (await nats.streamInfo(deliveriesStream))!.state.bytes
    await until('the dead one has not taken the whole stream', async () => (await held()) < bytesMax * 0.75)

    await emulator.client.clearFaults()
    await giveKey(emulator.key)
    await until(
      'it has got them',
      async () => (await counts('all')).unique === before.all + all * eventsPerRecord,
      300_000,
    )
  },
)
