/**
 * Amazon SQS: SendMessageBatch, one event per message.
 * https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessageBatch.html
 */
import { hash } from 'node:crypto'
import type {
  BatchResultErrorEntry,
  SendMessageBatchCommandOutput,
  SendMessageBatchRequestEntry,
  SQSClient,
} from '@aws-sdk/client-sqs'
import { jsonOf } from '../../../ground/core/bytes.js'
import { ok, type Result } from '../../../ground/core/errors.js'
import type { Fault } from '../../outgoing/fault-class.js'
import type { PackedEvent } from '../../wire/packed-event.js'
import { awsAdvice } from '../advice/aws-advice.js'
import { arnAddress, parseArn } from '../aws/arn.js'
import { AwsSender, type ClientOptions } from '../aws/aws.js'
import type { AwsDeps, AwsDestination } from '../aws/aws-kind.js'
import { defineAwsKind } from '../aws/aws-kind.js'
import { type FailedEntry, notMentioned } from '../aws/entries.js'
import { faultOfRecord } from '../aws/faults.js'
import { endpointAnswers, unlessDenied } from '../aws/findings.js'
import { LeanClient, membersOf } from '../aws/lean-client.js'
import { rightsOn } from '../aws/rights.js'
import { jsonBody } from '../aws/shared-bodies.js'
import { sqsForm, sqsWords } from '../forms/aws-forms.js'
import type { KindLimits } from '../kind/kind.js'
import { loadedOnce } from '../kind/loaded-once.js'
import { outcomeOfEach } from '../kind/outcomes.js'
import type { Finding, Sender, SendOutcome } from '../kind/sender.js'

// --- address ---

const address = arnAddress('queue_arn', {
  service: 'sqs',
  resource: /^(?:[\w-]{1,80}|[\w-]{1,75}\.fifo)$/,
  example: 'arn:aws:sqs:us-east-1:123456789012:name',
})

/** The form that the service documents, so that delivery needs no right to ask for it. */
function queueUrl(arn: string): string {
  const { partition, region, awsAccountId, resource } = parseArn(arn)!
  const domain = partition === 'aws-cn' ? 'amazonaws.com.cn' : 'amazonaws.com'
  return `https://sqs.${region}.${domain}/${awsAccountId}/${resource}`
}

const isFifo = (arn: string): boolean => arn.endsWith('.fifo')

// --- limits ---

const limits: KindLimits = {
  eventsMax: 10,
  // Also of a request. A queue may have a lower limit of its own; it refuses larger messages one by one.
  eventBytesMax: 1_048_576,
  sizeOf: (event) => bodyBytes(event),
}

/** The line break of the pack is not part of the message. */
const bodyBytes = (event: Pick<PackedEvent, 'dataBytes'>): number => event.dataBytes - 1

// --- client ---

const sdk = loadedOnce(() => import('@aws-sdk/client-sqs'))

type Client = LeanClient<SQSClient>

const openClient = async (options: ClientOptions): Promise<Client> => {
  // An endpoint setting is not to be replaced by the queue's URL.
  const own = { useQueueUrlAsEndpoint: false }
  return new LeanClient(new (await sdk()).SQSClient({ ...options, ...own }))
}

const sendMessageBatch = async (
  client: Client,
  QueueUrl: string,
  Entries: SendMessageBatchRequestEntry[],
  abortSignal: AbortSignal,
) => {
  const { SendMessageBatchCommand } = await sdk()
  const input = { QueueUrl, Entries }
  const read = (answer: Buffer) => readAccepted(answer, Entries)
  return client.send(SendMessageBatchCommand, input, { body: jsonBody(input), abortSignal, read })
}

type Answer = Pick<SendMessageBatchCommandOutput, 'Successful' | 'Failed'>

/** An answer that accepts all that it names, and has read the messages as they were sent, as the SDK would check, too. */
function readAccepted(body: Buffer, entries: readonly SendMessageBatchRequestEntry[]): Answer | undefined {
  const { Successful, Failed = [] } = membersOf<Answer>(body.toString())
  if (Successful === undefined || Failed.length > 0) return undefined
  const isAsSent = Successful.every(
    ({ Id, MD5OfMessageBody }) => MD5OfMessageBody === hash('md5', entries[Number(Id)]?.MessageBody ?? ''),
  )
  return isAsSent ? { Successful, Failed } : undefined
}

const describe = async (client: Client, QueueUrl: string, abortSignal: AbortSignal) => {
  const { GetQueueAttributesCommand } = await sdk()
  const input = { QueueUrl, AttributeNames: ['MaximumMessageSize' as const] }
  return client.sdk.send(new GetQueueAttributesCommand(input), { abortSignal })
}

/** SQS takes the characters of XML 1.0. Of the others, only these two stand in JSON as they are. */
const notInXml = /[\ufffe\uffff]/g

const escaped = (char: string): string => `\\u${char.charCodeAt(0).toString(16)}`

const bodyOf = (event: PackedEvent): string =>
  event.data.toString('utf8', 0, bodyBytes(event)).replaceAll(notInXml, escaped)

interface EdgeEvent {
  readonly object?: { readonly edge?: { readonly id?: unknown } | null }
}

/** By edge; without one, by what other services get as the partition key. */
function groupOf(event: PackedEvent, body: string): string {
  const id = jsonOf<EdgeEvent>(Buffer.from(body))?.object?.edge?.id
  return fifoId(typeof id === 'string' && id !== '' ? id : event.partitionKey)
}

const fifoIdForm = /^[\x21-\x7e]{1,128}$/

const fifoId = (id: string): string => (fifoIdForm.test(id) ? id : hash('sha256', id))

// --- sender ---

class SqsSender extends AwsSender<Client> implements Sender {
  readonly #queueUrl: string
  readonly #isFifo: boolean

  constructor(config: AwsDestination, deps: AwsDeps) {
    super(config, deps, openClient)
    this.#queueUrl = queueUrl(config.address)
    this.#isFifo = isFifo(config.address)
  }

  async send(events: readonly PackedEvent[], signal: AbortSignal): Promise<SendOutcome> {
    const entries = events.map((event, index) => this.#entryOf(event, index))
    const sent = await this.call(signal, (client, abort) =>
      sendMessageBatch(client, this.#queueUrl, entries, abort),
    )
    if (!sent.ok) return { outcome: 'failed', fault: sent.problem }
    const { Successful: accepted = [], Failed: failed = [], $metadata } = sent.value
    const { requestId } = $metadata
    return outcomeOfEach(entries.length, failures(entries, accepted, failed, requestId), {
      ...(requestId !== undefined && { requestId }),
      ...(accepted[0]?.MessageId !== undefined && { receipt: accepted[0].MessageId }),
    })
  }

  async check(_event: PackedEvent, signal: AbortSignal): Promise<Result<Finding, Fault>> {
    const described = await this.call(signal, (client, abort) => describe(client, this.#queueUrl, abort))
    const writing = 'The right to write (sqs:SendMessage), which SQS checks in no other request.'
    if (!described.ok) return unlessDenied(described.problem, 'sqs:GetQueueAttributes', writing)
    const { MaximumMessageSize: bytesMax = 'unknown' } = described.value.Attributes ?? {}
    const exists = `The queue exists; its own limit of a message is ${bytesMax} bytes.`
    return ok({ mayWrite: false, proved: [endpointAnswers, exists], notProved: [writing] })
  }

  #entryOf(event: PackedEvent, index: number): SendMessageBatchRequestEntry {
    const body = bodyOf(event)
    const entry = { Id: String(index), MessageBody: body }
    if (!this.#isFifo) return entry
    return { ...entry, MessageDeduplicationId: fifoId(event.id), MessageGroupId: groupOf(event, body) }
  }
}

/** The entries that were not accepted, as far as the answer says. */
function failures(
  entries: readonly SendMessageBatchRequestEntry[],
  accepted: readonly { readonly Id?: string | undefined }[],
  failed: readonly BatchResultErrorEntry[],
  requestId: string | undefined,
): FailedEntry[] {
  const acceptedIds = new Set(accepted.map(({ Id }) => Id))
  const failedById = new Map(failed.map((entry) => [entry.Id, entry]))
  return entries.flatMap(({ Id }, index) => {
    if (acceptedIds.has(Id)) return []
    const failure = failedById.get(Id)
    return [{ index, fault: failure === undefined ? notMentioned : faultOfEntry(failure, requestId) }]
  })
}

/** An error that the sender caused would come again. */
const faultOfEntry = (
  { Code = 'Unknown', Message, SenderFault }: BatchResultErrorEntry,
  requestId: string | undefined,
): Fault => faultOfRecord(Code, Message, requestId, SenderFault === true ? 'poison' : 'transient')

// --- declaration ---

export const sqs = defineAwsKind({
  name: 'sqs',
  title: 'SQS queue',
  about:
    "SendMessageBatch. FIFO queue: an event's group is its `edge.id` if it has that field, else its id, or for audit events the id of the object; its deduplication id is its id.",
  address,
  aws: {
    rights: rightsOn(['sqs:SendMessage'], ['sqs:GetQueueAttributes'], ['kms:GenerateDataKey', 'kms:Decrypt']),
  },
  endpointSetting: 'AWS_ENDPOINT_URL_SQS',
  setup: { words: sqsWords, forms: [sqsForm] },
  advice: awsAdvice({ thing: 'queue', more: 'raise the quota, or use high throughput for a FIFO queue' }),
  limits,
  requestBytes: { max: 1_048_576, default: 1_048_576 },
  keepsLineBreak: false,
  open: (config, deps) => new SqsSender(config, deps),
})
