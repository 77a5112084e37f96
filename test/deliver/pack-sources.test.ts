/** A destination's own consumers come and go; its packs stay. */
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { PackSources } from '../../src/deliver/pack-sources.js'
import type { ConsumerOptions } from '../../src/nats/consumers.js'
import { pullBatch } from '../../src/nats/pull.js'
import { onePartition } from '../../src/wire/partitions.js'
import { deliveriesStream, deliverySubject } from '../harness/first-partition.js'
import { openStreams } from '../harness/own-streams.js'
import { until } from '../harness/weir.js'

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
    stoppedEarly: () => t.fail('stopped early'),
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
