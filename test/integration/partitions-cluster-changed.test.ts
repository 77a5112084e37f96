/**
 * Partitions on three nats-servers become more and fewer while records flow: mappings are loaded by each server, processes
 * restarted one after the other, and nothing is lost. It takes minutes: only with `--full`.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { partitionsUpTo } from '../../src/delivery/wire/partitions.js'
import { total } from '../harness/metrics.js'
import { metricsOf } from '../harness/pages.js'
import { until } from '../harness/weir.js'
import { openClusterDeployment } from './cluster-deployment.js'
import { arrivedRecords, checkRepeats, expectedEvents, untilArrived } from './deployment.js'
import { checkPartitionBooks, NodeTraffic, nodes, perMessage } from './node-traffic.js'

const few = 4
const many = 8
/** Servers elect leaders, clients find them, and traffic goes on, within this time. */
const underLoadMs = 5_000
const skip = process.argv.includes('--full') ? false : 'it takes minutes: only with --full'

t.setTimeout(900_000)

t.test('4, then 8, then 4, while records flow', { skip }, async (t) => {
  const deployment = await openClusterDeployment(t, few, '64MiB')
  const { nats } = deployment
  const traffic = new NodeTraffic()
  const added = partitionsUpTo(many).slice(few)
  const messagesIn = async (kind: 'recordsStream' | 'deliveriesStream') =>
    Promise.all(added.map(async (partition) => (await nats.streamInfo(partition[kind]))!.state))

  const publishing = traffic.keepPublishing(nats, many)
  await sleep(underLoadMs)
  await deployment.spreadOver(many)
  const isUsed = async () => (await messagesIn('recordsStream')).every(({ last_seq }) => last_seq > 0)
  await until('each new partition gets records', isUsed)
  await sleep(underLoadMs)
  await deployment.spreadOver(few)
  await sleep(underLoadMs)
  await publishing.stop()

  const before = await messagesIn('recordsStream')
  await traffic.publish(nats, nodes)
  const after = await messagesIn('recordsStream')
  const sequences = (states: typeof before) => states.map(({ last_seq }) => last_seq)
  t.strictSame(sequences(after), sequences(before), 'nothing new gets into those that are drained')
  const { published } = traffic
  await untilArrived(deployment, expectedEvents(published))
  t.equal((await arrivedRecords(deployment)).size, published, 'every record arrived')
  await checkRepeats(t, deployment)
  const stored = (await checkPartitionBooks(t, nats, many)).reduce((sum, messages) => sum + messages, 0)
  const repeated = stored - traffic.stored
  t.ok(
    repeated >= 0 && repeated <= 2 * many,
    `${repeated} were on their way during a change, and repeated after it`,
  )
  const metrics = await metricsOf(deployment.weir.url)
  t.equal(total(metrics, 'weir_records_in_total'), stored * perMessage, 'the books have each that is stored')
  const delivered = total(metrics, 'weir_events_delivered_total')
  t.equal(total(metrics, 'weir_events_produced_total'), delivered, 'and what it caused')
  for (const { messages } of await messagesIn('deliveriesStream')) t.equal(messages, 0, 'no pack is left')
})
