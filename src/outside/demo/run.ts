/** Runs a scenario step by step, and collects what happened. */
import type { EmulatorClient } from '../emulator/client.js'
import type { Account, Arrivals, Sample } from './books.js'
import { type Built, build, type Destination, whenInEffect } from './build.js'
import { publish } from './publish.js'
import { linesOf, parseRecordLine, type Survey } from './records-file.js'
import type { EventView, Scenario } from './scenario.js'
import { grouped, type Screen } from './screen.js'
import type { Services } from './services.js'
import { decided } from './summary.js'
import { beginOutage, whenArrived } from './watch.js'

/** For larger files, the emulator keeps only ids. */
const keptRecordsMax = 20_000
/** An event worth showing is among the first ones of a destination. */
const eventsLookedAt = 2_000

interface Run {
  readonly account: Account
  /** A line as it is published. */
  readonly textOf: (line: string) => string
}

export async function run(
  scenario: Scenario,
  file: string,
  survey: Survey,
  services: Services,
  screen: Screen,
): Promise<Run> {
  const { aws, nats, apiUrl } = services
  const built = await screen.step('Making accounts, policies, edges and destinations through the API', () =>
    build(scenario, services, survey.lines > keptRecordsMax ? 'ids' : 'all'),
  )
  await screen.step('Asking weir.decide, until the configuration is in effect', () =>
    whenInEffect(scenario, built, services),
  )
  screen.say(decided(scenario, screen))

  const textOf = recordText(scenario, built)
  const endOutage = await beginOutage(aws, built.destinations.find(({ kind }) => kind === 'kinesis')!)
  const published = await screen.step('Publishing the records over NATS', () =>
    publish(nats, linesOf(file), textOf, (records) =>
      screen.progress(() => `${grouped(records)} of ${grouped(survey.lines)} records published`),
    ),
  )
  const { seen, metrics } = await screen.step('Waiting until every event has arrived', async () => ({
    seen: await endOutage(apiUrl, published),
    metrics: await whenArrived(apiUrl, published, (text) => screen.progress(() => text)),
  }))
  const account = {
    scenario,
    published,
    metrics,
    outage: seen,
    badRecords: (await services.badRecords()).reverse(),
    destinations: await Promise.all(built.destinations.map((each) => arrivalsAt(aws, each))),
    sample: await sampleIn(aws, built),
    situations: await countSituations(aws, built, scenario),
    idsRepeat: survey.idsRepeat,
  }
  return { account, textOf }
}

/** As in the file, or with what the ingress node adds. */
const recordText =
  ({ published }: Scenario, built: Built) =>
  (line: string): string => {
    if (published === undefined) return line
    const record = parseRecordLine(line)
    return record === undefined ? line : JSON.stringify(published(record, built))
  }

async function arrivalsAt(aws: EmulatorClient, destination: Destination): Promise<Arrivals> {
  const { api, id, target } = destination
  const [status, received] = await Promise.all([api.deliveryStatus(id), aws.counts(target)])
  return { destination, status, received }
}

/** Of events that name the reason why a connection was refused, the shortest fits a screen best. */
async function sampleIn(aws: EmulatorClient, { destinations }: Built): Promise<Sample | undefined> {
  const pages = destinations.map(async ({ kind, target }) =>
    (await aws.page(target, 0, eventsLookedAt)).events.map(({ data }) => ({ kind, text: data.trim() })),
  )
  // An event that a traffic policy logs holds only its author's text.
  const events = (await Promise.all(pages))
    .flat()
    .filter(({ text }) => !text.includes('"event_type":"log.v0"'))
  const refusals = events.filter(({ text }) => text.includes('"decision":"deny"'))
  return (refusals.length > 0 ? refusals : events).toSorted((a, b) => a.text.length - b.text.length)[0]
}

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
