/** Records that come one by one, published by fast ingest: one answer of the server is for many messages. */
import { connect } from '@nats-io/transport-node'
import t from 'tap'
import { partitionsUpTo, recordsPartition } from '../../src/delivery/wire/partitions.js'
import { connectionOptions } from '../../src/ground/nats/connection.js'
import { firstWith, supports } from '../../src/ground/nats/server-versions.js'
import { ingest } from '../harness/fast-ingest.js'
import { checkBooks, expectedEvents, openDeployment, record, untilArrived } from './deployment.js'

const perNode = 150
const partitions = partitionsUpTo(2)
/** One node of each partition. */
const nodes = partitions.map(({ number }) => {
  const names = Array.from({ length: 100 }, (_, at) => `node-${at}`)
  return names.find((name) => recordsPartition('eu', name, partitions.length) === number)!
})

const messagesOf = (node: number, from: number, to: number) =>
  Array.from({ length: to - from }, (_, at) => ({
    subject: `weir.records.eu.${nodes[node]}`,
    data: record('run', node * perNode + from + at),
    msgId: `${node}.${from + at}`,
  }))

t.test('an ingress node publishes records one by one by fast ingest, and some again', async (t) => {
  const deployment = await openDeployment(t, { WEIR_PARTITIONS: String(partitions.length) })
  const { weir } = deployment
  const ingress = await connect(connectionOptions({ servers: [weir.natsUrl], name: 'node', replicas: 1 }))
  t.teardown(() => ingress.close())
  const nats = await weir.nats()
  const infos = await Promise.all(partitions.map(({ recordsStream }) => nats.streamInfo(recordsStream)))
  const configs = infos.map((info) => info?.config)
  if (!supports(ingress.info?.version, 'fastIngest')) {
    t.notMatch(configs, [{ allow_batched: true }], 'an older server is not asked for it')
    t.comment(`The rest needs nats-server ${firstWith('fastIngest')}.`)
    return
  }
  t.match(configs, [{ allow_batched: true }, { allow_batched: true }])

  const half = perNode / 2
  for (const node of nodes.keys())
    t.equal(await ingest(ingress, messagesOf(node, 0, half)), half, 'each message is confirmed')
  // A repeated message that begins a batch would end it, so repeated ones stand behind a new one.
  for (const node of nodes.keys()) {
    const [first, ...others] = messagesOf(node, half, perNode)
    const sent = [first!, ...messagesOf(node, 0, half), ...others]
    t.equal(await ingest(ingress, sent), sent.length, 'repeated messages are confirmed, too')
  }
  await untilArrived(deployment, expectedEvents(nodes.length * perNode))
  for (const { recordsStream } of partitions)
    t.equal((await nats.streamInfo(recordsStream))?.state.messages, perNode, `${recordsStream}, each once`)
  await checkBooks(t, deployment, nodes.length * perNode)
})
