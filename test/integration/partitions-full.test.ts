/** A stream of one partition is full, of records or of packs: the other partitions go on, and nothing is lost. */
import t from 'tap'
import { deliverySubject, homeOf } from '../../src/delivery/wire/partitions.js'
import { untilInUse } from '../harness/in-use.js'
import { isReady, readyOf } from '../harness/pages.js'
import { until } from '../harness/weir.js'
import {
  checkBooks,
  type Deployment,
  expectedEvents,
  openDeployment,
  statusOf,
  target,
  untilArrived,
} from './deployment.js'
import { checkFullPartition } from './full-partition.js'
import { checkPartitionBooks, NodeTraffic } from './node-traffic.js'

const partitions = 4
const messages = 100

const opened = await openDeployment(t, {
  WEIR_PARTITIONS: String(partitions),
  WEIR_STORAGE_MAX: '32MiB',
})
const deployment = await withHomesApart(opened)
const nats = await deployment.weir.nats()
const traffic = new NodeTraffic()

/** Ids are random, and with them the partitions of destinations: two of them shall be in different ones. */
async function withHomesApart(deployment: Deployment): Promise<Deployment> {
  const { all, filtered } = deployment.destinations
  if (homeOf(all, partitions) !== homeOf(filtered, partitions)) return deployment
  const { eventDestination, eventSubscription } = deployment.weir.api
  const { kinesis } = (await eventDestination.get(filtered)).target
  const { id } = await eventDestination.create(target(kinesis!.stream_arn, deployment.emulator))
  for await (const subscription of eventSubscription.list())
    if (subscription.destinations[0]?.id === filtered)
      await eventSubscription.update(subscription.id, { destination_ids: [id] })
  await untilInUse(deployment.weir)
  return withHomesApart({ ...deployment, destinations: { ...deployment.destinations, filtered: id } })
}

t.test('records: its nodes are refused and repeat; those of other partitions go on', async (t) => {
  await checkFullPartition(t, deployment, nats, traffic, partitions)
})

t.test('packs: its destinations wait; those of other partitions get everything', async (t) => {
  const full = homeOf(deployment.destinations.filtered, partitions)
  const blocker = deliverySubject(full, 'ed_nobody')
  for (const bytes of [700 * 1024, 50 * 1024, 100]) {
    const filler = Buffer.alloc(bytes, 'x')
    const fill = async (): Promise<void> => {
      for (;;) await nats.publish(blocker, filler, { triesMax: 1 })
    }
    await t.rejects(fill(), { message: /maximum bytes exceeded/ })
  }
  await until('readiness says why', async () => {
    const { status, failing } = await readyOf(deployment.weir.url)
    return status === 503 && JSON.stringify(failing).includes(full.deliveriesStream)
  })
  const before = expectedEvents(traffic.published)
  await traffic.publish(nats, messages)
  const after = expectedEvents(traffic.published)
  const unique = async (name: string) =>
    (await deployment.emulator.client.counts({ service: 'kinesis', name })).unique
  await until('the others are delivered', async () => (await unique('all')) === after.all)
  t.equal(await unique('filtered'), before.filtered, 'its own are not')
  t.match(await statusOf(deployment, 'filtered'), { behind: null }, 'it has used no share')

  await nats.purgeSubject(full.deliveriesStream, blocker)
  await untilArrived(deployment, after)
  await until('it is ready', () => isReady(deployment.weir.url))
  await checkBooks(t, deployment, traffic.published)
  const stored = await checkPartitionBooks(t, nats, partitions)
  t.strictSame(stored, traffic.storedOfEach(partitions), 'each message is stored once')
})
