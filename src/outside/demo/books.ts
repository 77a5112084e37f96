/** The books of a run: counts of records and events that the demo knows, and whether Weir has the same. */
import type { DeadLetter } from '../../words/shape/dead-letter.js'
import type { DeliveryStatus } from '../../words/shape/delivery-status.js'
import type { ReceivedCounts } from '../emulator/wire.js'
import type { Destination } from './build.js'
import type { MetricsPage } from './metrics-page.js'
import type { Scenario, TargetKind } from './scenario.js'
import { grouped } from './screen.js'
import type { Outage } from './watch.js'

/** A run and its outcome. */
export interface Account {
  readonly scenario: Scenario
  /** Lines of the file, all of them published. */
  readonly published: number
  readonly metrics: MetricsPage
  readonly outage: Outage | undefined
  /** Dead letters, the oldest first. */
  readonly badRecords: readonly DeadLetter[]
  readonly destinations: readonly Arrivals[]
  /** An event that arrived; undefined if events are not kept. */
  readonly sample: Sample | undefined
  /** How many events arrived of each situation. */
  readonly situations: readonly number[]
  readonly idsRepeat: boolean
}

export interface Sample {
  readonly kind: TargetKind
  readonly text: string
}

export interface Arrivals {
  readonly destination: Destination
  readonly status: DeliveryStatus
  readonly received: ReceivedCounts
}

/** One equation; it holds if all its values are equal. */
export interface Check {
  readonly says: string
  readonly values: Readonly<Record<string, number>>
}

export const holds = ({ values }: Check): boolean => new Set(Object.values(values)).size === 1

export const checkLine = ({ says, values }: Check): string =>
  `  ${says}: ${Object.entries(values)
    .map(([name, value]) => `${name} ${grouped(value)}`)
    .join(', ')}`

export const checksOf = (account: Account): Check[] =>
  [
    ...recordChecks(account),
    ...account.destinations.flatMap((arrivals) => destinationChecks(account, arrivals)),
    ...account.scenario.situations.each.map(({ says, endpoint, expected }, index) => ({
      says: `${says} at ${endpoint}`,
      values: { counted: account.situations[index]!, expected },
    })),
  ].filter(({ values }) => Object.keys(values).length > 1)

/** An expected count, if it is known: nothing is compared with one that is not. */
const known = (name: string, count: number | undefined) => (count === undefined ? {} : { [name]: count })

function recordChecks({ scenario, published, metrics, badRecords }: Account): Check[] {
  const [received = 0, bad = 0, evaluated = 0, unserved = 0] = ['in', 'bad', 'evaluated', 'unserved'].map(
    (name) => metrics.sum(`weir_records_${name}_total`),
  )
  const warned = metrics.sum('weir_restriction_warnings_total', 'asked_by="record"')
  const { malformed, warnings } = scenario
  return [
    {
      says: 'records in = evaluated + bad',
      values: { published, in: received, 'evaluated + bad': evaluated + bad },
    },
    {
      says: 'bad records lie in the dead letters',
      values: { bad, 'in the stream': badRecords.length, ...known('malformed', malformed) },
    },
    {
      says: 'records that no edge serves',
      values: { counted: unserved, ...known('expected', scenario.unserved) },
    },
    // A process counts a record again whose message it gets again, after an acknowledgement that came late.
    {
      says: 'at least as many warnings of the restriction that is not enforced',
      values: { counted: Math.min(warned, warnings ?? 0), ...known('expected', warnings) },
    },
  ]
}

function destinationChecks({ scenario, metrics, idsRepeat }: Account, arrivals: Arrivals): Check[] {
  const { kind: target } = arrivals.destination
  const sum = (name: string) => metrics.sum(`weir_events_${name}`, `target="${target}"`)
  const ends = sum('delivered_total') + sum('dead_lettered_total') + sum('dropped_total') + sum('backlog')
  const { delivered } = arrivals.status.counts
  const { events, unique } = arrivals.received
  return [
    {
      says: `${target}: produced = delivered + dead-lettered + dropped + backlog`,
      values: {
        produced: sum('produced_total'),
        'their ends': ends,
        ...known('expected', scenario.events?.[target]),
      },
    },
    {
      says: `${target}: each event arrived`,
      // Repeated record ids make the same events again, which a consumer drops.
      values: { delivered, received: idsRepeat ? Math.min(delivered, events) : unique },
    },
  ]
}
