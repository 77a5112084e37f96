/**
 * Kinesis Data Streams: PutRecords, one event per record, or several if they are packed.
 * https://docs.aws.amazon.com/kinesis/latest/APIReference/API_PutRecords.html
 */
import type { KinesisClient, PutRecordsCommandOutput } from '@aws-sdk/client-kinesis'
import { fail, ok, type Result } from '../../../ground/core/errors.js'
import type { Fault } from '../../outgoing/fault-class.js'
import type { PackedEvent } from '../../wire/packed-event.js'
import { awsAdvice } from '../advice/aws-advice.js'
import { arnAddress } from '../aws/arn.js'
import { AwsSender, type ClientOptions } from '../aws/aws.js'
import type { AwsDeps, AwsDestination, BillingUnit } from '../aws/aws-kind.js'
import { defineAwsKind } from '../aws/aws-kind.js'
import { endpointAnswers } from '../aws/findings.js'
import { LeanClient } from '../aws/lean-client.js'
import { limitsOf } from '../aws/packed-limits.js'
import { type Packing, type PackingTarget, recordsOf } from '../aws/packing.js'
import { readAccepted } from '../aws/put-records.js'
import { outcomeOfRecords } from '../aws/record-results.js'
import { rightsOn } from '../aws/rights.js'
import type { OwnBodies, SharedRecords } from '../aws/shared-bodies.js'
import { kinesisForm, kinesisWords } from '../forms/aws-forms.js'
import type { KindLimits } from '../kind/kind.js'
import { loadedOnce } from '../kind/loaded-once.js'
import type { BatchLimits, Finding, Sender, SendOutcome } from '../kind/sender.js'

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
  sizeOf: ({ dataBytes, partitionKeyBytes }) => dataBytes + partitionKeyBytes,
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

/**
 * A provisioned stream bills PUT payload units, each begun 25 KB of a record; an on-demand stream bills bytes, each
 * record rounded up to 1 KB: https://aws.amazon.com/kinesis/data-streams/pricing/.
 */
const billing: readonly BillingUnit[] = [
  {
    name: 'put_payload_units',
    about: 'Each begun 25 KB of a record; billed for provisioned streams.',
    bytes: 25 * 1024,
  },
  { name: 'kilobytes', about: 'Each begun KB of a record; billed for on-demand streams.', bytes: 1024 },
]

// --- client ---

const sdk = loadedOnce(() => import('@aws-sdk/client-kinesis'))

type Client = LeanClient<KinesisClient>

const openClient = async (options: ClientOptions): Promise<Client> =>
  new LeanClient(new (await sdk()).KinesisClient(options))

type Answer = Pick<PutRecordsCommandOutput, 'FailedRecordCount' | 'Records'>
const read = (body: Buffer) => readAccepted<Answer>(body, 'FailedRecordCount')

const putRecords = async (
  client: Client,
  arn: string,
  records: SharedRecords,
  bodies: OwnBodies,
  abortSignal: AbortSignal,
) => {
  const { PutRecordsCommand } = await sdk()
  const body = bodies.write(records, `"StreamARN":${JSON.stringify(arn)}`)
  const input = { StreamARN: arn, Records: [] }
  const answer = await client.send(PutRecordsCommand, input, { body, abortSignal, read })
  bodies.giveBack(body)
  return answer
}

/** https://docs.aws.amazon.com/streams/latest/dev/kds-dryrun-validation.html */
const dryRun = async (client: Client, arn: string, event: PackedEvent, abortSignal: AbortSignal) => {
  const { PutRecordsCommand } = await sdk()
  const record = { Data: event.data, PartitionKey: event.partitionKey }
  return client.sdk.send(new PutRecordsCommand({ StreamARN: arn, Records: [record], DryRun: true }), {
    abortSignal,
  })
}

/** The error that says that nothing but DryRun kept the request from being done. */
const wouldSucceed = 'DryRunOperationException'

const describe = async (client: Client, arn: string, abortSignal: AbortSignal) => {
  const { DescribeStreamSummaryCommand } = await sdk()
  return client.sdk.send(new DescribeStreamSummaryCommand({ StreamARN: arn }), { abortSignal })
}

// --- sender ---

class KinesisSender extends AwsSender<Client> implements Sender {
  readonly #arn: string
  readonly #packing: Packing
  readonly #bodies: OwnBodies
  /** With an event per record. */
  readonly #single: BatchLimits
  #limits: BatchLimits
  #target = packing
  #limitsAsked = false

  constructor(config: AwsDestination, deps: AwsDeps) {
    super(config, deps, openClient)
    this.#arn = config.address
    this.#packing = config.packing
    this.#bodies = deps.bodies.own()
    this.#single = deps.limits
    this.#limits = limitsOf(deps.limits, config.packing, packing)
  }

  override limits(): BatchLimits {
    return this.#limits
  }

  async send(events: readonly PackedEvent[], signal: AbortSignal): Promise<SendOutcome> {
    if (!this.#limitsAsked) void this.#askLimits(signal)
    const records = recordsOf(events, this.#packing, this.#target)
    const layout = `kinesis ${this.#packing} ${this.#target.recordBytes}`
    const put = await this.call(signal, (client, abort) =>
      putRecords(client, this.#arn, { events, records, hasKeys: true, layout }, this.#bodies, abort),
    )
    if (!put.ok) return { outcome: 'failed', fault: put.problem }
    const { FailedRecordCount: failed = 0, Records: results = [], $metadata } = put.value
    return outcomeOfRecords(results, failed, $metadata.requestId, records)
  }

  async check(event: PackedEvent, signal: AbortSignal): Promise<Result<Finding, Fault>> {
    const tried = await this.call(signal, (client, abort) => dryRun(client, this.#arn, event, abort))
    if (!tried.ok && tried.problem.code !== wouldSucceed) return fail(tried.problem)
    const stored = `The endpoint does not know DryRun: it stored the test event ${event.id}.`
    return ok({
      mayWrite: true,
      proved: [
        endpointAnswers,
        'The stream exists, and the credentials may write to it (PutRecords with DryRun).',
        ...(tried.ok ? [stored] : []),
      ],
      notProved: ['Room in the shards for the load, and the use of a KMS key, if the stream is encrypted.'],
    })
  }

  /** If the stream can't be described, the limit of a new stream stays in use. */
  async #askLimits(signal: AbortSignal): Promise<void> {
    this.#limitsAsked = true
    const described = await this.call(signal, (client, abort) => describe(client, this.#arn, abort))
    if (!described.ok) return
    const { MaxRecordSizeInKiB: recordKiB } = described.value.StreamDescriptionSummary ?? {}
    if (recordKiB === undefined) return
    const eventBytesMax = recordKiB * 1024
    this.#target = { ...packing, recordBytes: Math.min(packing.recordBytes, eventBytesMax) }
    this.#limits = limitsOf({ ...this.#single, eventBytesMax }, this.#packing, this.#target)
  }
}

// --- declaration ---

export const kinesis = defineAwsKind({
  name: 'kinesis',
  title: 'Kinesis stream',
  about: "PutRecords. Partition key: the event's id; for audit events, the id of the object.",
  address,
  aws: {
    rights: rightsOn(['kinesis:PutRecords', 'kinesis:DescribeStreamSummary'], [], ['kms:GenerateDataKey']),
    packing,
    billing,
  },
  endpointSetting: 'AWS_ENDPOINT_URL_KINESIS',
  setup: { words: kinesisWords, forms: [kinesisForm] },
  advice: awsAdvice({ thing: 'stream', more: 'add shards or raise the quota' }),
  limits,
  requestBytes: { max: 10 * mebibyte, default: 5 * mebibyte },
  keepsLineBreak: true,
  open: (config, deps) => new KinesisSender(config, deps),
})
