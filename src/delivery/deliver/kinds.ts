/** The list of destination kinds. */

import type { ReachableNetworks } from '../outgoing/private-networks.js'
import type { AwsClock } from './aws/aws-clock.js'
import type { AwsAccess, AwsDestination, AwsKind } from './aws/aws-kind.js'
import { SharedBodies } from './aws/shared-bodies.js'
import type { DestinationConfig } from './kind/destination.js'
import type { DestinationKind } from './kind/kind.js'
import type { EventPublisher, KindSettings, Sender } from './kind/sender.js'
import { clickhouse } from './kinds/clickhouse.js'
import { cloudwatchLogs } from './kinds/cloudwatch-logs.js'
import { eventbridge } from './kinds/eventbridge.js'
import { file } from './kinds/file.js'
import { firehose } from './kinds/firehose.js'
import { http } from './kinds/http.js'
import { kafka } from './kinds/kafka.js'
import { kinesis } from './kinds/kinesis.js'
import { nats } from './kinds/nats.js'
import { s3 } from './kinds/s3.js'
import { sqs } from './kinds/sqs.js'

// In the order of the API's document.
const declared = [
  kinesis,
  firehose,
  cloudwatchLogs,
  s3,
  sqs,
  eventbridge,
  http,
  kafka,
  nats,
  clickhouse,
  file,
] as const

/** The declarations, for types that are computed from them. */
export type DeclaredKind = (typeof declared)[number]

/** A kind of the list: one at AWS has the member `aws`. */
export type ListedKind = (DestinationKind & { readonly aws?: undefined }) | AwsKind

/** Everything at run time derives from this list; a program may add kinds before it loads anything else. */
export const destinationKinds: ListedKind[] = [...declared]

/** The declaration of a kind; an unknown kind is a defect. */
export function kindNamed(name: string): ListedKind {
  const kind = destinationKinds.find((each) => each.name === name)
  if (kind === undefined) throw new Error(`There is no destination kind ${name}.`)
  return kind
}

/** The setting that says how many bytes of events a request holds. */
export const requestMaxSetting = ({ name }: Pick<DestinationKind, 'name'>): string =>
  `WEIR_${name.toUpperCase()}_REQUEST_MAX`

export const requestTimeoutMsDefault = 15_000

export interface DeliverySettings {
  /** By the name of the kind. */
  readonly kinds: Readonly<Record<string, KindSettings>>
  readonly aws: AwsAccess
  readonly clock: AwsClock
  readonly requestTimeoutMs: number
  readonly networks: ReachableNetworks
  readonly cluster?: EventPublisher | undefined
}

export function openSender(
  config: DestinationConfig,
  { kinds, aws, clock, ...shared }: DeliverySettings,
  bodies = new SharedBodies(),
): Sender {
  const kind = kindNamed(config.kind)
  const { requestBytesMax, ...ofKind } = kinds[kind.name]!
  const deps = { ...shared, ...ofKind, limits: { ...kind.limits, requestBytesMax } }
  if (kind.aws === undefined) return kind.open(config, deps)
  return kind.open(config as AwsDestination, { ...deps, aws, clock, bodies })
}
