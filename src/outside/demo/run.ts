/** Runs a scenario step by step, and collects what happened. */
import { monotonicMs } from '../../ground/core/clock.js'
import type { EmulatorClient } from '../emulator/client.js'
import type { DestinationResult } from './books.js'
import { type Built, build, type Decision, type Destination, whenInEffect } from './build.js'
import type { MetricsPage } from './metrics-page.js'
import { publish } from './publish.js'
import { linesOf, parseRecordLine, type Survey } from './records-file.js'
import type { Account } from './report.js'
import type { EventView, Scenario } from './scenario.js'
import { grouped, type Screen, table } from './screen.js'
import type { Services } from './services.js'
import { readDeadRecords } from './set-aside.js'
import { decided } from './summary.js'
import { beginOutage, whenArrived } from './watch.js'

/** For larger files, the emulator keeps only ids. */
const keptRecordsMax = 20_000
const deadLettersShown = 3
/** An event worth showing is among the first ones of a destination. */
const eventsLookedAt = 2_000

export async function run(
  scenario: Scenario,
  file: string,
  survey: Survey,
  services: Services,
  screen: Screen,
): Promise<Account> {
  const { aws, nats, inside, apiUrl } = services
  const built = await screen.step(
    'Making accounts, policies, edges, destinations and subscriptions through the API',
    () => build(scenario, services, survey.lines > keptRecordsMax ? 'ids' : 'all'),
    ({ accountIds, edgeIds, destinations }) =>
      `accounts ${accountIds.length}, edges ${edgeIds.size}, destinations ${destinations.length}`,
  )
  const answers = await screen.step('Asking weir.decide, until the configuration is in effect', () =>
    whenInEffect(scenario, built, services),
  )
  screen.say(screen.isVerbose ? questions(scenario, answers) : decided(scenario, answers, screen))

  const kinesis = built.destinations.find(({ kind }) => kind === 'kinesis')!
  const outage = await beginOutage(aws, kinesis)
  const startedMs = monotonicMs()
  const seconds = () => (monotonicMs() - startedMs) / 1000
  const published = await screen.step(
    'Publishing the records over NATS, packed by 100',
    () =>
      publish(nats, linesOf(file), recordText(scenario, built), (records) =>
        screen.progress(() => `${grouped(records)} of ${grouped(survey.lines)} records published`),
      ),
    (records) => `${grouped(records)} records`,
  )
  const publishedSeconds = seconds()
  const [metrics, seen] = await screen.step(
    'Waiting until every event has arrived, while a shard fails for a time',
    () =>
      Promise.all([
        whenArrived(
          apiUrl,
          published,
          (page) => screen.progress(() => progressOf(page, published)),
          () => !outage.isOver,
        ),
        outage.end(apiUrl, published),
      ]),
  )
  const timing = { publishedSeconds, arrivedSeconds: seconds() }
  const dead = await readDeadRecords(inside, deadLettersShown)
  return {
    scenario,
    built,
    published,
    metrics,
    timing,
    outage: seen,
    deadLetters: dead.count,
    letters: dead.first,
    destinations: await Promise.all(built.destinations.map((each) => resultOf(aws, each))),
    situations: await countSituations(aws, built, scenario),
    idsRepeat: survey.idsRepeat,
  }
}

/** A line as it is published: as in the file, or with what the ingress node adds. */
export const recordText =
  ({ published }: Scenario, built: Built) =>
  (line: string): string => {
    if (published === undefined) return line
    const record = parseRecordLine(line)
    return record === undefined ? line : JSON.stringify(published(record, built))
  }

function questions(scenario: Scenario, answers: readonly Decision[]): string {
  const rows = scenario.questions.map(({ says, conn }, index) => {
    const { decision, policy, warnings } = answers[index]!
    const warned = warnings.length === 0 ? '' : 'with a warning of the restriction'
    const note = policy === null ? warned : `policy "${policy}"`
    return [
      conn.server_port === undefined ? conn.server_name : `${conn.server_name}:${conn.server_port}`,
      conn.client_ip,
      decision,
      note === '' ? says : `${says}: ${note}`,
    ]
  })
  return `\n${table(['asked for', 'client', 'answer', ''], rows)}\n`
}

function progressOf(page: MetricsPage, records: number): string {
  const sum = (name: string) => grouped(page.sum(`weir_${name}`))
  const evaluated = `${sum('records_in_total')} of ${grouped(records)} records evaluated`
  return `${evaluated}, ${sum('events_delivered_total')} events delivered, ${sum('events_backlog')} under way`
}

async function resultOf(aws: EmulatorClient, destination: Destination): Promise<DestinationResult> {
  const { api, id, target } = destination
  const [status, received] = await Promise.all([api.deliveryStatus(id), aws.counts(target)])
  const { events } = await aws.page(target, 0, eventsLookedAt)
  const sample =
    events.find(({ data }) => isDenied(data)) ?? events.find(({ data }) => !isLog(data)) ?? events[0]
  return { destination, status, received, samples: sample === undefined ? [] : [sample.data] }
}

/** Events that name the reason why a connection was refused are the most instructive. */
const isDenied = (data: string): boolean => data.includes('"decision":"deny"')

/** An event that a traffic policy logs holds only its author's text. */
const isLog = (data: string): boolean => data.includes('"event_type":"log.v0"')

/** How many events arrived of each situation. */
async function countSituations(
  aws: EmulatorClient,
  { destinations }: Built,
  { situations }: Scenario,
): Promise<number[]> {
  const counts = situations.each.map(() => 0)
  for (const { target } of destinations.filter(({ kind }) => situations.targets.includes(kind))) {
    for await (const { data } of aws.received(target)) {
      const event = JSON.parse(data) as EventView
      for (const [index, { matches }] of situations.each.entries()) if (matches(event)) counts[index]! += 1
    }
  }
  return counts
}
