/** Waits until everything has arrived, and lets a shard fail on the way. */
import { monotonicMs, sleep } from '../core/clock.js'
import type { EmulatorClient } from '../emulator/client.js'
import type { DeliveryStatus } from '../shape/delivery-status.js'
import type { Destination } from './build.js'
import { type MetricsPage, readMetrics } from './metrics-page.js'

/** Observations while a shard failed. */
export interface Outage {
  readonly shard: number
  /** The state that the destination reported because of the failure. */
  readonly state: DeliveryStatus['state']
  readonly code: string
  /** Events that arrived through the other shards. */
  readonly arrived: number
  /** It lasted at least this long. */
  readonly seconds: number
}

const lookEveryMs = 200
/** If nothing moves for this long, the missing events will not arrive. */
const stuckMs = 60_000
const outageMs = 1_500
const failingShard = 1

const hasArrived = (metrics: MetricsPage, records: number): boolean =>
  metrics.sum('weir_records_in_total') >= records && metrics.sum('weir_events_backlog') === 0

/** Resolves when every record is evaluated and no event is under way; throws if there is no progress. */
export async function whenArrived(
  apiUrl: string,
  records: number,
  progress: (metrics: MetricsPage) => void,
): Promise<MetricsPage> {
  let known = ''
  let movedMs = monotonicMs()
  for (;;) {
    const metrics = await readMetrics(apiUrl)
    if (hasArrived(metrics, records)) return metrics
    progress(metrics)
    const evaluated = metrics.sum('weir_records_in_total')
    const backlog = metrics.sum('weir_events_backlog')
    const now = `${evaluated} of ${records} records came in, ${backlog} events are under way`
    if (now !== known) movedMs = monotonicMs()
    known = now
    if (monotonicMs() - movedMs > stuckMs) throw new Error(`Nothing moves any more: ${now}.`)
    await sleep(lookEveryMs)
  }
}

/**
 * The error that the failing shard caused, once the destination reports it. The state alone proves nothing: on a busy
 * machine it may only mean that no deliverer answered in time.
 */
export const feltError = ({ state, last_error }: DeliveryStatus): string | undefined =>
  state === 'throttled' || state === 'failing' ? last_error?.code : undefined

/**
 * Begins an outage of a Kinesis shard. `end` lets the shard recover after the destination has reported the outage, or
 * when everything has arrived without an event for that shard.
 */
export async function beginOutage(
  aws: EmulatorClient,
  destination: Destination,
): Promise<{ end(apiUrl: string, records: number): Promise<Outage | undefined> }> {
  const effect = { type: 'fail_records', shard: failingShard } as const
  const fault = await aws.addFault({ service: 'kinesis', operation: 'PutRecords', effect })
  const startedMs = monotonicMs()
  return {
    async end(apiUrl, records) {
      try {
        for (;;) {
          const status = await destination.api.deliveryStatus(destination.id)
          const code = feltError(status)
          if (code !== undefined) {
            await sleep(outageMs)
            const { unique } = await aws.counts(destination.target)
            const seconds = (monotonicMs() - startedMs) / 1000
            return { shard: failingShard, state: status.state, code, arrived: unique, seconds }
          }
          if (hasArrived(await readMetrics(apiUrl), records)) return undefined
          await sleep(lookEveryMs)
        }
      } finally {
        await aws.clearFaults(fault)
      }
    },
  }
}
