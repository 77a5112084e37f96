/**
 * Packs leave WEIR_DELIVERIES undelivered: someone purges it, or deletes it. What is lost is counted by type, announced once
 * and can be replayed; what only waits is never counted.
 */
import t, { type Test } from 'tap'
import type { OperatorObjects } from '../../src/words/event/operator-event.js'
import { deliveriesStream, deliverySubject } from '../harness/first-partition.js'
import { untilInUse } from '../harness/in-use.js'
import { total } from '../harness/metrics.js'
import { metricsOf } from '../harness/pages.js'
import { killRole } from '../harness/tree.js'
import { until } from '../harness/weir.js'
import {
  type Deployment,
  expectedEvents,
  openDeployment,
  publish,
  statusOf,
  stream,
  target,
} from './deployment.js'

const waitMs = 120_000
const count = 200
const expected = expectedEvents(count)

type Announced = OperatorObjects['events_dropped.v0']

async function openAnnouncements({ weir, emulator }: Deployment) {
  const name = 'announcements'
  const { id } = await weir.api.eventDestination.create(target(await stream(emulator, name), emulator))
  await weir.api.eventSubscription.create({ sources: [{ type: 'events_dropped.v0' }], destination_ids: [id] })
  return async (destination: string): Promise<Announced[]> => {
    // A deliverer that was killed may have sent one twice.
    const found = new Map<string, Announced>()
    for await (const { data } of emulator.client.received({ service: 'kinesis', name })) {
      const { event_id, object } = JSON.parse(data) as { event_id: string; object: Announced }
      if (object.event_destination.id === destination) found.set(event_id, object)
    }
    return [...found.values()]
  }
}

/** Waits until it has lost so many events, and none waits. */
async function untilLost(deployment: Deployment, name: 'all' | 'logs', events: number): Promise<void> {
  let last: unknown
  await until(
    `${name} has lost ${events} events`,
    async () => {
      // The API may have been killed.
      const status = await statusOf(deployment, name).catch((error: unknown) => error as Error)
      last = status
      return !(status instanceof Error) && status.counts.dropped === events && status.backlog.events === 0
    },
    waitMs,
  ).catch((error: Error) => {
    throw new Error(`${error.message} ${JSON.stringify(last)}`)
  })
  const { counts } = await statusOf(deployment, name)
  t.equal(counts.produced, counts.delivered + counts.dead_lettered + counts.dropped)
}

t.test('purged, deleted and recreated: what is lost counts, and what waits does not', async (t: Test) => {
  const deployment = await openDeployment(t, { WEIR_DECISION_LOG: 'off', WEIR_DELIVERERS: '2' })
  const { weir, emulator, destinations } = deployment
  const { api } = weir
  const announced = await openAnnouncements(deployment)
  const source = { type: 'log.v0' }
  await api.eventSubscription.create({ sources: [source], destination_ids: [destinations.all] })
  for (const resource of ['all', 'filtered'])
    await emulator.client.addFault({ effect: { type: 'access_denied' }, resource })
  await api.pauseDestination(destinations.logs)
  await until('it is paused', async () => (await statusOf(deployment, 'logs')).state === 'paused')
  await untilInUse(weir)

  const nats = await weir.nats()
  await publish(nats, 'lost', 0, count, 20)
  const all = expected.all + expected.logs
  const waiting = async (name: 'all' | 'filtered' | 'logs') =>
    (await statusOf(deployment, name)).backlog.events
  await until('the events wait', async () => (await waiting('all')) === all, waitMs)
  await until('the log events wait', async () => (await waiting('logs')) === expected.logs, waitMs)
  const types = [
    { type: 'log.v0', reason: 'vanished', events: expected.logs },
    { type: 'tcp_connection_closed.v0', reason: 'vanished', events: expected.all },
  ]

  await t.test('a purge under a dead destination, and one paused by hand', async (t) => {
    await nats.purgeSubject(deliveriesStream, deliverySubject(destinations.all))
    await nats.purgeSubject(deliveriesStream, deliverySubject(destinations.logs))
    // A deliverer that probes has a pack in hand, and would still deliver it.
    for (const role of ['api', 'pipeline', 'deliver']) await killRole(weir.process.pid, role)
    await untilLost(deployment, 'logs', expected.logs)
    await untilLost(deployment, 'all', all)
    const { dropped } = await statusOf(deployment, 'all')
    t.strictSame(
      [...dropped].sort((a, b) => a.type.localeCompare(b.type)),
      types,
    )
    t.strictSame((await statusOf(deployment, 'logs')).dropped, [types[0]])
    const metrics = await metricsOf(weir.url)
    t.equal(total(metrics, 'weir_events_vanished_total'), all + expected.logs)
    t.equal(total(metrics, 'weir_events_dropped_total'), all + expected.logs)
    t.equal(total(metrics, 'weir_events_expired_total'), 0)
  })

  await t.test('each is announced once, and a replay brings it back', async (t) => {
    const of = async (id: string) => (await announced(id)).reduce((sum, { count }) => sum + count, 0)
    await until('it is announced', async () => (await of(destinations.all)) === all, waitMs)
    await until(
      'the others are announced',
      async () => (await of(destinations.logs)) === expected.logs,
      waitMs,
    )
    const last = (await announced(destinations.all)).at(-1)!
    t.match(last, { reason: 'vanished', advice: /weir replay --from .*WEIR_DELIVERIES/ })
    await emulator.client.clearFaults()
    await api.resumeDestination(destinations.all)
    await api.replay(destinations.all, { from: last.replay!.from, to: last.replay!.to })
    const received = () => emulator.client.counts({ service: 'kinesis', name: 'all' })
    await until('everything has come after all', async () => (await received()).unique === all, waitMs)
    await until('the books balance', async () => (await waiting('all')) === 0, waitMs)
    t.match((await statusOf(deployment, 'all')).counts, { delivered: all, dropped: all })
  })

  await t.test('what only waited has lost nothing', async (t) => {
    const received = () => emulator.client.counts({ service: 'kinesis', name: 'filtered' })
    await until('it gets its events', async () => (await received()).unique === expected.filtered, waitMs)
    t.strictSame((await statusOf(deployment, 'filtered')).dropped, [])
  })

  await t.test('the stream is deleted, and made again', async (t) => {
    await publish(nats, 'deleted', 0, count, 20)
    await until('the log events wait', async () => (await waiting('logs')) === expected.logs, waitMs)
    await nats.request(`$JS.API.STREAM.DELETE.${deliveriesStream}`, '', 30_000)
    await untilLost(deployment, 'logs', 2 * expected.logs)
    t.strictSame((await statusOf(deployment, 'logs')).dropped, [{ ...types[0], events: 2 * expected.logs }])
    await api.resumeDestination(destinations.logs)
    await publish(nats, 'later', 0, count, 20)
    const received = () => emulator.client.counts({ service: 'kinesis', name: 'logs' })
    await until(
      'what comes later is delivered',
      async () => (await received()).unique === expected.logs,
      waitMs,
    )
    t.match((await statusOf(deployment, 'logs')).counts, { dropped: 2 * expected.logs })
  })
})
