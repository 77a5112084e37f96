/** Waits until everything has arrived, and lets a shard fail on the way. */
import { monotonicMs, sleep } from '../../ground/core/clock.js'
import type { DeliveryStatus } from '../../words/shape/delivery-status.js'
import type { EmulatorClient } from '../emulator/client.js'
import type { Destination } from './build.js'
import { type MetricsPage, readMetrics } from './metrics-page.js'
import { untilFound } from './patience.js'

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

const outageMs = 1_500
const failingShard = 1

/** A page is incomplete if a busy process did not say its part in time. */
const hasArrived = (metrics: MetricsPage, records: number): boolean =>
  metrics.sum('weir_records_in_total') >= records &&
  metrics.sum('weir_events_backlog') === 0 &&
  metrics.revisionOf('pipeline') > 0

/**
 * Resolves when every record is evaluated and no event is under way; throws if there is no progress. `isHeld`: events wait
 * for an outage that the demo itself will end.
 */
export function whenArrived(
  apiUrl: string,
  records: number,
  progress: (metrics: MetricsPage) => void,
  isHeld: () => boolean,
): Promise<MetricsPage> {
  return untilFound(async () => {
    const metrics = await readMetrics(apiUrl)
    if (hasArrived(metrics, records)) return { found: metrics }
    progress(metrics)
    const evaluated = metrics.sum('weir_records_in_total')
    const backlog = metrics.sum('weir_events_backlog')
    const held = isHeld() ? 'while a shard fails' : 'and all shards work'
    return {
      situation: `${evaluated} of ${records} records came in, ${backlog} events are under way, ${held}.`,
    }
  })
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
): Promise<{ readonly isOver: boolean; end(apiUrl: string, records: number): Promise<Outage | undefined> }> {
  const effect = { type: 'fail_records', shard: failingShard } as const
  const fault = await aws.addFault({ service: 'kinesis', operation: 'PutRecords', effect })
  const startedMs = monotonicMs()
  let isOver = false
  return {
    get isOver() {
      return isOver
    },
    async end(apiUrl, records) {
      try {
        return await untilFound(async () => {
          const status = await destination.api.deliveryStatus(destination.id)
          const code = feltError(status)
          if (code !== undefined) {
            await sleep(outageMs)
            const { unique } = await aws.counts(destination.target)
            const seconds = (monotonicMs() - startedMs) / 1000
            return { found: { shard: failingShard, state: status.state, code, arrived: unique, seconds } }
          }
          if (hasArrived(await readMetrics(apiUrl), records)) return { found: undefined }
          return { situation: `The destination whose shard fails is ${status.state}.` }
        })
      } finally {
        await aws.clearFaults(fault)
        isOver = true
      }
    },
  }
}
