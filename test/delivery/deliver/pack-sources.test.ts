/** A destination's own consumers come and go; its packs stay. */
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { ByteBudget } from '../../../src/delivery/deliver/lane/byte-budget.js'
import { fetchPacks, PackSources } from '../../../src/delivery/deliver/pack-sources.js'
import { packHeaders } from '../../../src/delivery/wire/names.js'
import { onePartition } from '../../../src/delivery/wire/partitions.js'
import { monotonicMs } from '../../../src/ground/core/clock.js'
import type { ConsumerOptions } from '../../../src/ground/nats/consumers.js'
import { pullBatch } from '../../../src/ground/nats/pull.js'
import type { PulledMessage } from '../../../src/ground/nats/pulled-message.js'
import { deliveriesStream, deliverySubject } from '../../harness/first-partition.js'
import { openStreams } from '../../harness/own-streams.js'
import { until } from '../../harness/weir.js'

const partition = onePartition.all[0]!
const subject = deliverySubject('ed_1')
const deletedAfterMs = 1_000

/** `taken` gets each pack, and what acknowledges it. */
async function openSources(t: Test, taken: (pack: string, acknowledge: () => void) => void) {
  const { nats } = await openStreams(t)
  let asked = 0
  const sources = new PackSources('ed_1', {
    nats,
    deletedAfterMs: () => deletedAfterMs,
    pull: async ({ reader }, consumer, signal) => {
      asked += 1
      for await (const message of pullBatch(consumer, 1, signal)) {
        const inFlight = reader.begin(message)
        if (inFlight !== undefined)
          taken(Buffer.from(message.data).toString(), () => reader.acknowledge(inFlight))
      }
    },
    unavailable: (error) => t.fail(String(error)),
    // On a busy machine, the server may have deleted the consumer before it could confirm the last acknowledgement.
    stoppedEarly: (inFlight) => t.equal(inFlight, 0, 'no pack is left'),
  })
  t.teardown(async () => {
    await sources.stop()
    await sources.close()
  })
  sources.open(partition)
  /** Waits until the server has been asked for a pack. */
  const untilAsked = async (): Promise<void> => {
    await until('it asks', () => asked > 0)
    // The server answers in the order in which it was asked.
    await nats.consumerInfo(deliveriesStream, 'ed_1')
  }
  return { nats, sources, untilAsked }
}

t.test(
  'one that is not read is deleted by the server; what is stored later comes from the next one',
  async (t) => {
    const got: string[] = []
    const { nats, sources } = await openSources(t, (pack, acknowledge) => {
      got.push(pack)
      acknowledge()
    })
    await nats.publish(subject, 'first')
    await until('it comes', () => got.length === 1)
    await sources.closeIdle(60_000)
    t.notOk(sources.isEmpty, 'it came a moment ago')
    const unread = { stream: deliveriesStream, name: 'unread', filter: deliverySubject('unread') }
    await nats.openConsumer({ ...unread, ackPendingMax: 1, ackWaitMs: 1_000, deletedAfterMs })
    await until(
      'one that no one reads is deleted',
      async () => (await nats.consumerInfo(deliveriesStream, unread.name)) === undefined,
    )
    t.not(
      await nats.consumerInfo(deliveriesStream, 'ed_1'),
      undefined,
      'while it is read, the server keeps it',
    )
    await sources.closeIdle(0)
    t.ok(sources.isEmpty)
    await until(
      'it is deleted',
      async () => (await nats.consumerInfo(deliveriesStream, 'ed_1')) === undefined,
    )
    await nats.publish(subject, 'second')
    sources.open(partition)
    await until('the next one has it', () => got.length === 2)
    t.strictSame(got, ['first', 'second'])
  },
)

t.test('one that is opened again follows what holds for new ones by then', async (t) => {
  const opened: (number | undefined)[] = []
  let deletedAfterMs: number | undefined
  let reconnect = (): void => {}
  const sources = new PackSources('ed_1', {
    nats: {
      openConsumer: async (options: ConsumerOptions) => {
        opened.push(options.deletedAfterMs)
        return { consumer: undefined as never, since: '' }
      },
      onReconnect: (listener: () => void) => {
        reconnect = listener
        return () => {}
      },
      acknowledgements: undefined as never,
    },
    deletedAfterMs: () => deletedAfterMs,
    pull: (_, __, signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve())),
    unavailable: (error) => t.fail(String(error)),
    stoppedEarly: () => t.fail('stopped early'),
  })
  sources.open(partition)
  await until('it is open', () => opened.length === 1)
  deletedAfterMs = 1_000
  await new Promise(setImmediate)
  reconnect()
  await until('it is open again', () => opened.length === 2)
  t.strictSame(opened, [undefined, 1_000])
  await sources.stop()
  await sources.close()
})

t.test('one whose pack is being delivered is read on, however old the pack is', async (t) => {
  const held: (() => void)[] = []
  const { nats, sources } = await openSources(t, (_, acknowledge) => held.push(acknowledge))
  await nats.publish(subject, 'held')
  await until('it comes', () => held.length === 1)
  await sources.closeIdle(0)
  t.notOk(sources.isEmpty)
  held[0]!()
  await sources.closeIdle(0)
  t.ok(sources.isEmpty)
})

t.test(
  'one that only gets packs that were moved is not needed, and they may come from elsewhere',
  async (t) => {
    const { nats } = await openStreams(t)
    const got: string[] = []
    const budget = new ByteBudget(1_000_000)
    const sources = new PackSources('ed_1', {
      nats,
      deletedAfterMs: () => deletedAfterMs,
      pull: async (source, consumer, signal) => {
        const take = (message: PulledMessage): void => {
          got.push(Buffer.from(message.data).toString())
          source.reader.acknowledge(source.reader.begin(message)!)
        }
        while (!signal.aborted) await fetchPacks(source, consumer, { wanted: 1, budget, take }, signal)
      },
      unavailable: (error) => t.fail(String(error)),
      stoppedEarly: () => t.fail('stopped early'),
    })
    t.teardown(async () => {
      await sources.stop()
      await sources.close()
    })
    t.ok(sources.areQuietFor(60_000), 'there is none')
    sources.open(partition)
    t.notOk(sources.areQuietFor(60_000), 'packs may wait there')
    /** Stores a pack, and waits until it has come; the result says how long ago it was stored. */
    const comes = async (text: string, headers = {}): Promise<() => number> => {
      const beganMs = monotonicMs()
      const before = got.length
      await nats.publish(subject, text, { headers })
      await until('it comes', () => got.length > before)
      return () => monotonicMs() - beganMs
    }
    const sinceMoved = await comes('moved', { [packHeaders.pack]: 'ed_1.pack' })
    t.ok(sources.areQuietFor(sinceMoved()))
    const sinceStored = await comes('stored')
    t.notOk(sources.areQuietFor(sinceStored()))
    await sources.closeIdle(sinceStored())
    t.notOk(sources.isEmpty)
    const sinceNext = await comes('moved, too', { [packHeaders.pack]: 'ed_1.next' })
    await sources.closeIdle(sinceNext())
    t.ok(sources.isEmpty)
  },
)

t.test('a pack that comes while one closes is delivered once, by the one that took it', async (t) => {
  const taken: string[] = []
  let acknowledgeLate = (): void => {}
  const { nats, sources, untilAsked } = await openSources(t, (pack, acknowledge) => {
    taken.push(pack)
    if (pack === 'late') acknowledgeLate = acknowledge
    else acknowledge()
  })
  const other = new PackSources('ed_1', {
    nats,
    deletedAfterMs: () => deletedAfterMs,
    pull: async ({ reader }, consumer, signal) => {
      for await (const message of pullBatch(consumer, 1, signal)) {
        taken.push(Buffer.from(message.data).toString())
        reader.acknowledge(reader.begin(message)!)
      }
    },
    unavailable: (error) => t.fail(String(error)),
    stoppedEarly: () => t.fail('stopped early'),
  })
  t.teardown(async () => {
    await other.stop()
    await other.close()
  })
  await untilAsked()
  const closing = sources.closeIdle(0)
  await nats.publish(subject, 'late')
  await closing
  // On a busy machine, it may have closed before the pack was there.
  sources.open(partition)
  await until('it came', () => taken.length === 1)
  t.notOk(sources.isEmpty, 'it is read on')
  other.open(partition)
  // A pack that was given back would come before it.
  await nats.publish(subject, 'next')
  await until('the next one comes', () => taken.includes('next'))
  t.strictSame(taken, ['late', 'next'])
  acknowledgeLate()
  await sources.closeIdle(0)
  t.ok(sources.isEmpty)
})

t.test('one that is needed again while it closes is read on', async (t) => {
  const taken: string[] = []
  const { nats, sources, untilAsked } = await openSources(t, (pack, acknowledge) => {
    taken.push(pack)
    acknowledge()
  })
  await untilAsked()
  const closing = sources.closeIdle(0)
  await sleep(5)
  sources.open(partition)
  await closing
  t.notOk(sources.isEmpty)
  await nats.publish(subject, 'next')
  await until('it comes', () => taken.length === 1)
})
