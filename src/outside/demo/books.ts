/** The books of a run: the expected value of each counter, and whether the counter has it. */

import { type RecordType, recordTypes } from '../../delivery/record/traffic-record.js'
import type { DeliveryStatus } from '../../words/shape/delivery-status.js'
import type { ReceivedCounts } from '../emulator/wire.js'
import type { Destination } from './build.js'
import type { MetricsPage } from './metrics-page.js'
import type { Scenario, TargetKind } from './scenario.js'

/** One equation; it holds if all its values are equal. */
export interface Check {
  readonly says: string
  readonly values: Readonly<Record<string, number>>
}

export const holds = ({ values }: Check): boolean => new Set(Object.values(values)).size === 1

export interface Result {
  readonly scenario: Scenario
  /** Lines of the file, all of them published. */
  readonly published: number
  readonly metrics: MetricsPage
  readonly deadLetters: number
  readonly destinations: readonly DestinationResult[]
  readonly situations: readonly number[]
  readonly idsRepeat: boolean
}

export interface DestinationResult {
  readonly destination: Destination
  readonly status: DeliveryStatus
  readonly received: ReceivedCounts
  /** The first event that arrived, if events are kept. */
  readonly samples: readonly string[]
}

const kindOfType: Readonly<Record<RecordType, string>> = {
  tcp_connection: 'tcp_connection_closed.v0',
  http_request: 'http_request_complete.v0',
}

export function checksOf(result: Result): Check[] {
  return [
    ...recordChecks(result),
    ...result.destinations.flatMap((destination) => destinationChecks(result, destination)),
    ...result.scenario.situations.each.flatMap(({ says, endpoint, expected }, index) =>
      countCheck(`${says} at ${endpoint}`, result.situations[index]!, expected),
    ),
  ]
}

/** None if the expected count is not known. */
const countCheck = (says: string, counted: number, expected: number | undefined): Check[] =>
  expected === undefined ? [] : [{ says, values: { counted, expected } }]

export const evaluatedOf = (metrics: MetricsPage, type?: RecordType): number =>
  metrics.sum('weir_records_evaluated_total', type === undefined ? {} : { type })

function recordChecks({ scenario, published, metrics, deadLetters }: Result): Check[] {
  const bad = metrics.sum('weir_records_bad_total')
  const evaluated = evaluatedOf(metrics)
  const unservedCounted = metrics.sum('weir_records_unserved_total')
  const warned = metrics.sum('weir_restriction_warnings_total', { asked_by: 'record' })
  const { malformed, unserved, warnings } = scenario
  return [
    {
      says: 'records in = evaluated + bad',
      values: { published, in: metrics.sum('weir_records_in_total'), 'evaluated + bad': evaluated + bad },
    },
    {
      says: 'evaluated = allowed + blocked + denied',
      values: { evaluated, 'decided about': metrics.sum('weir_decisions_total') },
    },
    {
      says: 'bad records lie in the dead letters',
      values: { bad, 'in the stream': deadLetters, ...(malformed === undefined ? {} : { malformed }) },
    },
    ...countCheck('records that no edge serves', unservedCounted, unserved),
    // A process counts a record again whose message it gets again, after an acknowledgement that came late.
    ...countCheck(
      'at least as many warnings of the restriction that is not enforced',
      Math.min(warned, warnings ?? 0),
      warnings,
    ),
  ]
}

function destinationChecks(
  { scenario, metrics, idsRepeat }: Result,
  { destination, status, received }: DestinationResult,
): Check[] {
  const { kind: target } = destination
  const { produced, filtered, delivered, dead_lettered } = status.counts
  const sum = (name: string) => metrics.sum(`weir_events_${name}`, { target })
  const ends = sum('delivered_total') + sum('dead_lettered_total') + sum('dropped_total') + sum('backlog')
  return [
    {
      says: `${target}: produced = delivered + dead-lettered + dropped + backlog`,
      values: {
        produced: sum('produced_total'),
        'their ends': ends,
        'produced, by its status': produced,
        'their ends, by its status': delivered + dead_lettered,
      },
    },
    {
      says: `${target}: filtered out`,
      values: { counted: sum('filtered_total'), 'by its status': filtered },
    },
    // Repeated record ids make the same events again, which a consumer drops.
    idsRepeat
      ? {
          says: `${target}: at least all arrived`,
          values: { delivered, received: Math.min(delivered, received.events) },
        }
      : {
          says: `${target}: each event arrived`,
          values: { delivered, 'different ids received': received.unique },
        },
    ...metrics.kindsOf(target).flatMap((kind) => kindChecks(scenario, metrics, target, kind)),
  ]
}

function kindChecks(scenario: Scenario, metrics: MetricsPage, target: TargetKind, kind: string): Check[] {
  const sum = (name: string) => metrics.sum(`weir_events_${name}_total`, { kind, target })
  const produced = sum('produced')
  const type = recordTypes.find((each) => kindOfType[each] === kind)
  if (type === undefined) {
    // Each log action that ran makes one event.
    const logs = scenario.logs(target)
    if (logs === undefined) return []
    return [{ says: `${target}: ${kind}`, values: { produced, 'log actions': logs } }]
  }
  const evaluated = scenario.heard(target, type, evaluatedOf(metrics, type))
  return [
    {
      says: `${target}: ${kind}: evaluated = produced + filtered`,
      values: { evaluated, 'produced + filtered': produced + sum('filtered') },
    },
  ]
}
