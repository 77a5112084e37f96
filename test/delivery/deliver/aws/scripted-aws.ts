/** The operations that AWS kinds repeat, and a server in AWS's place that keeps requests as they came. */
import { hash } from 'node:crypto'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { CloudWatchLogsClient, PutLogEventsCommand } from '@aws-sdk/client-cloudwatch-logs'
import { EventBridgeClient, PutEventsCommand } from '@aws-sdk/client-eventbridge'
import { FirehoseClient, PutRecordBatchCommand } from '@aws-sdk/client-firehose'
import { KinesisClient, PutRecordsCommand } from '@aws-sdk/client-kinesis'
import { SendMessageBatchCommand, SQSClient } from '@aws-sdk/client-sqs'
import type { Test } from 'tap'
import { AwsClock } from '../../../../src/delivery/deliver/aws/aws-clock.js'
import type { Sender } from '../../../../src/delivery/deliver/kind/sender.js'
import { type DeliverySettings, kindNamed, openSender } from '../../../../src/delivery/deliver/kinds.js'
import { ReachableNetworks } from '../../../../src/delivery/outgoing/private-networks.js'
import { keyAuth } from '../aws-world.js'
import { eventsOf } from '../events.js'

export const events = eventsOf([
  { id: 'ev_1', padding: 'é\u2028"\\' },
  { id: 'ev_2', timestampMs: 1_800_000_000_123 },
  { id: 'ev_3' },
])
const noLineFeed = (data: Buffer): string => data.toString().slice(0, -1)
const address = (kind: string): string => kindNamed(kind).address.example
const name = (kind: string): string => address(kind).split(/[:/]/).at(-1)!

type Results = readonly object[]

export interface Operation {
  readonly kind: string
  readonly client: new (config: object) => SdkClient
  /** The request as the SDK has it. */
  readonly command: () => object
  /** An answer with these results, so many of which say that a record failed. */
  readonly answer: (results: Results, failed: number) => object
  readonly accepted: (index: number) => object
  readonly failed: (index: number) => object
}

interface SdkClient {
  readonly config: { signer?: unknown; systemClockOffset: number }
  send(command: never): Promise<object>
  destroy(): void
}

const failure = { ErrorCode: 'InternalFailure', ErrorMessage: 'Internal service failure.' }
const failedAt = () => failure

export const operations: readonly Operation[] = [
  {
    kind: 'kinesis',
    client: KinesisClient,
    command: () =>
      new PutRecordsCommand({
        Records: events.map(({ data, partitionKey }) => ({ Data: data, PartitionKey: partitionKey })),
        StreamARN: address('kinesis'),
      }),
    answer: (Records, FailedRecordCount) => ({ EncryptionType: 'NONE', FailedRecordCount, Records }),
    accepted: (index) => ({
      SequenceNumber: `4959${index}`,
      ShardId: 'shardId-000000000000',
      ErrorCode: null,
    }),
    failed: failedAt,
  },
  {
    kind: 'firehose',
    client: FirehoseClient,
    command: () =>
      new PutRecordBatchCommand({
        Records: events.map(({ data }) => ({ Data: data })),
        DeliveryStreamName: name('firehose'),
      }),
    answer: (RequestResponses, FailedPutCount) => ({ Encrypted: false, FailedPutCount, RequestResponses }),
    accepted: (index) => ({ RecordId: `record ${index}` }),
    failed: failedAt,
  },
  {
    kind: 'cloudwatch_logs',
    client: CloudWatchLogsClient,
    command: () =>
      new PutLogEventsCommand({
        logGroupName: name('cloudwatch_logs'),
        logStreamName: 'ed_1',
        logEvents: [...events]
          .sort((a, b) => a.timestampMs - b.timestampMs)
          .map(({ data, timestampMs }) => ({ message: noLineFeed(data), timestamp: timestampMs })),
      }),
    answer: (_results, failed) =>
      failed === 0 ? {} : { rejectedLogEventsInfo: { tooNewLogEventStartIndex: 2 } },
    accepted: () => ({}),
    failed: () => ({}),
  },
  {
    kind: 'sqs',
    client: SQSClient,
    command: () =>
      new SendMessageBatchCommand({
        QueueUrl: `https://sqs.us-east-1.amazonaws.com/123456789012/${name('sqs')}`,
        Entries: events.map(({ data }, index) => ({ Id: String(index), MessageBody: noLineFeed(data) })),
      }),
    answer: (results) => ({
      Successful: results.filter((result) => 'MD5OfMessageBody' in result),
      Failed: results.filter((result) => 'Code' in result),
    }),
    accepted: (index) => ({
      Id: String(index),
      MessageId: `message ${index}`,
      MD5OfMessageBody: hash('md5', noLineFeed(events[index]!.data)),
    }),
    failed: (index) => ({ Id: String(index), Code: 'InternalError', Message: 'x', SenderFault: false }),
  },
  {
    kind: 'eventbridge',
    client: EventBridgeClient,
    command: () =>
      new PutEventsCommand({
        Entries: events.map(({ data, timestampMs }) => ({
          Time: new Date(timestampMs),
          Source: 'weir',
          DetailType: 'unknown',
          Detail: noLineFeed(data),
          EventBusName: address('eventbridge'),
        })),
      }),
    answer: (Entries, FailedEntryCount) => ({ FailedEntryCount, Entries }),
    accepted: (index) => ({ EventId: `event ${index}` }),
    failed: failedAt,
  },
]

// --- a server in AWS's place ---

export interface Received {
  readonly method: string
  readonly path: string
  /** In their order. */
  readonly headers: ReadonlyMap<string, string>
  readonly body: string
}

export type Answer = (response: ServerResponse) => void

interface ScriptedAws {
  readonly url: string
  /** Those that carry events. */
  readonly requests: Received[]
  answer: Answer
}

export const answered =
  (status: number, body: string | object, headers: Record<string, string> = {}): Answer =>
  (response) => {
    response.writeHead(status, { 'x-amzn-requestid': 'request 1', ...headers })
    response.end(typeof body === 'string' ? body : JSON.stringify(body))
  }

export const error = (status: number, type: string, headers: Record<string, string> = {}): Answer =>
  answered(status, { __type: `com.amazonaws#${type}`, message: `The message of ${type}.` }, headers)

export const accepted = ({ answer, accepted: result }: Operation): object =>
  answer(
    events.map((_, at) => result(at)),
    0,
  )

export const partial = ({ answer, accepted: result, failed }: Operation): object =>
  answer([result(0), result(1), failed(2)], 1)

export async function openScriptedAws(t: Test, operation: Operation): Promise<ScriptedAws> {
  const requests: Received[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    if (/(CreateLogStream|DescribeStreamSummary)$/.test(String(request.headers['x-amz-target'])))
      return answered(200, {})(response)
    const raw = request.rawHeaders
    const headers = new Map(raw.flatMap((each, at) => (at % 2 === 0 ? [[each, raw[at + 1]!] as const] : [])))
    requests.push({
      method: request.method!,
      path: request.url!,
      headers,
      body: Buffer.concat(chunks).toString(),
    })
    scripted.answer(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const scripted = { url: `http://127.0.0.1:${port}`, requests, answer: answered(200, accepted(operation)) }
  return scripted
}

export function open(
  t: Test,
  { kind }: Operation,
  { url }: ScriptedAws,
  path = '',
  requestTimeoutMs = 60_000,
): Sender {
  const settings: DeliverySettings = {
    aws: { endpointUrl: url + path },
    clock: new AwsClock(),
    requestTimeoutMs,
    networks: new ReachableNetworks(),
    kinds: { [kind]: { requestBytesMax: 1e6 } },
  }
  const target = { id: 'ed_1', accountId: 'ac_1', kind, address: address(kind), options: {} }
  const sender = openSender({ ...target, auth: keyAuth, packing: 'none' } as never, settings)
  t.teardown(() => sender.close())
  return sender
}

/** Counts the commands that go through the SDK. */
export function sdkSends(t: Test, { client, command }: Operation): { count: number } {
  const sends = { count: 0 }
  const { constructor: Command } = command()
  const { send } = client.prototype
  client.prototype.send = function (this: SdkClient, sent: object, ...more: unknown[]) {
    if (sent instanceof Command) sends.count += 1
    return send.call(this, sent, ...more)
  }
  t.teardown(() => {
    client.prototype.send = send
  })
  return sends
}
