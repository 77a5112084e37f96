/** The list of the kinds of destinations. */
import type { AwsDeps } from './aws.js'
import { cloudwatchLogs } from './cloudwatch-logs.js'
import type { DestinationConfig, DestinationKind, DestinationKindName, Sender } from './destination.js'
import { firehose } from './firehose.js'
import { kinesis } from './kinesis.js'

export const destinationKinds: Readonly<Record<DestinationKindName, DestinationKind<AwsDeps>>> = {
  kinesis,
  firehose,
  cloudwatch_logs: cloudwatchLogs,
}

export const openSender = (config: DestinationConfig, deps: AwsDeps): Sender =>
  destinationKinds[config.kind].open(config, deps)
