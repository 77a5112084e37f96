/** Waits until everything has arrived, and lets a shard fail on the way. */
import { monotonicMs, sleep } from '../../ground/core/clock.js'
import type { DeliveryStatus } from '../../words/shape/delivery-status.js'
import type { EmulatorClient } from '../emulator/client.js'
import type { Destination } from './build.js'
import { type MetricsPage, readMetrics } from './metrics-page.js'
import { untilFound } from './patience.js'
import { grouped } from './screen.js'

/** Observations while a shard failed. */
export interface Outage {
  readonly shard: number
  /** The state that the destination reported because of the failure. */
  readonly state: DeliveryStatus['state']
  /** It lasted at least this long. */
  readonly seconds: number
}

const outageMs = 1_500
const failingShard = 1

/** A page is incomplete if a busy process did not say its part in time. */
const hasArrived = (metrics: MetricsPage, records: number): boolean =>
  metrics.sum('weir_records_in_total') >= records &&
  metrics.sum('weir_events_backlog') === 0 &&
  metrics.revisionOf('pipeline') > 0

function progressOf(metrics: MetricsPage, records: number): string {
  const sum = (name: string) => grouped(metrics.sum(`weir_${name}`))
  const recordsIn = `${sum('records_in_total')} of ${grouped(records)} records came in`
  return `${recordsIn}, ${sum('events_delivered_total')} events delivered, ${sum('events_backlog')} under way`
}

/** Resolves when every record is evaluated and no event is under way; throws if there is no progress. */
export const whenArrived = (
  apiUrl: string,
  records: number,
  progress: (text: string) => void,
): Promise<MetricsPage> =>
  untilFound(async () => {
    const metrics = await readMetrics(apiUrl)
    if (hasArrived(metrics, records)) return { found: metrics }
    const situation = progressOf(metrics, records)
    progress(situation)
    return { situation }
  })

/**
 * Did it notice that a shard fails? The state alone proves nothing: on a busy machine it may only mean that no deliverer
 * answered in time.
 */
export const hasNoticed = ({ state, last_error }: DeliveryStatus): boolean =>
  (state === 'throttled' || state === 'failing') && last_error !== null

/**
 * Lets a Kinesis shard fail. The result ends that, after the destination has reported it, or when everything has arrived
 * without an event for that shard.
 */
export async function beginOutage(aws: EmulatorClient, { id, api }: Destination) {
  const effect = { type: 'fail_records', shard: failingShard } as const
  const fault = await aws.addFault({ service: 'kinesis', operation: 'PutRecords', effect })
  const startedMs = monotonicMs()
  return async (apiUrl: string, records: number): Promise<Outage | undefined> => {
    const seen = await untilFound(async () => {
      const status = await api.deliveryStatus(id)
      if (hasNoticed(status)) return { found: status.state }
      const metrics = await readMetrics(apiUrl)
      if (hasArrived(metrics, records)) return { found: undefined }
      return {
        situation: `${progressOf(metrics, records)}; a shard fails, and its destination is ${status.state}`,
      }
    })
    if (seen !== undefined) await sleep(outageMs)
    await aws.clearFaults(fault)
    const seconds = (monotonicMs() - startedMs) / 1000
    return seen && { shard: failingShard, state: seen, seconds }
  }
}
