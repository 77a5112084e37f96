/**
 * Amazon Data Firehose: PutRecordBatch, one event per record, or several if they are packed.
 * https://docs.aws.amazon.com/firehose/latest/APIReference/API_PutRecordBatch.html
 */
import type { FirehoseClient, PutRecordBatchCommandOutput } from '@aws-sdk/client-firehose'
import { fail, ok, type Result } from '../../../ground/core/errors.js'
import type { Fault } from '../../outgoing/fault-class.js'
import type { PackedEvent } from '../../wire/packed-event.js'
import { awsAdvice } from '../advice/aws-advice.js'
import { arnAddress, parseArn } from '../aws/arn.js'
import { AwsSender, type ClientOptions } from '../aws/aws.js'
import type { AwsDeps, AwsDestination, BillingUnit } from '../aws/aws-kind.js'
import { defineAwsKind } from '../aws/aws-kind.js'
import { endpointAnswers, unlessDenied } from '../aws/findings.js'
import { LeanClient } from '../aws/lean-client.js'
import { limitsOf } from '../aws/packed-limits.js'
import { type Packing, type PackingTarget, recordsOf } from '../aws/packing.js'
import { readAccepted } from '../aws/put-records.js'
import { outcomeOfRecords } from '../aws/record-results.js'
import { rightsOn } from '../aws/rights.js'
import type { OwnBodies, SharedRecords } from '../aws/shared-bodies.js'
import { firehoseForm, firehoseWords } from '../forms/aws-forms.js'
import type { KindLimits } from '../kind/kind.js'
import { loadedOnce } from '../kind/loaded-once.js'
import type { Finding, Sender, SendOutcome } from '../kind/sender.js'

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
  sizeOf: ({ dataBytes }) => dataBytes,
}

/**
 * Each begun 5 KB of a record are billed (https://aws.amazon.com/firehose/pricing/), so the unused rest of a record is
 * about a hundredth. A function that transforms records gets several of them at once, in at most 6 MB.
 */
const packing: PackingTarget = { recordBytes: 250_000, groupOf: () => '' }

/** Ingestion: each record is rounded up to 5 KB (https://aws.amazon.com/firehose/pricing/). */
const billing: readonly BillingUnit[] = [
  { name: 'five_kilobytes', about: 'Each begun 5 KB of a record.', bytes: 5 * 1024 },
]

// --- client ---

const sdk = loadedOnce(() => import('@aws-sdk/client-firehose'))

type Client = LeanClient<FirehoseClient>

const openClient = async (options: ClientOptions): Promise<Client> =>
  new LeanClient(new (await sdk()).FirehoseClient(options))

type Answer = Pick<PutRecordBatchCommandOutput, 'FailedPutCount' | 'RequestResponses'>
const read = (body: Buffer) => readAccepted<Answer>(body, 'FailedPutCount')

const putRecordBatch = async (
  client: Client,
  name: string,
  records: SharedRecords,
  bodies: OwnBodies,
  abortSignal: AbortSignal,
) => {
  const { PutRecordBatchCommand } = await sdk()
  const body = bodies.write(records, `"DeliveryStreamName":${JSON.stringify(name)}`)
  const input = { DeliveryStreamName: name, Records: [] }
  const answer = await client.send(PutRecordBatchCommand, input, { body, abortSignal, read })
  bodies.giveBack(body)
  return answer
}

const describe = async (client: Client, name: string, abortSignal: AbortSignal) => {
  const { DescribeDeliveryStreamCommand } = await sdk()
  return client.sdk.send(new DescribeDeliveryStreamCommand({ DeliveryStreamName: name }), { abortSignal })
}

// --- sender ---

class FirehoseSender extends AwsSender<Client> implements Sender {
  /** The service takes the delivery stream's name, not its ARN. */
  readonly #name: string
  readonly #packing: Packing
  readonly #bodies: OwnBodies

  constructor(config: AwsDestination, deps: AwsDeps) {
    super(config, { ...deps, limits: limitsOf(deps.limits, config.packing, packing) }, openClient)
    this.#name = parseArn(config.address)!.resource.slice(resourceType.length)
    this.#packing = config.packing
    this.#bodies = deps.bodies.own()
  }

  async send(events: readonly PackedEvent[], signal: AbortSignal): Promise<SendOutcome> {
    const records = recordsOf(events, this.#packing, packing)
    const layout = `firehose ${this.#packing}`
    const put = await this.call(signal, (client, abort) =>
      putRecordBatch(client, this.#name, { events, records, hasKeys: false, layout }, this.#bodies, abort),
    )
    if (!put.ok) return { outcome: 'failed', fault: put.problem }
    const { FailedPutCount: failed = 0, RequestResponses: results = [], $metadata } = put.value
    return outcomeOfRecords(results, failed, $metadata.requestId, records)
  }

  async check(_event: PackedEvent, signal: AbortSignal): Promise<Result<Finding, Fault>> {
    const described = await this.call(signal, (client, abort) => describe(client, this.#name, abort))
    const writing = 'The right to write (firehose:PutRecordBatch), which Firehose checks in no other request.'
    if (!described.ok) return unlessDenied(described.problem, 'firehose:DescribeDeliveryStream', writing)
    const { DeliveryStreamStatus: status } = described.value.DeliveryStreamDescription ?? {}
    if (status !== 'ACTIVE') return fail(notActive(status))
    const exists = 'The delivery stream exists and is active.'
    return ok({ mayWrite: false, proved: [endpointAnswers, exists], notProved: [writing] })
  }
}

const notActive = (status: string | undefined): Fault => ({
  class: 'configuration',
  code: 'NotActive',
  msg: `The delivery stream is ${status}, not ACTIVE.`,
})

// --- declaration ---

export const firehose = defineAwsKind({
  name: 'firehose',
  title: 'Firehose delivery stream',
  about: 'PutRecordBatch.',
  address,
  aws: {
    rights: rightsOn(['firehose:PutRecordBatch'], ['firehose:DescribeDeliveryStream']),
    packing,
    billing,
  },
  endpointSetting: 'AWS_ENDPOINT_URL_FIREHOSE',
  setup: { words: firehoseWords, forms: [firehoseForm] },
  advice: awsAdvice({ thing: 'delivery stream', more: 'raise the quota of the delivery stream' }),
  limits,
  requestBytes: { max: 4 * mebibyte, default: 4 * mebibyte },
  keepsLineBreak: true,
  open: (config, deps) => new FirehoseSender(config, deps),
})
