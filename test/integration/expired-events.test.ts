/**
 * Events that get older than the retention while their destination does not accept them: they are announced, then dropped
 * and counted, each once, and the books balance.
 */
import t, { type Test } from 'tap'
import type { OperatorObjects } from '../../src/words/event/operator-event.js'
import { deliveriesStream, deliverySubject } from '../harness/first-partition.js'
import { untilInUse } from '../harness/in-use.js'
import { total } from '../harness/metrics.js'
import { metricsOf } from '../harness/pages.js'
import { endNow, processesBelow } from '../harness/tree.js'
import { startWeir, until } from '../harness/weir.js'
import { type Deployment, openDeployment, publish, statusOf, stream, target } from './deployment.js'

const waitMs = 180_000
/** Events of the subscription to `tcp_connection_closed.v0`. */
const events = 60

const settings = {
  WEIR_RETENTION: '40s',
  WEIR_DECISION_LOG: 'off',
  WEIR_DELIVERERS: '2',
  WEIR_PIPELINES: '2',
}
/** Shorter after the restart, so that a test has less to wait for. */
const laterRetentionMs = 20_000
const later = { WEIR_RETENTION: '20s', WEIR_DELIVERERS: '1', WEIR_PIPELINES: '1' }

const balance = ({ counts, backlog }: Awaited<ReturnType<typeof statusOf>>): number =>
  counts.produced - counts.delivered - counts.dead_lettered - counts.dropped - backlog.events

/** A destination that gets operator events, and what it got. */
async function openAnnouncements(deployment: Deployment) {
  const { weir, emulator } = deployment
  const name = 'announcements'
  const { id } = await weir.api.eventDestination.create(target(await stream(emulator, name), emulator))
  const sources = [{ type: 'events_expiring.v0' }, { type: 'events_dropped.v0' }]
  await weir.api.eventSubscription.create({ sources, destination_ids: [id] })
  const received = async <Kind extends 'events_expiring.v0' | 'events_dropped.v0'>(kind: Kind) => {
    const found: OperatorObjects[Kind][] = []
    for await (const { data } of emulator.client.received({ service: 'kinesis', name })) {
      const event = JSON.parse(data) as { event_type: string; object: OperatorObjects[Kind] }
      if (event.event_type === kind) found.push(event.object)
    }
    return found
  }
  return received
}

const killAll = async (deployment: Deployment, role: 'deliver' | 'api'): Promise<void> => {
  for (const { pid } of processesBelow(deployment.weir.process.pid).filter((each) => each.role === role))
    endNow(pid)
}

async function untilDropped(deployment: Deployment, name: 'all' | 'logs', count: number): Promise<void> {
  let last: unknown
  await until(
    `${count} events of ${name} are dropped`,
    async () => {
      const status = await statusOf(deployment, name).catch((error: unknown) => error as Error)
      last = status
      return !(status instanceof Error) && status.counts.dropped === count && status.backlog.events === 0
    },
    waitMs,
  ).catch((error: Error) => {
    throw new Error(`${error.message} ${JSON.stringify(last)}`)
  })
}

// One deployment for both tests, because starts take longest.
const deployment = await openDeployment(t, settings)

t.test('failing and paused by hand: announced, dropped once, counted by type', async (t: Test) => {
  const { weir, emulator, destinations } = deployment
  const received = await openAnnouncements(deployment)
  const kept = await weir.api.eventDestination.create({
    ...target(await stream(emulator, 'kept'), emulator),
    on_expiry: 'block',
  })
  const source = { type: 'tcp_connection_closed.v0' }
  await weir.api.eventSubscription.create({ sources: [source], destination_ids: [kept.id] })
  for (const resource of ['all', 'kept'])
    await emulator.client.addFault({ effect: { type: 'access_denied' }, resource })
  await weir.api.pauseDestination(destinations.logs)
  await until('it is paused', async () => (await statusOf(deployment, 'logs')).state === 'paused')
  await untilInUse(weir)

  const nats = await weir.nats()
  await publish(nats, 'old', 0, events)
  await until(
    'the events wait',
    async () => (await statusOf(deployment, 'all')).backlog.events === events,
    waitMs,
  )
  const { backlog } = await statusOf(deployment, 'all')
  t.equal(Date.parse(backlog.expires_at!) - Date.parse(backlog.oldest_at!), 40_000)
  const logs = (await statusOf(deployment, 'logs')).backlog.events
  t.ok(logs > 0)
  t.equal((await weir.api.deliveryStatus(kept.id)).backlog.expires_at, null)

  await until(
    'the metric warns of it',
    async () =>
      (await metricsOf(weir.url)).includes(
        `weir_destination_backlog_expiry_seconds{destination="${destinations.all}",target="kinesis"}`,
      ),
    waitMs,
  )
  const warned = await statusOf(deployment, 'all')
  if (warned.backlog.events > 0) t.match(warned.advice, /its oldest events are dropped from .* on/)

  // A pack that was not acknowledged comes back: it is counted once.
  await killAll(deployment, 'deliver')
  await untilDropped(deployment, 'all', events)
  await killAll(deployment, 'deliver')
  await killAll(deployment, 'api')
  await untilDropped(deployment, 'logs', logs)
  await untilDropped(deployment, 'all', events)
  for (const [name, count, type] of [
    ['all', events, 'tcp_connection_closed.v0'],
    ['logs', logs, 'log.v0'],
  ] as const) {
    const status = await statusOf(deployment, name)
    t.match(status, { backlog: { events: 0, oldest_at: null, expires_at: null } }, name)
    t.strictSame(status.dropped, [{ type, reason: 'age', events: count }])
    t.equal(balance(status), 0)
    t.equal(await nats.nextMessage(deliveriesStream, deliverySubject(destinations[name])), undefined)
  }
  const metrics = await metricsOf(weir.url)
  t.equal(total(metrics, 'weir_events_dropped_total'), events + logs)
  t.match(metrics, `weir_events_expired_total{kind="log.v0",target="kinesis"} ${logs}\n`)

  await t.test('each is announced, before and after, once', async (t) => {
    const countOf = async (id: string) =>
      (await received('events_dropped.v0'))
        .filter((each) => each.event_destination.id === id)
        .reduce((sum, { count }) => sum + count, 0)
    for (const [name, count] of [
      ['all', events],
      ['logs', logs],
    ] as const) {
      let seen = 0
      const isAnnounced = async () => {
        seen = await countOf(destinations[name])
        return seen === count
      }
      await until(() => `${name} is announced: ${seen} of ${count}`, isAnnounced, waitMs)
    }
    const expiring = await received('events_expiring.v0')
    for (const [name, action, advice] of [
      ['all', 'edit_target', /rights?\b.* are dropped from /],
      ['logs', 'resume', /paused it at .* are dropped from /],
    ] as const) {
      const of = expiring.filter((each) => each.event_destination.id === destinations[name])
      t.ok(of.length > 0 && of[0]!.backlog > 0, `${name} was warned of`)
      const why = `${name}: why its events wait, and what can be done`
      t.match(of[0], { advice, actions: [{ action, id: destinations[name] }] }, why)
    }
    t.notOk(expiring.some((each) => each.event_destination.id === kept.id))
  })

  await t.test('a destination that may lose nothing gets everything, however old', async (t) => {
    const status = await weir.api.deliveryStatus(kept.id)
    t.match(status.backlog, { events, expires_at: null }, JSON.stringify(status))
    await emulator.client.clearFaults()
    const { kinesis } = target('', emulator).target
    const { stream_arn } = kept.target.kinesis!
    const changed = { target: { kinesis: { ...kinesis, stream_arn } } }
    await weir.api.eventDestination.update(kept.id, changed)
    const counts = () => emulator.client.counts({ service: 'kinesis', name: 'kept' })
    await until('it has got them', async () => (await counts()).unique === events, waitMs)
    await until(
      'it is in the books',
      async () => (await weir.api.deliveryStatus(kept.id)).counts.delivered === events,
      waitMs,
    )
  })
})

t.test('down for longer than the retention: each event is delivered or dropped, and counted', async (t) => {
  const { weir, emulator, dataDir, env, destinations } = deployment
  const droppedBefore = (await statusOf(deployment, 'all')).counts.dropped
  const logsBefore = (await statusOf(deployment, 'logs')).counts.dropped
  await weir.api.resumeDestination(destinations.logs)
  for (const resource of ['all', 'logs'])
    await emulator.client.addFault({ effect: { type: 'access_denied' }, resource })
  await publish(await weir.nats(), 'older', 0, events)
  const publishedAt = Date.now()
  const waiting = async (name: 'all' | 'logs') => (await statusOf(deployment, name)).backlog.events
  await until('the events wait', async () => (await waiting('all')) === events, waitMs)
  await until('the log events wait', async () => (await waiting('logs')) > 0, waitMs)
  const logs = await waiting('logs')
  endNow(weir.process.pid)
  await weir.stop()
  const tooOldAt = publishedAt + laterRetentionMs + 1_000
  await new Promise((resolve) => setTimeout(resolve, tooOldAt - Date.now()))
  await emulator.client.clearFaults()
  await emulator.client.addFault({ effect: { type: 'access_denied' }, resource: 'logs' })
  deployment.weir = await startWeir(dataDir, { ...env, ...later })
  await until('what works again gets its events', async () => {
    const { unique } = await emulator.client.counts({ service: 'kinesis', name: 'all' })
    return unique === events && (await waiting('all')) === 0
  })
  t.match((await statusOf(deployment, 'all')).counts, { delivered: events, dropped: droppedBefore })
  await untilDropped(deployment, 'logs', logsBefore + logs)
  t.equal(balance(await statusOf(deployment, 'logs')), 0)
})
