/** Collects what a site has and says, once nothing is under way, and judges it. */
import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError } from '../../src/words/client/client.js'
import { total } from '../harness/metrics.js'
import { metricsOf } from '../harness/pages.js'
import { until } from '../harness/weir.js'
import { type Issue, isNarrow, narrowOf } from './issue.js'
import type { Publisher } from './publisher.js'
import type { Site, SiteDestination } from './site.js'
import {
  type Arrivals,
  arrivalsOf,
  type Books,
  brokenDuties,
  brokenEquations,
  type DestinationBooks,
} from './verdict.js'

export interface Expected {
  /** Repeats of a destination that the faults may have caused. */
  readonly repeatsMax: (destination: SiteDestination) => number
  /** Lines that are no records. */
  readonly bad?: number
  /** Events that are dead letters, of all destinations. */
  readonly deadLettered?: number
}

interface Verdict {
  readonly arrivals: readonly Arrivals[]
  /** What is wrong, as sentences. */
  readonly broken: readonly string[]
}

const idlePatienceMs = 300_000
const sampleSize = 20

/** Nothing waits, nothing is on its way, and every record is in the books. */
async function untilIdle(site: Site, records: number): Promise<void> {
  let last: unknown
  const isIdle = async (): Promise<boolean> => {
    const metrics = await metricsOf(site.apiUrl).catch(() => '')
    const statuses = await Promise.all(
      site.destinations.map(({ id }) =>
        site.api.deliveryStatus(id).catch((error) => (error instanceof ApiError ? undefined : undefined)),
      ),
    )
    const backlogs = statuses.map((status) => status?.backlog.events ?? -1)
    last = { in: total(metrics, 'weir_records_in_total'), records, backlogs }
    return total(metrics, 'weir_records_in_total') >= records && backlogs.every((events) => events === 0)
  }
  await until(() => `nothing is under way: ${JSON.stringify(last)}`, isIdle, idlePatienceMs)
}

async function readBooks(site: Site): Promise<Books> {
  const metrics = await metricsOf(site.apiUrl)
  const sum = (name: string): number => total(metrics, name)
  const destinations: DestinationBooks[] = []
  for (const { id, kind } of site.destinations) {
    const { counts, backlog } = await site.api.deliveryStatus(id)
    const { produced, filtered, delivered, dead_lettered: deadLettered, dropped } = counts
    const ends = { delivered, deadLettered, dropped, backlog: backlog.events }
    destinations.push({ destination: kind, produced, filtered, ...ends })
  }
  return {
    in: sum('weir_records_in_total'),
    evaluated: sum('weir_records_evaluated_total'),
    bad: sum('weir_records_bad_total'),
    history: sum('weir_records_history_total'),
    destinations,
  }
}

/** Each stored message once: a node that repeats a publish until it is acknowledged leaves one. */
async function storedTwice(site: Site, messages: number): Promise<string[]> {
  const infos = await Promise.all(
    site.partitions.map(({ recordsStream }) => site.nats.streamInfo(recordsStream)),
  )
  const stored = infos.reduce((sum, info) => sum + (info?.state.last_seq ?? 0), 0)
  return stored === messages ? [] : [`${messages} messages were acknowledged, and ${stored} are stored`]
}

/** `GET /records/{id}` of some records: each was delivered, to every destination that it belongs to. */
async function wrongTraces(site: Site, issue: Issue, issued: number): Promise<string[]> {
  const wrong: string[] = []
  for (let at = 0; at < sampleSize; at += 1) {
    const n = Math.floor((at * issued) / sampleSize)
    const owed = site.destinations.filter((each) => !each.isNarrow || isNarrow(n)).map(({ id }) => id)
    let shown = ''
    const isTrue = async (): Promise<boolean> => {
      const { publications } = await site.api.record(issue.recordId(n))
      const deliveries = (publications.at(-1)?.events ?? []).flatMap(({ deliveries }) => deliveries)
      shown = deliveries.map(({ destination_id, state }) => `${destination_id} ${state}`).join(', ')
      const done = deliveries.filter(({ state }) => state === 'delivered' || state === 'pending')
      return done.length === owed.length && owed.every((id) => done.some((one) => one.destination_id === id))
    }
    // Rows get into the log some seconds later.
    for (let tries = 0; !(await isTrue().catch(() => false)); tries += 1) {
      if (tries === 10) {
        wrong.push(`GET /records/${issue.recordId(n)} says ${shown || 'nothing'}`)
        break
      }
      await sleep(1_000)
    }
  }
  return wrong
}

/** Waits until a site is idle, and judges all that is there. */
export async function judge(
  site: Site,
  issue: Issue,
  publisher: Publisher,
  { repeatsMax, bad = 0, deadLettered = 0 }: Expected,
): Promise<Verdict> {
  const { issued, messages, obligations } = publisher
  await untilIdle(site, obligations + bad)
  const arrivals: Arrivals[] = []
  const origin = { issue, accountId: site.accountId, storedAt: new Map<number, string>() }
  for (const each of site.destinations) {
    const isAllowed = (n: number): boolean => !each.isNarrow || isNarrow(n)
    const isOwed = (n: number): boolean => isAllowed(n) && publisher.isAcknowledged(n)
    const duty = { destination: each.kind, issued, isAllowed, isOwed, repeatsMax: repeatsMax(each) }
    arrivals.push(arrivalsOf(origin, duty, await each.arrived()))
  }
  const events = new Map(
    site.destinations.map((each) => [each.kind, each.isNarrow ? narrowOf(obligations) : obligations]),
  )
  const broken = [
    ...brokenDuties(arrivals),
    ...brokenEquations(await readBooks(site), { records: obligations, bad, events, deadLettered }),
    ...(await storedTwice(site, messages)),
    ...(await wrongTraces(site, issue, issued)),
  ]
  return { arrivals, broken }
}
