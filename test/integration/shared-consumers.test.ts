/** Destinations that have little to do share a consumer; one that fails or is busy has its own. */
import { jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import t from 'tap'
import { isMoved } from '../../src/delivery/wire/pack-message.js'
import {
  onePartition,
  packPlaces,
  sharedConsumer,
  sharedSubject,
} from '../../src/delivery/wire/partitions.js'
import { waitingPacks } from '../../src/delivery/wire/waiting-packs.js'
import { deliveriesStream, deliverySubject } from '../harness/first-partition.js'
import { endNow, processesBelow } from '../harness/tree.js'
import { until } from '../harness/weir.js'
import { expectedEvents, openDeployment, publish, statusOf, untilArrived } from './deployment.js'

const env = { WEIR_OWN_CONSUMERS_MAX: '0', WEIR_DECISION_LOG: 'off', WEIR_DELIVERERS: '2' }
const deployment = await openDeployment(t, env)
const { weir, emulator, destinations } = deployment
const nats = await weir.nats()
const [partition] = onePartition.all

/** Which destinations have a consumer of their own? */
const owners = async () => {
  const infos = await Promise.all(
    Object.entries(destinations).map(async ([name, id]) => {
      const info = await nats.consumerInfo(deliveriesStream, id)
      return info === undefined ? [] : [name]
    }),
  )
  return infos.flat()
}
const waiting = async (name: keyof typeof destinations) => {
  const places = await waitingPacks(nats, partition!)
  return places
    .filter(({ destination }) => destination === destinations[name])
    .map(({ consumer }) => consumer)
}
const publishSlowly = async (run: string, messages: number): Promise<void> => {
  for (let n = 0; n < messages; n += 1) {
    await publish(nats, run, n * 4, n * 4 + 4, 4)
    // Longer than packs are spaced: each message makes a pack of its own.
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
}
const sumOf = (...counts: readonly number[]) => {
  const events = counts.map(expectedEvents)
  const of = (name: keyof typeof destinations) => events.reduce((sum, each) => sum + each[name], 0)
  return { all: of('all'), filtered: of('filtered'), logs: of('logs') }
}

t.test('a few events reach all destinations, and none has a consumer of its own', async (t) => {
  await publish(nats, 'few', 0, 40)
  await untilArrived(deployment, expectedEvents(40))
  t.strictSame(await owners(), [])
  t.equal((await nats.consumerInfo(deliveriesStream, sharedConsumer))?.unacknowledged, 0)
  const { state, last_success_at } = await statusOf(deployment, 'all')
  t.equal(state, 'healthy')
  t.not(last_success_at, null)
})

t.test(
  'one that fails gets its own, also if a deliverer is killed, and nothing waits behind it',
  async (t) => {
    await emulator.client.addFault({ effect: { type: 'access_denied' }, resource: 'all' })
    // Each deliverer keeps a pack to probe with.
    await publishSlowly('denied', 10)
    await until('the others are moved', async () => (await waiting('all')).includes(destinations.all))
    await untilArrived(deployment, sumOf(40, 40), 90_000, ['filtered', 'logs'])
    t.strictSame(await owners(), ['all'])
    await publish(nats, 'heard', 0, 40)
    await untilArrived(deployment, sumOf(40, 40, 40), 90_000, ['filtered', 'logs'])
    const last = await nats.lastMessage(deliveriesStream, deliverySubject(destinations.all))
    t.notOk(isMoved(last?.headers), 'pipelines know, and store its packs there')
    const [deliverer] = processesBelow(weir.process.pid).filter(({ role }) => role === 'deliver')
    endNow(deliverer!.pid)
    await publish(nats, 'killed', 0, 40)
    await untilArrived(deployment, sumOf(40, 40, 40, 40), 90_000, ['filtered', 'logs'])
    t.equal((await statusOf(deployment, 'all')).backlog.events, 120)
    await emulator.client.clearFaults()
    await weir.api.resumeDestination(destinations.all)
    await untilArrived(deployment, sumOf(40, 40, 40, 40))
    t.match(await statusOf(deployment, 'all'), { counts: { produced: 160, delivered: 160, dropped: 0 } })
  },
)

t.test('one that gets many packs has its own, and loses and repeats nothing by it', async (t) => {
  await publishSlowly('busy', 60)
  await untilArrived(deployment, sumOf(40, 40, 40, 40, 240))
  t.match(await owners(), ['all', 'filtered'])
  for (const name of ['filtered', 'logs'] as const) {
    const { counts } = await statusOf(deployment, name)
    t.equal(counts.delivered, counts.produced, name)
  }
})

t.test('a deliverer that starts gives back what is left from a time with fewer destinations', async (t) => {
  const { host, username: user, password: pass } = new URL(weir.adminUrl)
  const connection = await connect({ servers: host, user, pass })
  t.teardown(() => connection.close())
  const { consumers } = await jetstreamManager(connection)
  const id = destinations.filtered
  const threshold = async () => (await consumers.info(deliveriesStream, id)).config.inactive_threshold ?? 0
  const left = { stream: deliveriesStream, name: id, filter: deliverySubject(id) }
  await nats.openConsumer({ ...left, ackPendingMax: 1_000, ackWaitMs: 10_000 })
  t.equal(await threshold(), 0, 'the server would keep it')
  for (const { pid, role } of processesBelow(weir.process.pid)) if (role === 'deliver') endNow(pid)
  await until('the server is to delete it', async () => (await threshold()) > 0)
})

t.test('a pause holds what is shared, too; a deletion drops all that waits', async (t) => {
  await weir.api.pauseDestination(destinations.logs)
  await until('it is paused', async () => (await statusOf(deployment, 'logs')).state === 'paused')
  await publish(nats, 'paused', 0, 40)
  await until('it waits', async () => (await statusOf(deployment, 'logs')).backlog.events > 0)
  await until('on its own', async () => (await waiting('logs')).join() === destinations.logs)
  const places = packPlaces(partition!, destinations.logs)
  for await (const { id } of weir.api.eventSubscription.list()) await weir.api.eventSubscription.delete(id)
  await weir.api.eventDestination.delete(destinations.logs)
  await until('its packs are dropped', async () => {
    const left = await Promise.all(places.map(({ subject }) => nats.nextMessage(deliveriesStream, subject)))
    return left.every((pack) => pack === undefined)
  })
  t.equal(await nats.consumerInfo(deliveriesStream, destinations.logs), undefined)
  const late = sharedSubject(partition!, destinations.logs)
  await nats.publish(late, 'of a pipeline that does not know of it yet')
  await until(
    'it is dropped, too',
    async () => (await nats.nextMessage(deliveriesStream, late)) === undefined,
  )
})
