/** `weir top`: rates by decision, edge and what decided, and the destinations; refreshed in place until interrupted. */
import type { Client, WatchRate } from '../client/client.js'
import { every, isoMillis, now } from '../core/clock.js'
import { messageOf } from '../core/errors.js'
import { getOrMake } from '../core/maps.js'
import { forTerminal } from '../core/text/terminal.js'
import { sentenceForTerminal } from '../core/text/times.js'
import { stopSignal } from '../process/child.js'
import type { Settings } from '../process/settings.js'
import type { DeliveryStatus } from '../shape/delivery-status.js'
import type { LoggedDecision } from '../shape/logged-decision.js'
import { clientOf, type TapOptions } from './tap.js'

/** Rates are those of the last seconds. */
const secondsKept = 10
const rowsShown = 10
const lookEveryMs = 2_000
const destinationsShown = 20

type Counts = Map<string, number>

interface Second {
  readonly byDecision: Counts
  readonly byEdge: Counts
  readonly byDecider: Counts
  /** How many decisions each sample stands for. */
  weight: number
  seen: number
}

const newSecond = (): Second => ({
  byDecision: new Map(),
  byEdge: new Map(),
  byDecider: new Map(),
  weight: 1,
  seen: 0,
})

const count = (counts: Counts, name: string): void =>
  void counts.set(name, getOrMake(counts, name, () => 0) + 1)

/** Decisions of the last seconds. */
export class RecentDecisions {
  #current = newSecond()
  #seconds: readonly Second[] = []
  /** Milliseconds since the epoch: when the newest record was published. */
  newestMs: number | undefined

  add({ at, decision, decided_by, edge_id, server_name, server_port }: LoggedDecision): void {
    const { byDecision, byEdge, byDecider } = this.#current
    count(byDecision, decision)
    count(byEdge, `${server_name ?? '?'}:${server_port ?? '?'}  ${edge_id ?? 'no edge'}`)
    const { type, policy, id, rule_id } = decided_by
    if (type !== 'none') count(byDecider, [type, policy, id, rule_id].filter(Boolean).join(' '))
    this.newestMs = Date.parse(at)
  }

  endSecond({ seen, sent }: WatchRate): void {
    this.#current.seen = seen
    this.#current.weight = sent === 0 ? 0 : seen / sent
    this.#seconds = [...this.#seconds, this.#current].slice(-secondsKept)
    this.#current = newSecond()
  }

  /** Decisions per second. */
  get rate(): number {
    return this.#seconds.reduce((sum, { seen }) => sum + seen, 0) / Math.max(1, this.#seconds.length)
  }

  /** The most frequent first; estimated from samples if there are many decisions. */
  rates(by: 'byDecision' | 'byEdge' | 'byDecider'): readonly (readonly [name: string, perSecond: number])[] {
    const sums = new Map<string, number>()
    for (const second of this.#seconds)
      for (const [name, times] of second[by]) sums.set(name, (sums.get(name) ?? 0) + times * second.weight)
    return [...sums]
      .map(([name, sum]) => [name, sum / this.#seconds.length] as const)
      .toSorted(([, a], [, b]) => b - a)
  }
}

/** A destination as it is now. */
interface DestinationNow {
  readonly id: string
  readonly description: string | null
  readonly status: Pick<DeliveryStatus, 'state' | 'cause' | 'backlog'>
}

const shownRate = (perSecond: number): string =>
  (perSecond < 10 ? perSecond.toFixed(1) : String(Math.round(perSecond))).padStart(9)

const rateRows = (title: string, rates: ReturnType<RecentDecisions['rates']>): string[] =>
  rates.length === 0
    ? []
    : [
        '',
        `${'per s'.padStart(9)}  ${title}`,
        ...rates.slice(0, rowsShown).map(([name, rate]) => `${shownRate(rate)}  ${name}`),
      ]

const ageOf = (ms: number | undefined, nowMs: number): string =>
  ms === undefined ? 'no record yet' : `the newest record is ${((nowMs - ms) / 1000).toFixed(1)} s old`

/** The whole picture, as lines. */
export const pictureOf = (
  recent: RecentDecisions,
  destinations: readonly DestinationNow[],
  nowMs: number,
  unserved: readonly string[] = [],
): readonly string[] => [
  `${recent.rate.toFixed(1)} decisions per second; ${ageOf(recent.newestMs, nowMs)}`,
  ...unserved.map(sentenceForTerminal),
  ...rateRows('decision', recent.rates('byDecision')),
  ...rateRows('endpoint and edge', recent.rates('byEdge')),
  ...rateRows('stopped by', recent.rates('byDecider')),
  ...(destinations.length === 0 ? [] : ['', `${'backlog'.padStart(9)}  destination`]),
  ...destinations.map(({ id, description, status: { state, cause, backlog } }) => {
    const { events, oldest_at } = backlog
    const age = oldest_at === null ? '' : `, oldest ${((nowMs - Date.parse(oldest_at)) / 1000).toFixed(0)} s`
    const why = cause === null ? '' : ` (${cause})`
    return `${String(events).padStart(9)}  ${id}  ${state}${why}${age}  ${description ?? ''}`.trimEnd()
  }),
]

/** The same as data; rates are per second. */
export const pictureData = (
  recent: RecentDecisions,
  destinations: readonly DestinationNow[],
  nowMs: number,
  unserved: readonly string[] = [],
): object => ({
  at: isoMillis(nowMs),
  newest_record_at: recent.newestMs === undefined ? null : isoMillis(recent.newestMs),
  rate: recent.rate,
  decisions: Object.fromEntries(recent.rates('byDecision')),
  edges: Object.fromEntries(recent.rates('byEdge')),
  stopped_by: Object.fromEntries(recent.rates('byDecider')),
  unserved,
  destinations,
})

async function destinationsNow(client: Client): Promise<DestinationNow[]> {
  const { statuses } = await client.deliveryStatuses({ limit: destinationsShown })
  return statuses.map(({ destination_id, description, status }) => ({
    id: destination_id,
    description,
    status,
  }))
}

/** Sentences about records that no edge serves. */
async function unservedNow(client: Client): Promise<string[]> {
  const { attention } = await client.overview()
  return attention.flatMap(({ type, sentence }) => (type === 'unserved_names' ? [sentence] : []))
}

const clearScreen = '\u001b[H\u001b[2J'

type TopOptions = Pick<TapOptions, 'filter' | 'edge' | 'json'>

export async function top(settings: Settings, { filter, edge, json }: TopOptions): Promise<void> {
  const client = clientOf(settings)
  const stop = new AbortController()
  void stopSignal().then(() => stop.abort())
  const recent = new RecentDecisions()
  const show = async (): Promise<void> => {
    const missing = (error: unknown): never[] => {
      process.stderr.write(`weir: ${forTerminal(messageOf(error))}\n`)
      return []
    }
    const [destinations, unserved] = await Promise.all([
      destinationsNow(client).catch(missing),
      unservedNow(client).catch(missing),
    ])
    if (json)
      return void process.stdout.write(
        `${JSON.stringify(pictureData(recent, destinations, now(), unserved))}\n`,
      )
    const picture = pictureOf(recent, destinations, now(), unserved).map(forTerminal).join('\n')
    process.stdout.write(process.stdout.isTTY ? `${clearScreen}${picture}\n` : `${picture}\n\n`)
  }
  const timer = every(lookEveryMs, show)
  const rate = (of: WatchRate): void => recent.endSecond(of)
  for await (const line of client.watchDecisions({ filter, edge, signal: stop.signal, rate }))
    recent.add(line)
  timer.stop()
}
