/**
 * Destinations share consumers on three nats-servers, with three copies of each of three partitions: a server is killed
 * while events flow and one destination fails. It takes a minute: only with `--full`.
 */
import t from 'tap'
import { homeOf } from '../../src/delivery/wire/partitions.js'
import { until } from '../harness/weir.js'
import { leaderOf, openClusterDeployment, untilWhole } from './cluster-deployment.js'
import { stream, target } from './deployment.js'
import { NodeTraffic } from './node-traffic.js'

const partitions = 3
const sharing = 30
/** Of so many records, a destination that shares gets one: the one with its own address. */
const oneOf = 1_000
const recordOf = (n: number): number => n * 32
const addressOf = (n: number): string => `10.1.${recordOf(n) % 200}.${recordOf(n) % 250}`
const expectedOf = (n: number, published: number): number =>
  Math.ceil(Math.max(0, published - recordOf(n)) / oneOf)
const skip = process.argv.includes('--full') ? false : 'it takes a minute: only with --full'

t.setTimeout(300_000)

t.test('a server is killed, one destination fails, others are busy: nothing is lost', { skip }, async (t) => {
  const env = { WEIR_OWN_CONSUMERS_MAX: '0', WEIR_DECISION_LOG: 'off' }
  const { weir, emulator, nats, cluster, untilInUse } = await openClusterDeployment(
    t,
    partitions,
    '64MiB',
    env,
  )
  const names = Array.from({ length: sharing }, (_, n) => `shares-${n}`)
  const ids: string[] = []
  for (const [n, name] of names.entries()) {
    const { id } = await weir.api.eventDestination.create(target(await stream(emulator, name), emulator))
    const filter = `inCidrRange(conn.client_ip, "${addressOf(n)}/32")`
    const sources = [{ type: 'tcp_connection_closed.v0', filter }]
    await weir.api.eventSubscription.create({ sources, destination_ids: [id] })
    ids.push(id)
  }
  await untilInUse()
  await emulator.client.addFault({ effect: { type: 'access_denied' }, resource: names[0]! })
  const traffic = new NodeTraffic()
  const publishing = traffic.keepPublishing(nats, partitions)
  const fails = ids[0]!
  const { deliveriesStream } = homeOf(fails, partitions)
  const hasOwn = async () => (await nats.consumerInfo(deliveriesStream, fails)) !== undefined
  await until('the one that fails has its own', hasOwn)
  const server = await leaderOf(cluster, nats, partitions)
  await server.kill()
  const atKill = traffic.published
  await until('records are taken without it', () => traffic.published > atKill + oneOf)
  await server.start()
  await untilWhole(nats, partitions)
  await publishing.stop()
  await emulator.client.clearFaults()
  await weir.api.resumeDestination(fails)

  const { published } = traffic
  for (const [n, name] of names.entries()) {
    const expected = expectedOf(n, published)
    const unique = async () => (await emulator.client.counts({ service: 'kinesis', name })).unique
    await until(`${expected} events at ${name}`, async () => (await unique()) >= expected)
    const isDone = async () => (await weir.api.deliveryStatus(ids[n]!)).counts.delivered >= expected
    await until(`${name} is done`, isDone)
    const { counts, backlog } = await weir.api.deliveryStatus(ids[n]!)
    const done = { produced: expected, delivered: expected, dropped: 0 }
    t.match({ counts, events: backlog.events }, { counts: done, events: 0 }, name)
  }
  const all = async () => (await emulator.client.counts({ service: 'kinesis', name: 'all' })).unique
  await until('the busy one has all', async () => (await all()) >= published)
  t.equal(await all(), published)
})
