/** A destination's own consumers come and go; its packs stay. */
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { ByteBudget } from '../../../src/delivery/deliver/lane/byte-budget.js'
import { fetchPacks, PackSources } from '../../../src/delivery/deliver/pack-sources.js'
import { packHeaders } from '../../../src/delivery/wire/names.js'
import { onePartition } from '../../../src/delivery/wire/partitions.js'
import type { ConsumerOptions } from '../../../src/ground/nats/consumers.js'
import type { PulledMessage } from '../../../src/ground/nats/messages.js'
import { pullBatch } from '../../../src/ground/nats/pull.js'
import { deliveriesStream, deliverySubject } from '../../harness/first-partition.js'
import { openStreams } from '../../harness/own-streams.js'
import { until } from '../../harness/weir.js'

const partition = onePartition.all[0]!
const subject = deliverySubject('ed_1')

/** `taken` gets each pack, and what acknowledges it. */
async function openSources(t: Test, taken: (pack: string, acknowledge: () => void) => void) {
  const { nats } = await openStreams(t)
  const sources = new PackSources('ed_1', {
    nats,
    deletedAfterMs: () => 1_000,
    pull: async ({ reader }, consumer, signal) => {
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
  return { nats, sources }
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
    await sleep(1_500)
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
      deletedAfterMs: () => 1_000,
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
    await sleep(1_000)
    await nats.publish(subject, 'moved', { headers: { [packHeaders.pack]: 'ed_1.pack' } })
    await until('it comes', () => got.length === 1)
    t.ok(sources.areQuietFor(1_000))
    await nats.publish(subject, 'stored')
    await until('it comes', () => got.length === 2)
    t.notOk(sources.areQuietFor(1_000))
    await sources.closeIdle(1_000)
    t.notOk(sources.isEmpty)
    await sleep(1_000)
    await nats.publish(subject, 'moved, too', { headers: { [packHeaders.pack]: 'ed_1.next' } })
    await until('it comes', () => got.length === 3)
    await sources.closeIdle(1_000)
    t.ok(sources.isEmpty)
  },
)

t.test('a pack that comes while one closes is delivered once, by the one that took it', async (t) => {
  const taken: (() => void)[] = []
  const { nats, sources } = await openSources(t, (_, acknowledge) => taken.push(acknowledge))
  const other = new PackSources('ed_1', {
    nats,
    deletedAfterMs: () => 1_000,
    pull: async (_, consumer, signal) => {
      for await (const { sequence } of pullBatch(consumer, 1, signal)) t.fail(`it came again: ${sequence}`)
    },
    unavailable: (error) => t.fail(String(error)),
    stoppedEarly: () => t.fail('stopped early'),
  })
  t.teardown(async () => {
    await other.stop()
    await other.close()
  })
  await until('it is read', async () => (await nats.consumerInfo(deliveriesStream, 'ed_1')) !== undefined)
  await sleep(200)
  const closing = sources.closeIdle(0)
  await nats.publish(subject, 'late')
  await closing
  // On a busy machine, it may have closed before the pack was there.
  sources.open(partition)
  await until('it came', () => taken.length === 1)
  t.notOk(sources.isEmpty, 'it is read on')
  other.open(partition)
  await sleep(1_000)
  t.equal(taken.length, 1)
  taken[0]!()
  await sources.closeIdle(0)
  t.ok(sources.isEmpty)
})

t.test('one that is needed again while it closes is read on', async (t) => {
  const taken: string[] = []
  const { nats, sources } = await openSources(t, (pack, acknowledge) => {
    taken.push(pack)
    acknowledge()
  })
  await until('it is read', async () => (await nats.consumerInfo(deliveriesStream, 'ed_1')) !== undefined)
  await sleep(200)
  const closing = sources.closeIdle(0)
  await sleep(5)
  sources.open(partition)
  await closing
  t.notOk(sources.isEmpty)
  await nats.publish(subject, 'next')
  await until('it comes', () => taken.length === 1)
})
