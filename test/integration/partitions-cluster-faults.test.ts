/**
 * Four partitions on three nats-servers: one partition is full while the others go on; a server that leads some of them is
 * away for a minute, frozen or killed. It takes minutes: only with `--full`.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { OwnNats } from '../harness/own-nats.js'
import { isReady } from '../harness/pages.js'
import { until } from '../harness/weir.js'
import { type ClusterDeployment, leaderOf, openClusterDeployment, untilWhole } from './cluster-deployment.js'
import { arrivedRecords, checkBooks, checkRepeats, expectedEvents, untilArrived } from './deployment.js'
import { checkFullPartition } from './full-partition.js'
import { checkPartitionBooks, NodeTraffic } from './node-traffic.js'

const partitions = 4
const awayMs = 60_000
/** Until the client of a frozen server has given it up, nothing is published through it. */
const goesOnWithinMs = 120_000
const messagesMeanwhile = 20
const skip = process.argv.includes('--full') ? false : 'it takes minutes: only with --full'

t.setTimeout(900_000)

type Change = (server: OwnNats) => unknown

/** Takes a server that leads a partition away for a minute, under load. */
async function takeAway(
  deployment: ClusterDeployment,
  traffic: NodeTraffic,
  leave: Change,
  comeBack: Change,
): Promise<void> {
  const { nats, cluster } = deployment
  const server = await leaderOf(cluster, nats, partitions)
  const publishing = traffic.keepPublishing(nats, partitions)
  try {
    await leave(server)
    const leftMs = Date.now()
    await untilGoingOn(deployment, traffic)
    await sleep(Math.max(0, leftMs + awayMs - Date.now()))
    await comeBack(server)
    await untilWhole(nats, partitions)
  } finally {
    await publishing.stop()
  }
}

async function untilGoingOn({ emulator }: ClusterDeployment, traffic: NodeTraffic): Promise<void> {
  const before = traffic.storedOfEach(partitions)
  const isGoingOn = () =>
    traffic.storedOfEach(partitions).every((messages, at) => messages >= before[at]! + messagesMeanwhile)
  await until('each partition takes records without it', isGoingOn, goesOnWithinMs)
  const { published } = traffic
  const arrived = async () => (await emulator.client.counts({ service: 'kinesis', name: 'all' })).unique
  await until('and they are delivered', async () => (await arrived()) > published, goesOnWithinMs)
}

async function checkAll(t: Test, deployment: ClusterDeployment, traffic: NodeTraffic): Promise<void> {
  const { published } = traffic
  await untilArrived(deployment, expectedEvents(published))
  t.equal((await arrivedRecords(deployment)).size, published, 'every record arrived')
  await checkRepeats(t, deployment)
  await checkBooks(t, deployment, published)
  const stored = await checkPartitionBooks(t, deployment.nats, partitions)
  t.strictSame(stored, traffic.storedOfEach(partitions), 'each message is stored once')
  await until('it is ready', () => isReady(deployment.weir.url))
}

t.test('one deployment after one fault and another', { skip }, async (t) => {
  const deployment = await openClusterDeployment(t, partitions, '32MiB')
  const traffic = new NodeTraffic()

  await t.test('a partition is full: the others go on', async (t) => {
    await checkFullPartition(t, deployment, deployment.nats, traffic, partitions)
  })

  await t.test('a server is frozen for a minute', async (t) => {
    await takeAway(
      deployment,
      traffic,
      (server) => server.freeze(),
      (server) => server.thaw(),
    )
    await checkAll(t, deployment, traffic)
  })

  await t.test('a server is killed, and started again after a minute', async (t) => {
    await takeAway(
      deployment,
      traffic,
      (server) => server.kill(),
      (server) => server.start(),
    )
    await checkAll(t, deployment, traffic)
  })
})
