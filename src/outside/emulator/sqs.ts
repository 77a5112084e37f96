/** Amazon SQS: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/ */
import { createHash } from 'node:crypto'
import { uuid } from '../../ground/core/clock.js'
import { AwsError } from './aws-error.js'
import { throttled } from './fault-book.js'
import { type Call, type Input, list, type Service, text } from './operation.js'
import { awsAccountId, type Resource } from './world.js'

const entriesMax = 10
const requestBytesMax = 1_048_576
/** For so long, a FIFO queue accepts a message once. */
const deduplicationMs = 5 * 60_000

/** By https://www.w3.org/TR/REC-xml/#charsets */
const forbiddenChars = /[^\t\n\r\x20-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u
const idForm = /^[\w-]{1,80}$/
/** The form of ids of groups and of deduplication. */
const fifoIdForm = /^[\x21-\x7e]{1,128}$/

interface Entry {
  readonly id: string
  readonly body: string
  readonly groupId: string | undefined
  readonly deduplicationId: string | undefined
}

interface Failure {
  readonly code: string
  readonly message: string
}

function sendMessageBatch(input: Input, call: Call): object {
  const queue = findQueue(input, call)
  const entries = parseEntries(input)
  call.world.faults.checkPoison(call.target, () => entries.map(({ body }) => body))
  const bytes = entries.reduce((sum, { body }) => sum + Buffer.byteLength(body), 0)
  if (!queue.windows[0]!.take(queue.spec, call.nowMs, 1, entries.length, bytes)) throw throttled('sqs')
  const results = entries.map((entry) => sendMessage(entry, queue, call))
  const failed = results.filter((result) => 'Code' in result)
  const successful = results.filter((result) => !('Code' in result))
  call.world.countRecords('sqs.SendMessageBatch', successful.length, failed.length)
  return {
    ...(successful.length > 0 && { Successful: successful }),
    ...(failed.length > 0 && { Failed: failed }),
  }
}

const tooLong = (): AwsError =>
  new AwsError(
    'BatchRequestTooLong',
    `Batch requests cannot be longer than ${requestBytesMax} bytes. You have sent more.`,
  )

function parseEntries(input: Input): Entry[] {
  const given = list(input, 'Entries') ?? []
  if (given.length === 0) throw new AwsError('EmptyBatchRequest', 'There should be at least one entry.')
  if (given.length > entriesMax) {
    throw new AwsError(
      'TooManyEntriesInBatchRequest',
      `Maximum number of entries per request are ${entriesMax}. You have sent ${given.length}.`,
    )
  }
  const entries = given.map((entry) => ({
    id: text(entry, 'Id') ?? '',
    body: text(entry, 'MessageBody') ?? '',
    groupId: text(entry, 'MessageGroupId'),
    deduplicationId: text(entry, 'MessageDeduplicationId'),
  }))
  if (!entries.every(({ id }) => idForm.test(id)))
    throw new AwsError('InvalidBatchEntryId', 'A batch entry id is invalid.')
  if (new Set(entries.map(({ id }) => id)).size < entries.length)
    throw new AwsError('BatchEntryIdsNotDistinct', 'Two or more batch entries have the same id.')
  if (entries.reduce((sum, { body }) => sum + Buffer.byteLength(body), 0) > requestBytesMax) throw tooLong()
  return entries
}

function sendMessage(entry: Entry, queue: Resource, call: Call): object {
  const { id: Id, body, groupId, deduplicationId } = entry
  const injected = call.world.faults.forRecord(call.target, 0, () => body)
  const failure = injected ?? wrongIn(entry, queue)
  if (failure !== undefined) {
    const SenderFault = !/^(Internal|RequestThrottled|ServiceUnavailable)/.test(failure.code)
    return { Id, SenderFault, Code: failure.code, Message: failure.message }
  }
  const accepted = {
    Id,
    MessageId: uuid(),
    MD5OfMessageBody: createHash('md5').update(body).digest('hex'),
    ...(deduplicationId !== undefined && { SequenceNumber: `${queue.ledger.counts().records + 1}` }),
  }
  if (deduplicationId !== undefined && isRepeated(deduplicationId, queue, call.nowMs)) return accepted
  const { requestId, nowMs: atMs } = call
  const bytes = Buffer.byteLength(body)
  queue.ledger.add({
    data: body,
    encoding: 'utf8',
    bytes,
    requestId,
    atMs,
    ...(groupId !== undefined && { groupId }),
  })
  return accepted
}

const isFifo = ({ spec }: Resource): boolean => spec.name.endsWith('.fifo')

/** Why an entry is refused while others are accepted. */
function wrongIn({ body, groupId, deduplicationId }: Entry, queue: Resource): Failure | undefined {
  const invalid = (message: string): Failure => ({ code: 'InvalidParameterValue', message })
  const missing = (name: string): Failure => ({
    code: 'MissingParameter',
    message: `The request must contain the parameter ${name}.`,
  })
  const { recordBytesMax } = queue.spec
  if (body === '') return missing('MessageBody')
  if (Buffer.byteLength(body) > recordBytesMax)
    return invalid(
      `One or more parameters are invalid. Reason: Message must be shorter than ${recordBytesMax} bytes.`,
    )
  if (forbiddenChars.test(body))
    return {
      code: 'InvalidMessageContents',
      message: 'Message contains characters outside the allowed set.',
    }
  if (!isFifo(queue)) {
    return deduplicationId === undefined
      ? undefined
      : invalid('The request include parameter that is not valid for this queue type')
  }
  if (groupId === undefined) return missing('MessageGroupId')
  if (deduplicationId === undefined) return missing('MessageDeduplicationId')
  return fifoIdForm.test(groupId) && fifoIdForm.test(deduplicationId)
    ? undefined
    : invalid('MessageGroupId or MessageDeduplicationId has characters that are not allowed.')
}

function isRepeated(deduplicationId: string, { deduplicationIds }: Resource, nowMs: number): boolean {
  const atMs = deduplicationIds.get(deduplicationId)
  if (atMs !== undefined && nowMs - atMs < deduplicationMs) return true
  deduplicationIds.set(deduplicationId, nowMs)
  return false
}

function createQueue(input: Input, { world, region }: Call): object {
  const name = text(input, 'QueueName') ?? ''
  if (!/^[\w-]{1,80}$|^[\w-]{1,75}\.fifo$/.test(name)) {
    throw new AwsError(
      'InvalidParameterValue',
      'Can only include alphanumeric characters, hyphens, or underscores.',
    )
  }
  world.addResource({ service: 'sqs', name, region })
  return { QueueUrl: queueUrl(name, region) }
}

function getQueueAttributes(input: Input, call: Call): object {
  const queue = findQueue(input, call)
  return {
    Attributes: {
      QueueArn: queue.arn,
      ApproximateNumberOfMessages: `${queue.ledger.counts().records}`,
      MaximumMessageSize: `${queue.spec.recordBytesMax}`,
      ...(isFifo(queue) && { FifoQueue: 'true', ContentBasedDeduplication: 'false' }),
    },
  }
}

const queueUrl = (name: string, region: string): string =>
  `https://sqs.${region}.amazonaws.com/${awsAccountId}/${name}`

const queueName = (input: Input): string =>
  text(input, 'QueueName') ?? text(input, 'QueueUrl')?.split('/').at(-1) ?? ''

function findQueue(input: Input, { world, region }: Call): Resource {
  const [account, name = ''] = text(input, 'QueueUrl')?.split('/').slice(-2) ?? []
  const queue = world.findResource({ service: 'sqs', name, region })
  if (queue !== undefined && account === awsAccountId) return queue
  throw new AwsError('QueueDoesNotExist', 'The specified queue does not exist.')
}

/** The names of errors before SQS spoke JSON, which clients still look at. */
const queryCodes: Readonly<Record<string, string>> = {
  QueueDoesNotExist: 'AWS.SimpleQueueService.NonExistentQueue',
  UnrecognizedClientException: 'InvalidClientTokenId',
  InvalidSignatureException: 'SignatureDoesNotMatch',
}

export const sqs: Service = {
  name: 'sqs',
  targetPrefix: 'AmazonSQS',
  contentType: 'application/x-amz-json-1.0',
  resourceOf: queueName,
  operations: {
    SendMessageBatch: sendMessageBatch,
    CreateQueue: createQueue,
    DeleteQueue: (input, call) => void call.world.removeResource(findQueue(input, call).spec),
    GetQueueAttributes: getQueueAttributes,
  },
  errorHeaders: ({ code, status }) => ({
    'x-amzn-query-error': `${queryCodes[code] ?? code.replace(/Exception$/, '')};${status < 500 ? 'Sender' : 'Receiver'}`,
  }),
}
