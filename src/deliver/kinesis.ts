/**
 * Kinesis Data Streams: PutRecords, one event per record, or several if they are packed.
 * https://docs.aws.amazon.com/kinesis/latest/APIReference/API_PutRecords.html
 */
import type { KinesisClient } from '@aws-sdk/client-kinesis'
import type { PackedEvent } from '../wire/pack.js'
import { arnAddress } from './arn.js'
import { AwsSender, withBody } from './aws.js'
import {
  type BatchLimits,
  type DestinationConfig,
  defineDestinationKind,
  type KindLimits,
  type Sender,
  type SenderDeps,
  type SendOutcome,
} from './destination.js'
import { outcomeOfRecords } from './faults.js'
import { type Packing, type PackingTarget, recordsOf, type ServiceRecord } from './packing.js'

// --- address ---

const address = arnAddress('stream_arn', {
  service: 'kinesis',
  resource: /^stream\/[a-zA-Z0-9_.-]{1,128}$/,
  example: 'arn:aws:kinesis:us-east-1:123456789012:stream/name',
})

// --- limits ---

const mebibyte = 1024 * 1024

const limits: KindLimits = {
  eventsMax: 500,
  // The limit of a new stream; it can be raised to 10 MiB.
  eventBytesMax: 1024 * 1024,
  sizeOf: (event) => event.data.length + event.partitionKeyBytes,
}

/**
 * Two payload units: each begun 25 KB of a record are billed (https://aws.amazon.com/kinesis/data-streams/pricing/). The
 * unused rest of a record is then about a hundredth. Much larger records would be uneven for the shards, which take 1 MB
 * a second each.
 */
const packing: PackingTarget = {
  recordBytes: 50_000,
  // Events of one object have its id as their key, and stay together in its shard.
  groupOf: (event) => (event.isItsOwnKey ? '' : event.partitionKey),
}

// --- client ---

const sdk = () => import('@aws-sdk/client-kinesis')

const putRecords = async (
  client: KinesisClient,
  arn: string,
  records: readonly ServiceRecord[],
  abortSignal: AbortSignal,
) => {
  const { PutRecordsCommand } = await sdk()
  const command = new PutRecordsCommand({ StreamARN: arn, Records: [] })
  return client.send(withBody(command, requestBody(arn, records)), { abortSignal })
}

const describe = async (client: KinesisClient, arn: string, abortSignal: AbortSignal) => {
  const { DescribeStreamSummaryCommand } = await sdk()
  return client.send(new DescribeStreamSummaryCommand({ StreamARN: arn }), { abortSignal })
}

function requestBody(arn: string, records: readonly ServiceRecord[]): Buffer {
  const entries = records.map(
    ({ data, partitionKey }) =>
      `{"Data":"${data.toString('base64')}","PartitionKey":${JSON.stringify(partitionKey)}}`,
  )
  return Buffer.from(`{"StreamARN":${JSON.stringify(arn)},"Records":[${entries.join()}]}`)
}

// --- sender ---

class KinesisSender extends AwsSender<KinesisClient> implements Sender {
  readonly #arn: string
  readonly #packing: Packing
  #limits: BatchLimits
  #limitsAsked = false

  constructor(config: DestinationConfig, deps: SenderDeps) {
    super(config, deps, async (options) => new (await sdk()).KinesisClient(options))
    this.#arn = config.address
    this.#packing = config.packing
    this.#limits = deps.limits
  }

  override limits(): BatchLimits {
    return this.#limits
  }

  async send(events: readonly PackedEvent[], signal: AbortSignal): Promise<SendOutcome> {
    if (!this.#limitsAsked) void this.#askLimits(signal)
    const records = recordsOf(events, this.#packing, packing)
    const put = await this.call(signal, (client, abort) => putRecords(client, this.#arn, records, abort))
    if (!put.ok) return { outcome: 'failed', fault: put.problem }
    const { FailedRecordCount: failed = 0, Records: results = [], $metadata } = put.value
    return outcomeOfRecords(results, failed, $metadata.requestId, records)
  }

  /** If the stream can't be described, the limit of a new stream stays in use. */
  async #askLimits(signal: AbortSignal): Promise<void> {
    this.#limitsAsked = true
    const described = await this.call(signal, (client, abort) => describe(client, this.#arn, abort))
    if (!described.ok) return
    const { MaxRecordSizeInKiB: recordKiB } = described.value.StreamDescriptionSummary ?? {}
    if (recordKiB !== undefined) this.#limits = { ...this.#limits, eventBytesMax: recordKiB * 1024 }
  }
}

// --- declaration ---

export const kinesis = defineDestinationKind({
  name: 'kinesis',
  title: 'Kinesis stream',
  about: "PutRecords. Partition key: the event's id; for audit events, the id of the object.",
  address,
  auth: 'aws',
  endpointSetting: 'AWS_ENDPOINT_URL_KINESIS',
  limits,
  requestBytes: { max: 10 * mebibyte, default: 5 * mebibyte },
  packing,
  keepsLineBreak: true,
  open: (config, deps) => new KinesisSender(config, deps),
})
