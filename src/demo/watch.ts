/** Waits until everything has arrived, and lets a shard fail on the way. */
import { monotonicMs, sleep } from '../core/clock.js'
import type { DeliveryStatus } from '../resource/delivery-status.js'
import type { AwsEmulator } from './aws-emulator.js'
import type { Destination } from './build.js'
import { type MetricsPage, readMetrics } from './metrics-page.js'

/** A destination while one of its shards failed. */
export interface Outage {
  readonly shard: number
  /** Of the destination, when it had felt the failure: never that of one that had not. */
  readonly state: DeliveryStatus['state']
  readonly code: string
  /** Events that had arrived by way of the other shards. */
  readonly arrived: number
  readonly seconds: number
}

const lookEveryMs = 200
/** Nothing moved for so long: what is missing will not come. */
const stuckMs = 60_000
const outageMs = 1_500
const failingShard = 1

export const statusOf = ({ api, id }: Destination): Promise<DeliveryStatus> => api.deliveryStatus(id)

const hasArrived = (metrics: MetricsPage, records: number): boolean =>
  metrics.sum('weir_records_in_total') >= records && metrics.sum('weir_events_backlog') === 0

/** Resolves when every record was evaluated and no event is under way; throws when it stops getting nearer. */
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
    const [evaluated, backlog] = ['weir_records_in_total', 'weir_events_backlog'].map((name) =>
      metrics.sum(name),
    )
    const now = `${evaluated} of ${records} records came in, ${backlog} events are under way`
    if (now !== known) movedMs = monotonicMs()
    known = now
    if (monotonicMs() - movedMs > stuckMs) throw new Error(`Nothing moves any more: ${now}.`)
    await sleep(lookEveryMs)
  }
}

/**
 * The error that the failing shard caused, once the destination reports it. A state alone proves nothing: on a busy
 * machine no deliverer may have answered in time.
 */
export const feltError = ({ state, last_error }: DeliveryStatus): string | undefined =>
  state === 'throttled' || state === 'failing' ? last_error?.code : undefined

/**
 * Begins an outage of a Kinesis shard; `end` lets it recover once the destination has felt it, or once all has
 * arrived without an event for that shard.
 */
export async function beginOutage(
  aws: AwsEmulator,
  destination: Destination,
): Promise<{ end(hasArrived: () => Promise<boolean>): Promise<Outage | undefined> }> {
  const fault = await aws.failShard(failingShard)
  const startedMs = monotonicMs()
  return {
    async end(arrived) {
      try {
        for (;;) {
          const status = await statusOf(destination)
          const code = feltError(status)
          if (code !== undefined) {
            await sleep(outageMs)
            const { unique } = await aws.received(destination.kind)
            const seconds = (monotonicMs() - startedMs) / 1000
            return { shard: failingShard, state: status.state, code, arrived: unique, seconds }
          }
          if (await arrived()) return undefined
          await sleep(lookEveryMs)
        }
      } finally {
        await aws.endFault(fault)
      }
    },
  }
}

export const arrivedAt = async (apiUrl: string, records: number): Promise<boolean> =>
  hasArrived(await readMetrics(apiUrl), records)
