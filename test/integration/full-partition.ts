/** A partition whose stream of records is full: its nodes are refused, and repeat; those of the others go on. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { inputConsumer } from '../../src/delivery/wire/names.js'
import { type Partition, partitionsUpTo } from '../../src/delivery/wire/partitions.js'
import type { Consumer } from '../../src/ground/nats/consumers.js'
import type { Nats } from '../../src/ground/nats/nats.js'
import { pullBatch } from '../../src/ground/nats/pull.js'
import type { PulledMessage } from '../../src/ground/nats/pulled-message.js'
import { isStorageFull } from '../../src/ground/nats/retry.js'
import { isReady, readyOf } from '../harness/pages.js'
import { until } from '../harness/weir.js'
import { arrivedRecords, checkBooks, type Deployment, expectedEvents, untilArrived } from './deployment.js'
import {
  checkPartitionBooks,
  type NodeMessage,
  type NodeTraffic,
  perMessage,
  reportedLater,
} from './node-traffic.js'

/** As pipelines have it. */
const consumerLimits = { ackWaitMs: 10_000, ackPendingMax: 50_000 }
/** Of an ignored member of a record: few messages fill a stream. */
const wideBytes = 60_000
const messagesOfOthers = 60

interface HeldMessage {
  readonly sequence: number
  /** Gives it to the pipelines. */
  release(): void
}

/**
 * Takes one of the messages that `publish` stores, and works on it, like a pipeline that hangs. All that come after it then
 * stay in the stream, although pipelines process them.
 */
async function holdMessage(
  t: Test,
  nats: Nats,
  { recordsStream }: Partition,
  publish: () => Promise<void>,
): Promise<HeldMessage> {
  const options = { stream: recordsStream, name: inputConsumer, ...consumerLimits }
  const { consumer } = await nats.openConsumer(options)
  const pulling = pullOne(consumer)
  let held: PulledMessage | undefined
  void pulling.then((message) => {
    held = message
  })
  while (held === undefined) await publish()
  const { sequence, reply } = await pulling
  const timer = setInterval(() => nats.acknowledgements.working(reply), consumerLimits.ackWaitMs / 4)
  t.teardown(() => clearInterval(timer))
  return {
    sequence,
    release: () => {
      clearInterval(timer)
      nats.acknowledgements.again(reply)
    },
  }
}

async function pullOne(consumer: Consumer): Promise<PulledMessage> {
  for await (const message of pullBatch(consumer, 1, new AbortController().signal)) return message
  throw new Error('The pipelines got all messages.')
}

interface Refused {
  readonly message: NodeMessage
  readonly error: unknown
}

/** Publishes messages until the stream takes no more; resolves with the last one. */
async function fill(nats: Nats, traffic: NodeTraffic, next: () => NodeMessage): Promise<Refused> {
  for (;;) {
    const message = next()
    try {
      await traffic.store(nats, message, { triesMax: 1 })
    } catch (error) {
      return { message, error }
    }
  }
}

/** `nats`: a connection with all rights. The deployment is idle, and got this traffic and no other. */
export async function checkFullPartition(
  t: Test,
  deployment: Deployment,
  nats: Nats,
  traffic: NodeTraffic,
  count: number,
): Promise<void> {
  const full = partitionsUpTo(count).at(-1)!
  const { recordsStream } = full
  const storeOne = () => traffic.store(nats, traffic.nextOf(full, count))
  const held = await holdMessage(t, nats, full, storeOne)
  const refused = [await fill(nats, traffic, () => traffic.nextOf(full, count, wideBytes))]
  const state = async () => (await nats.streamInfo(recordsStream))!.state
  const isTidied = async () => (await state()).first_seq === held.sequence
  await until('what is processed before the message that hangs has made room', isTidied)
  refused.push(await fill(nats, traffic, () => traffic.nextOf(full, count)))
  for (const { error } of refused) {
    t.match(error, { message: /maximum bytes exceeded/ }, 'its node gets the error')
    t.ok(isStorageFull(error), 'and may try again')
  }
  const before = await state()
  t.equal(before.messages, before.last_seq - held.sequence + 1, 'nothing was discarded')
  await until('readiness says why', async () => {
    const { status, failing } = await readyOf(deployment.weir.url)
    return status === 503 && JSON.stringify(failing).includes(recordsStream)
  })

  const repeating = reportedLater(Promise.all(refused.map(({ message }) => traffic.store(nats, message))))
  const others = partitionsUpTo(count).filter((partition) => partition !== full)
  for (let message = 0; message < messagesOfOthers; message += 1)
    await traffic.store(nats, traffic.nextOf(others[message % others.length]!, count), { triesMax: 1 })
  const waiting = (refused.length + 1) * perMessage
  const arrived = async () => (await deployment.emulator.client.counts(all)).unique
  const expected = traffic.published - waiting
  await until('all others are delivered', async () => (await arrived()) === expected)
  await sleep(refusedForMs)
  t.equal((await state()).last_seq, before.last_seq, 'it is still full')
  t.equal(await arrived(), expected, 'what was refused, or hangs, is not delivered')

  held.release()
  await repeating
  await untilArrived(deployment, expectedEvents(traffic.published))
  t.equal((await arrivedRecords(deployment)).size, traffic.published, 'every record arrived')
  await until('it is ready', () => isReady(deployment.weir.url))
  await checkBooks(t, deployment, traffic.published)
  const stored = await checkPartitionBooks(t, nats, count)
  t.strictSame(
    stored,
    traffic.storedOfEach(count),
    'each message is stored once, in the partition of its node',
  )
}

const all = { service: 'kinesis', name: 'all' } as const
/** The publisher tries several times meanwhile. */
const refusedForMs = 1_000
