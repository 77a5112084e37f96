/** What nats-server makes of the configuration that a client sends for a stream or a consumer. */
import { type Consumer, type ConsumerConfig, filtersOf } from './consumer.js'
import { filterOfWorkQueue, startOfWorkQueue } from './errors.js'
import type { StreamConfig } from './stream.js'
import { overlap } from './subjects.js'

const nanosPerSecond = 1e9
const defaultAckWait = 30 * nanosPerSecond
const defaultAckPendingMax = 1_000
const defaultWindow = 120 * nanosPerSecond
const ephemeralThreshold = 5 * nanosPerSecond

/** With all that the client left out. */
export const streamConfigOf = (body: Record<string, unknown>): StreamConfig =>
  ({
    retention: 'limits',
    discard: 'old',
    max_bytes: -1,
    max_msgs: -1,
    max_msgs_per_subject: -1,
    max_msg_size: -1,
    max_age: 0,
    duplicate_window: defaultWindow,
    num_replicas: 1,
    ...body,
  }) as unknown as StreamConfig

/** With all that the client left out. */
export function consumerConfigOf(given: Record<string, unknown>, uniqueName: () => string): ConsumerConfig {
  const { durable_name, name = durable_name ?? uniqueName() } = given as {
    durable_name?: string
    name?: string
  }
  const acknowledges = given['ack_policy'] !== 'none'
  const isDurable = durable_name !== undefined
  return {
    deliver_policy: 'all',
    ack_policy: 'none',
    max_deliver: -1,
    ...(acknowledges && { ack_wait: defaultAckWait, max_ack_pending: defaultAckPendingMax }),
    ...(!isDurable && { inactive_threshold: ephemeralThreshold }),
    ...given,
    name,
  } as unknown as ConsumerConfig
}

/** A work queue has one consumer for each message, from the first on. */
export function checkOnWorkQueue(config: ConsumerConfig, others: ReadonlyMap<string, Consumer>): void {
  if (config.deliver_policy !== 'all') throw startOfWorkQueue()
  for (const { config: other } of others.values())
    if (allOf(other).some((a) => allOf(config).some((b) => overlap(a, b)))) throw filterOfWorkQueue()
}

const allOf = (config: ConsumerConfig): readonly string[] => {
  const filters = filtersOf(config)
  return filters.length === 0 ? ['>'] : filters
}
