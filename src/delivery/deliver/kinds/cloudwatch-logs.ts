/**
 * CloudWatch Logs: PutLogEvents, one event per message.
 * https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutLogEvents.html
 *
 * A destination has one log stream, named by its id, for all deliverers: PutLogEvents accepts several writers at once,
 * no longer needs a sequence token and has no quota per log stream.
 */
import type {
  CloudWatchLogsClient,
  PutLogEventsCommandOutput,
  RejectedLogEventsInfo,
} from '@aws-sdk/client-cloudwatch-logs'
import { ok, type Result } from '../../../ground/core/errors.js'
import type { Fault } from '../../outgoing/fault-class.js'
import type { PackedEvent } from '../../wire/packed-event.js'
import { awsAdvice } from '../advice/aws-advice.js'
import { arnAddress, parseArn } from '../aws/arn.js'
import { AwsSender, type ClientOptions } from '../aws/aws.js'
import type { AwsDeps, AwsDestination, BillingUnit } from '../aws/aws-kind.js'
import { defineAwsKind } from '../aws/aws-kind.js'
import { endpointAnswers, unlessDenied } from '../aws/findings.js'
import { LeanClient, membersOf } from '../aws/lean-client.js'
import { rightsOn } from '../aws/rights.js'
import { jsonBody } from '../aws/shared-bodies.js'
import { cloudwatchLogsForm, cloudwatchLogsWords } from '../forms/aws-forms.js'
import type { KindLimits } from '../kind/kind.js'
import { loadedOnce } from '../kind/loaded-once.js'
import type { Finding, Rejection, Sender, SendOutcome } from '../kind/sender.js'

// --- address ---

const address = arnAddress('log_group_arn', {
  service: 'logs',
  // The console shows the ARNs of log groups with `:*` at their end.
  resource: /^log-group:[.\-_/#A-Za-z0-9]{1,512}(:\*)?$/,
  example: 'arn:aws:logs:us-east-1:123456789012:log-group:name',
})

const groupName = (arn: string): string => parseArn(arn)!.resource.split(':')[1]!

// --- limits ---

const eventOverheadBytes = 26

const limits: KindLimits = {
  // The service accepts 10,000. It does not name the culprit when it refuses a request, and halving finds one among
  // 512 events in nine steps. Requests are seldom larger anyway, because of their bytes.
  eventsMax: 512,
  eventBytesMax: 1_048_576,
  sizeOf: (event) => messageBytes(event) + eventOverheadBytes,
  spanMaxMs: 24 * 60 * 60 * 1000,
}

/** The line break of the pack is not part of the message. */
const messageBytes = (event: Pick<PackedEvent, 'dataBytes'>): number => event.dataBytes - 1

/** Ingestion: the bytes of a message, and 26 for each (https://aws.amazon.com/cloudwatch/pricing/). */
const billing: readonly BillingUnit[] = [
  { name: 'bytes', about: 'Bytes of messages, and 26 for each message.', bytes: 1 },
]

// --- client ---

const sdk = loadedOnce(() => import('@aws-sdk/client-cloudwatch-logs'))

interface LogStream {
  readonly logGroupName: string
  readonly logStreamName: string
}

type Client = LeanClient<CloudWatchLogsClient>

const openClient = async (options: ClientOptions): Promise<Client> =>
  new LeanClient(new (await sdk()).CloudWatchLogsClient(options))

const putLogEvents = async (
  client: Client,
  stream: LogStream,
  events: readonly PackedEvent[],
  abortSignal: AbortSignal,
) => {
  const { PutLogEventsCommand } = await sdk()
  const input = { ...stream, logEvents: events.map(toLogEvent) }
  return client.send(PutLogEventsCommand, input, { body: jsonBody(input), abortSignal, read: readAccepted })
}

type Answer = Pick<PutLogEventsCommandOutput, 'rejectedLogEventsInfo'>

/** An answer that rejects none of the events. */
function readAccepted(body: Buffer): Answer | undefined {
  return membersOf<Answer>(body.toString()).rejectedLogEventsInfo === undefined ? {} : undefined
}

const createLogStream = async (client: Client, stream: LogStream, abortSignal: AbortSignal) => {
  const { CreateLogStreamCommand } = await sdk()
  return client.sdk.send(new CreateLogStreamCommand(stream), { abortSignal })
}

const describe = async (
  client: Client,
  { logGroupName, logStreamName }: LogStream,
  abortSignal: AbortSignal,
) => {
  const { DescribeLogStreamsCommand } = await sdk()
  const input = { logGroupName, logStreamNamePrefix: logStreamName, limit: 1 }
  return client.sdk.send(new DescribeLogStreamsCommand(input), { abortSignal })
}

/** Its members are in the order in which the SDK writes them. */
const toLogEvent = (event: PackedEvent) => ({
  timestamp: event.timestampMs,
  message: event.data.toString('utf8', 0, messageBytes(event)),
})

// --- sender ---

class CloudWatchLogsSender extends AwsSender<Client> implements Sender {
  readonly #stream: LogStream
  /** Shared by concurrent requests; undefined if the log stream is not known to exist. */
  #created: Promise<Fault | undefined> | undefined

  constructor(config: AwsDestination, deps: AwsDeps) {
    super(config, deps, openClient)
    this.#stream = { logGroupName: groupName(config.address), logStreamName: config.id }
  }

  async send(events: readonly PackedEvent[], signal: AbortSignal): Promise<SendOutcome> {
    const existing = this.#created
    const outcome = await this.#put(events, signal)
    const isMissing = outcome.outcome === 'failed' && outcome.fault.code === 'ResourceNotFoundException'
    if (!isMissing || existing === undefined) return outcome
    if (this.#created === existing) this.#created = undefined
    return this.#put(events, signal)
  }

  async check(_event: PackedEvent, signal: AbortSignal): Promise<Result<Finding, Fault>> {
    const described = await this.call(signal, (client, abort) => describe(client, this.#stream, abort))
    const writing =
      'The right to write (logs:PutLogEvents, and logs:CreateLogStream once), which CloudWatch Logs checks in no other request.'
    if (!described.ok) return unlessDenied(described.problem, 'logs:DescribeLogStreams', writing)
    const proved = [endpointAnswers, 'The log group exists.']
    if (described.value.logStreams?.length === 1) proved.push('So does its log stream for this destination.')
    return ok({ mayWrite: false, proved, notProved: [writing] })
  }

  async #put(events: readonly PackedEvent[], signal: AbortSignal): Promise<SendOutcome> {
    const missing = await this.#streamCreated(signal)
    if (missing !== undefined) return { outcome: 'failed', fault: missing }
    const order = inOrder(events)
    const sorted = order.map((index) => events[index]!)
    const put = await this.call(signal, (client, abort) => putLogEvents(client, this.#stream, sorted, abort))
    // The service already has these events, from an earlier request whose answer was lost.
    if (!put.ok && put.problem.code === 'DataAlreadyAcceptedException') return { outcome: 'accepted' }
    if (!put.ok) return { outcome: 'failed', fault: put.problem }
    const { rejectedLogEventsInfo: info, $metadata } = put.value
    const named = $metadata.requestId === undefined ? {} : { requestId: $metadata.requestId }
    if (info === undefined) return { outcome: 'accepted', ...named }
    return { outcome: 'partial', retry: [], rejected: rejections(order, info), ...named }
  }

  /** Creates the log stream once for all requests that need it. If that failed, the next request tries again. */
  async #streamCreated(signal: AbortSignal): Promise<Fault | undefined> {
    this.#created ??= this.#createStream(signal)
    const created = this.#created
    const fault = await created
    if (fault !== undefined && this.#created === created) this.#created = undefined
    return fault
  }

  async #createStream(signal: AbortSignal): Promise<Fault | undefined> {
    const created = await this.call(signal, (client, abort) => createLogStream(client, this.#stream, abort))
    const exists = created.ok || created.problem.code === 'ResourceAlreadyExistsException'
    return exists ? undefined : created.problem
  }
}

/** The indices of the events, oldest first; the service refuses any other order. */
function inOrder(events: readonly PackedEvent[]): number[] {
  const order = events.map((_, index) => index)
  return order.sort((a, b) => events[a]!.timestampMs - events[b]!.timestampMs || a - b)
}

const tooOld: Fault = {
  class: 'poison',
  code: 'TooOld',
  msg: 'CloudWatch Logs accepts no events older than 14 days.',
}
const expired: Fault = {
  class: 'poison',
  code: 'Expired',
  msg: "CloudWatch Logs accepts no events older than the log group's retention.",
}
const tooNew: Fault = {
  class: 'poison',
  code: 'TooNew',
  msg: 'CloudWatch Logs accepts no events more than 2 hours ahead.',
}

/** The events that an HTTP 200 refused: a run at the beginning and a run at the end of the sorted events. */
function rejections(order: readonly number[], info: RejectedLogEventsInfo): Rejection[] {
  const { tooOldLogEventEndIndex = 0, expiredLogEventEndIndex = 0, tooNewLogEventStartIndex } = info
  const refused = (position: number): Fault | undefined => {
    if (position < tooOldLogEventEndIndex) return tooOld
    if (position < expiredLogEventEndIndex) return expired
    return position >= (tooNewLogEventStartIndex ?? order.length) ? tooNew : undefined
  }
  return order.flatMap((index, position) => {
    const fault = refused(position)
    return fault === undefined ? [] : [{ index, fault }]
  })
}

// --- declaration ---

export const cloudwatchLogs = defineAwsKind({
  name: 'cloudwatch_logs',
  title: 'CloudWatch log group',
  about:
    'PutLogEvents, oldest event first. One log stream per destination, named by its id, created on first use.',
  address,
  aws: {
    rights: ({ address: arn }) =>
      rightsOn(
        ['logs:PutLogEvents', 'logs:CreateLogStream'],
        ['logs:DescribeLogStreams'],
      )({
        address: `${arn.replace(/:\*$/, '')}:*`,
      }),
    billing,
  },
  // IAM names the streams of a log group, and the group itself for most actions, by the group's ARN and `:*`.
  endpointSetting: 'AWS_ENDPOINT_URL_CLOUDWATCH_LOGS',
  setup: { words: cloudwatchLogsWords, forms: [cloudwatchLogsForm] },
  advice: awsAdvice({ thing: 'log group', more: 'raise the quota of PutLogEvents' }),
  limits,
  requestBytes: { max: 1_048_576, default: 1_048_576 },
  keepsLineBreak: false,
  open: (config, deps) => new CloudWatchLogsSender(config, deps),
})
