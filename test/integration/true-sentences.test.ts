/**
 * Everything that speaks of the health of a deployment, asked again and again while records come in, processes are killed
 * and destinations move between consumers. Nothing is lost here, as the books show at the end: so no sentence may ever have
 * said that something was, or that all deliverers were silent, for one of them always runs.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { total } from '../harness/metrics.js'
import { metricsOf, readyOf } from '../harness/pages.js'
import { endNow, processesBelow, untilRuns } from '../harness/tree.js'
import {
  checkBooks,
  type Deployment,
  expectedEvents,
  openDeployment,
  publish,
  statusOf,
  untilArrived,
} from './deployment.js'

const isFull = process.argv.includes('--full')
const looks = isFull ? 2_000 : 100
const looksPerKill = isFull ? 100 : 40
const recordsPerBatch = 40
/** Between batches: a load that leaves some of the machine to those who look. */
const pauseMs = 100

const alarming = /\blost\b|is not there|vanish|dropped|No process delivers/i
const alarmingTypes = [
  'events_dropped',
  'events_expiring',
  'destination_behind',
  'deliverers_silent',
  'dead_letters',
]
const alarmingCounters = [
  'weir_events_expired_total',
  'weir_events_vanished_total',
  'weir_events_dropped_total',
  'weir_events_dead_lettered_total',
  'weir_behind_messages_missed_total',
  'weir_nats_store_losses_total',
  'weir_store_mismatches_total',
]

/** The sentences of one round of questions that are not true. */
async function untrueSentences(deployment: Deployment): Promise<string[]> {
  const { weir } = deployment
  const [statuses, single, overview, findings, metrics, ready] = await Promise.all([
    weir.api.deliveryStatuses(),
    statusOf(deployment, 'all'),
    weir.api.overview(),
    weir.api.findings(),
    metricsOf(weir.url),
    readyOf(weir.url),
  ])
  const each = [...statuses.statuses.map(({ status }) => status), single]
  const ofStatus = each.flatMap(({ advice, counts, backlog }) => [
    ...(advice !== null && alarming.test(advice) ? [advice] : []),
    ...(counts.dropped === 0 && counts.dead_lettered === 0 ? [] : [JSON.stringify(counts)]),
    ...(Math.max(0, counts.produced - counts.delivered) === backlog.events
      ? []
      : [JSON.stringify({ counts, backlog })]),
  ])
  const ofOverview = overview.attention.filter(({ type }) => alarmingTypes.includes(type))
  const ofMetrics = alarmingCounters.filter((name) => total(metrics, name) > 0)
  const said = JSON.stringify([findings, ready])
  return [
    ...ofStatus,
    ...ofOverview.map(({ sentence }) => sentence),
    ...(alarming.test(overview.sentence) ? [overview.sentence] : []),
    ...ofMetrics,
    ...(alarming.test(said) ? [said] : []),
  ]
}

/** Kills one process of the role, of which another goes on. */
async function killOne({ weir }: Deployment, role: string): Promise<void> {
  await untilRuns(weir.process.pid, role)
  const running = processesBelow(weir.process.pid).filter((one) => one.role === role)
  // The other one may be on its way back from the last kill.
  if (running.length > 1) endNow(running[0]!.pid)
}

t.test(`${looks} looks under load, while processes are killed: each sentence was true`, async (t) => {
  const deployment = await openDeployment(t, {
    WEIR_PIPELINES: '2',
    WEIR_DELIVERERS: '2',
    // Destinations share a consumer, and move to one of their own when much comes.
    WEIR_OWN_CONSUMERS_MAX: '1',
  })
  const nats = await deployment.weir.nats()
  t.teardown(() => nats.close())
  const untrue: string[] = []
  let published = 0
  let isDone = false
  const publishing = (async () => {
    while (!isDone) {
      await publish(nats, 'run', published, published + recordsPerBatch, 4)
      published += recordsPerBatch
      await sleep(pauseMs)
    }
  })()
  try {
    for (let look = 0; look < looks; look += 1) {
      if (look % looksPerKill === looksPerKill / 2)
        await killOne(deployment, (look / looksPerKill) % 2 < 1 ? 'deliver' : 'pipeline')
      untrue.push(...(await untrueSentences(deployment)))
    }
  } finally {
    isDone = true
    await publishing
  }
  t.strictSame(untrue.slice(0, 5), [])
  t.ok(published > 0)
  await untilArrived(deployment, expectedEvents(published))
  await checkBooks(t, deployment, published)
})
