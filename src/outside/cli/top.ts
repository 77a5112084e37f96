/** `weir top`: rates by decision, edge and what decided, and the destinations; refreshed in place until interrupted. */

import { every, isoMillis, now } from '../../ground/core/clock.js'
import { messageOf } from '../../ground/core/errors.js'
import { getOrMake } from '../../ground/core/maps.js'
import { forTerminal } from '../../ground/core/text/terminal.js'
import { sentenceForTerminal } from '../../ground/core/text/times.js'
import { stopSignal } from '../../management/process/child.js'
import type { Settings } from '../../management/process/settings.js'
import type { Client, WatchRate } from '../../words/client/client.js'
import type { RowTime } from '../../words/client/decisions.js'
import { actionText } from '../../words/event/operator-actions.js'
import type { LoggedDecision } from '../../words/shape/decisions/logged-decision.js'
import type { DeliveryStatus } from '../../words/shape/delivery-status.js'
import { clientOf } from './connection/api-client.js'
import { rowTimeOf } from './decisions.js'
import type { TapOptions } from './tap.js'

/** Rates are those of the last seconds. */
const secondsKept = 10
/** By own times, a record that began so long before it was stored is none of now. */
const lateMs = 60_000
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
  /** Lines about what began long before, which are counted nowhere else. */
  late: number
}

const newSecond = (): Second => ({
  byDecision: new Map(),
  byEdge: new Map(),
  byDecider: new Map(),
  weight: 1,
  seen: 0,
  late: 0,
})

const count = (counts: Counts, name: string): void =>
  void counts.set(name, getOrMake(counts, name, () => 0) + 1)

/** Decisions of the last seconds. */
export class RecentDecisions {
  #current = newSecond()
  #seconds: readonly Second[] = []
  readonly time: RowTime
  /** Milliseconds since the epoch: when the newest record was published, or by own times, when it began. */
  newestMs: number | undefined

  constructor(time: RowTime = 'stored') {
    this.time = time
  }

  add(line: LoggedDecision): void {
    const storedMs = Date.parse(line.at)
    const atMs = this.time === 'own' ? Date.parse(line.own_at ?? line.at) : storedMs
    this.newestMs = Math.max(this.newestMs ?? atMs, atMs)
    if (atMs < storedMs - lateMs) this.#current.late += 1
    else this.#count(line)
  }

  #count({ decision, decided_by, edge_id, server_name, server_port }: LoggedDecision): void {
    const { byDecision, byEdge, byDecider } = this.#current
    count(byDecision, decision)
    count(byEdge, `${server_name ?? '?'}:${server_port ?? '?'}  ${edge_id ?? 'no edge'}`)
    const { type, policy, id, rule_id } = decided_by
    if (type !== 'none') count(byDecider, [type, policy, id, rule_id].filter(Boolean).join(' '))
  }

  endSecond({ seen, sent }: WatchRate): void {
    this.#current.seen = seen
    this.#current.weight = sent === 0 ? 0 : seen / sent
    this.#seconds = [...this.#seconds, this.#current].slice(-secondsKept)
    this.#current = newSecond()
  }

  /** Decisions per second. */
  get rate(): number {
    return this.#perSecond(({ seen }) => seen)
  }

  /** Those of what began long before it was stored; 0 unless own times count. */
  get lateRate(): number {
    return this.#perSecond(({ late, weight }) => late * weight)
  }

  #perSecond(of: (second: Second) => number): number {
    return this.#seconds.reduce((sum, second) => sum + of(second), 0) / Math.max(1, this.#seconds.length)
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
  readonly status: Pick<DeliveryStatus, 'state' | 'cause' | 'backlog' | 'last_error' | 'actions'>
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

const rateLine = ({ time, rate, lateRate, newestMs }: RecentDecisions, nowMs: number): string =>
  time === 'stored'
    ? `${rate.toFixed(1)} decisions per second; ${ageOf(newestMs, nowMs)}`
    : `${(rate - lateRate).toFixed(1)} decisions per second of what began in the last minute, ${lateRate.toFixed(1)} of what began before; ${ageOf(newestMs, nowMs)}`

/** The whole picture, as lines. */
export const pictureOf = (
  recent: RecentDecisions,
  destinations: readonly DestinationNow[],
  nowMs: number,
  unserved: readonly string[] = [],
): readonly string[] => [
  rateLine(recent, nowMs),
  ...unserved.map(sentenceForTerminal),
  ...rateRows('decision', recent.rates('byDecision')),
  ...rateRows('endpoint and edge', recent.rates('byEdge')),
  ...rateRows('stopped by', recent.rates('byDecider')),
  ...(destinations.length === 0 ? [] : ['', `${'backlog'.padStart(9)}  destination`]),
  ...destinations.flatMap((each) => destinationRows(each, nowMs)),
]

/** Below one in trouble: its last error, and what can be done. */
function destinationRows(
  { id, description, status: { state, cause, backlog, last_error, actions } }: DestinationNow,
  nowMs: number,
): string[] {
  const { events, oldest_at } = backlog
  const age = oldest_at === null ? '' : `, oldest ${((nowMs - Date.parse(oldest_at)) / 1000).toFixed(0)} s`
  const why = cause === null ? '' : ` (${cause})`
  const row = `${String(events).padStart(9)}  ${id}  ${state}${why}${age}  ${description ?? ''}`.trimEnd()
  if (cause === null) return [row]
  const error = last_error === null ? [] : [`${last_error.code}: ${last_error.msg}`]
  return [row, ...[...error, ...actions.map(actionText)].map((text) => `${' '.repeat(11)}${text}`)]
}

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
  ...(recent.time === 'own' && { late_rate: recent.lateRate }),
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

type TopOptions = Pick<TapOptions, 'filter' | 'edge' | 'json'> & { readonly time?: string }

export async function top(settings: Settings, { filter, edge, json, time }: TopOptions): Promise<void> {
  const client = clientOf(settings)
  const stop = new AbortController()
  void stopSignal().then(() => stop.abort())
  const recent = new RecentDecisions(time === undefined ? 'stored' : rowTimeOf(time))
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
