/** Collects what a site has and says, once nothing is under way, and judges it. */
import { setTimeout as sleep } from 'node:timers/promises'
import { inputConsumer } from '../../src/delivery/wire/names.js'
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
  unbalanced,
} from './verdict.js'

export interface Expected {
  /** Repeats of a destination that the faults may have caused. */
  readonly repeatsMax: (destination: SiteDestination) => number
  /** Lines that are no records. */
  readonly bad?: number
  /** Messages that hold them, beside those of the publisher. */
  readonly badMessages?: number
  /** Events that are dead letters, of all destinations. */
  readonly deadLettered?: number
  /** May the event of this record be missing there? It is a dead letter, or the fault is one that loses it. */
  readonly isExcused?: (n: number, destination: string) => boolean
  /** Acknowledged messages that are in no stream any more. */
  readonly forgotten?: number
  /** The ledger was put back, too: the books balance, but they don't know of everything. */
  readonly isLedgerOld?: boolean
  /** Nothing makes the decision log lose rows: every record is there. */
  readonly isLogged?: boolean
}

interface Verdict {
  readonly arrivals: readonly Arrivals[]
  /** What is wrong, as sentences. */
  readonly broken: readonly string[]
  /** How many of a sample the decision log has. */
  readonly traced: string
}

const idlePatienceMs = 300_000
const sampleSize = 20
const logTries = 10

/** Messages of records that no pipeline has acknowledged. */
async function messagesWaiting({ nats, partitions }: Site): Promise<number> {
  const positions = await Promise.all(
    partitions.map(({ recordsStream }) => nats.consumerInfo(recordsStream, inputConsumer)),
  )
  return positions.reduce((sum, position) => sum + (position?.unacknowledged ?? 0), 0)
}

/** Nothing waits, nothing is on its way, and every record is in the books. */
export async function untilIdle(site: Site, records: number): Promise<void> {
  let last: unknown
  const isIdle = async (): Promise<boolean> => {
    const metrics = await metricsOf(site.apiUrl).catch(() => '')
    const statuses = await Promise.all(
      site.destinations.map(({ id }) => site.api.deliveryStatus(id).catch(() => undefined)),
    )
    const backlogs = statuses.map((status) => status?.backlog.events ?? -1)
    const waiting = await messagesWaiting(site)
    last = { in: total(metrics, 'weir_records_in_total'), records, waiting, backlogs }
    const isCounted = total(metrics, 'weir_records_in_total') >= records
    return isCounted && waiting === 0 && backlogs.every((events) => events === 0)
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

interface Traces {
  readonly found: number
  /** Sentences about answers that are not true. */
  readonly wrong: readonly string[]
}

/** Done, or no attempt is in the log: a process that is killed loses the rows that it had not published. */
const trueStates = new Set(['delivered', 'pending'])

/** What `GET /records/{id}` says of a record: undefined if it is not in the log. */
async function traceOf(site: Site, recordId: string): Promise<string[] | undefined> {
  // Rows get into the log some seconds later.
  for (let tries = 0; tries < logTries; tries += 1) {
    try {
      const { publications } = await site.api.record(recordId)
      const events = publications.at(-1)?.events
      if (events !== null && events !== undefined)
        return events.flatMap(({ deliveries }) =>
          deliveries.map(({ destination_id, state }) => `${destination_id} ${state}`),
        )
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
    }
    await sleep(1_000)
  }
  return undefined
}

/** `GET /records/{id}` of some records: each was delivered to the destinations that it belongs to, and to no other. */
async function traced(
  site: Site,
  issue: Issue,
  issued: number,
  isExcused: Expected['isExcused'] = () => false,
): Promise<Traces> {
  const wrong: string[] = []
  let found = 0
  for (let at = 0; at < sampleSize; at += 1) {
    const n = Math.floor((at * issued) / sampleSize)
    const shown = await traceOf(site, issue.recordId(n))
    if (shown === undefined) continue
    found += 1
    const owed = site.destinations.filter((each) => !each.isNarrow || isNarrow(n))
    const isTrue = (line: string): boolean => {
      const [id, state = ''] = line.split(' ')
      const destination = owed.find((each) => each.id === id)
      if (destination === undefined) return false
      return trueStates.has(state) || (state === 'dead_lettered' && isExcused(n, destination.kind))
    }
    if (shown.length !== owed.length || !shown.every(isTrue))
      wrong.push(`GET /records/${issue.recordId(n)} says ${shown.join(', ')}`)
  }
  return { found, wrong }
}

/** Waits until a site is idle, and judges all that is there. */
export async function judge(
  site: Site,
  issue: Issue,
  publisher: Publisher,
  {
    repeatsMax,
    bad = 0,
    badMessages = 0,
    forgotten = 0,
    deadLettered = 0,
    isLogged = false,
    ...expected
  }: Expected,
): Promise<Verdict> {
  const { issued, messages, obligations } = publisher
  await untilIdle(site, expected.isLedgerOld ? 0 : obligations + bad)
  const arrivals: Arrivals[] = []
  const origin = { issue, accountId: site.accountId, storedAt: new Map<number, string>() }
  for (const each of site.destinations) {
    const isAllowed = (n: number): boolean => !each.isNarrow || isNarrow(n)
    const isOwed = (n: number): boolean => isAllowed(n) && publisher.isAcknowledged(n)
    const isExcused = (n: number): boolean => expected.isExcused?.(n, each.kind) === true
    const may = { isAllowed, isOwed, isExcused }
    const duty = { destination: each.kind, issued, ...may, repeatsMax: repeatsMax(each) }
    arrivals.push(arrivalsOf(origin, duty, await each.arrived()))
  }
  const events = new Map(
    site.destinations.map((each) => [each.kind, each.isNarrow ? narrowOf(obligations) : obligations]),
  )
  const traces = await traced(site, issue, issued, expected.isExcused)
  const books = await readBooks(site)
  const ledger = expected.isLedgerOld
    ? unbalanced(books)
    : [
        ...brokenEquations(books, { records: obligations, bad, events, deadLettered }),
        ...(await storedTwice(site, messages + badMessages - forgotten)),
      ]
  const broken = [
    ...brokenDuties(arrivals),
    ...ledger,
    ...traces.wrong,
    ...(isLogged && traces.found < sampleSize
      ? [`${traces.found} of ${sampleSize} records are in the log`]
      : []),
  ]
  return { arrivals, broken, traced: `${traces.found} of ${sampleSize}` }
}
