/**
 * Amazon Data Firehose: PutRecordBatch, one event per record.
 * https://docs.aws.amazon.com/firehose/latest/APIReference/API_PutRecordBatch.html
 */
import type { FirehoseClient } from '@aws-sdk/client-firehose'
import type { PackedEvent } from '../wire/pack.js'
import { arnAddress, parseArn } from './arn.js'
import { AwsSender, withBody } from './aws.js'
import {
  type DestinationConfig,
  defineDestinationKind,
  type KindLimits,
  type Sender,
  type SenderDeps,
  type SendOutcome,
} from './destination.js'
import { outcomeOfRecords } from './faults.js'

// --- address ---

const resourceType = 'deliverystream/'

const address = arnAddress('delivery_stream_arn', {
  service: 'firehose',
  resource: /^deliverystream\/[a-zA-Z0-9_.-]{1,64}$/,
  example: 'arn:aws:firehose:us-east-1:123456789012:deliverystream/name',
})

// --- limits ---

const mebibyte = 1024 * 1024

const limits: KindLimits = {
  eventsMax: 500,
  eventBytesMax: 1000 * 1024,
  sizeOf: (event) => event.data.length,
}

// --- client ---

const sdk = () => import('@aws-sdk/client-firehose')

const putRecordBatch = async (
  client: FirehoseClient,
  name: string,
  events: readonly PackedEvent[],
  abortSignal: AbortSignal,
) => {
  const { PutRecordBatchCommand } = await sdk()
  const command = new PutRecordBatchCommand({ DeliveryStreamName: name, Records: [] })
  return client.send(withBody(command, requestBody(name, events)), { abortSignal })
}

function requestBody(name: string, events: readonly PackedEvent[]): Buffer {
  const records = events.map(({ data }) => `{"Data":"${data.toString('base64')}"}`)
  return Buffer.from(`{"DeliveryStreamName":${JSON.stringify(name)},"Records":[${records.join()}]}`)
}

// --- sender ---

class FirehoseSender extends AwsSender<FirehoseClient> implements Sender {
  /** The service takes the delivery stream's name, not its ARN. */
  readonly #name: string

  constructor(config: DestinationConfig, deps: SenderDeps) {
    super(config, deps, async (options) => new (await sdk()).FirehoseClient(options))
    this.#name = parseArn(config.address)!.resource.slice(resourceType.length)
  }

  async send(events: readonly PackedEvent[], signal: AbortSignal): Promise<SendOutcome> {
    const put = await this.call(signal, (client, abort) => putRecordBatch(client, this.#name, events, abort))
    if (!put.ok) return { outcome: 'failed', fault: put.problem }
    const { FailedPutCount: failed = 0, RequestResponses: results = [], $metadata } = put.value
    return outcomeOfRecords(results, failed, $metadata.requestId)
  }
}

// --- declaration ---

export const firehose = defineDestinationKind({
  name: 'firehose',
  title: 'Firehose delivery stream',
  about: 'PutRecordBatch.',
  address,
  auth: 'aws',
  endpointSetting: 'AWS_ENDPOINT_URL_FIREHOSE',
  limits,
  requestBytes: { max: 4 * mebibyte, default: 4 * mebibyte },
  keepsLineBreak: true,
  open: (config, deps) => new FirehoseSender(config, deps),
})
