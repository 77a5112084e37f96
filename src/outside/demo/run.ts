/** Runs a scenario step by step, and collects its outcome. */
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

/** Resolves with the outcome, and how a line of the file is published. */
export async function run(
  scenario: Scenario,
  file: string,
  survey: Survey,
  services: Services,
  screen: Screen,
) {
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
  const account: Account = {
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

/** An event of a connection that was denied is the most instructive, and the shortest one fits a screen best. */
async function sampleIn(aws: EmulatorClient, { destinations }: Built): Promise<Sample | undefined> {
  const pages = destinations.map(async ({ kind, target }) =>
    (await aws.page(target, 0, eventsLookedAt)).events.map(({ data }) => ({ kind, text: data.trim() })),
  )
  const events = (await Promise.all(pages)).flat().toSorted((a, b) => a.text.length - b.text.length)
  const withDecision = (name: string) => events.find(({ text }) => text.includes(`"decision":"${name}"`))
  return withDecision('deny') ?? withDecision('block') ?? withDecision('allow')
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
