/**
 * Amazon S3: PutObject, with the events of several packs as gzip NDJSON.
 * https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutObject.html
 *
 * The name of an object is a hash of the ids of its events, so a request that is repeated replaces its objects by the same
 * ones. Requests hold whole packs, and stay as they are when they are sent again. If the process ends between the
 * answer and the acknowledgement of the packs, the next process may group them otherwise: the events are then in a
 * second object, too.
 */
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { PutObjectCommandInput, S3Client } from '@aws-sdk/client-s3'
import { fail, ok, type Result } from '../../../ground/core/errors.js'
import { documented, objectOf, oneOf, ruled, Type } from '../../../ground/core/schema.js'
import type { Fault } from '../../outgoing/fault-class.js'
import { fault } from '../../outgoing/faults.js'
import type { PackedEvent } from '../../wire/packed-event.js'
import { awsAdvice } from '../advice/aws-advice.js'
import { arnAddress, checkRegion, parseArn } from '../aws/arn.js'
import { AwsSender } from '../aws/aws.js'
import type { AwsDeps, AwsDestination } from '../aws/aws-kind.js'
import { defineAwsKind } from '../aws/aws-kind.js'
import { endpointAnswers, unlessDenied } from '../aws/findings.js'
import { type AwsRights, mayCheck, mayDeliver, mayUseKey } from '../aws/rights.js'
import { s3Form, s3Words } from '../forms/aws-forms.js'
import type { KindLimits } from '../kind/kind.js'
import { loadedOnce } from '../kind/loaded-once.js'
import { outcomeOfGroups } from '../kind/outcomes.js'
import type { BatchLimits, Finding, Receipt, Sender, SendOutcome } from '../kind/sender.js'
import { type OptionsOf, optional, targetOptions } from '../kind/target-options.js'
import {
  brokenPattern,
  keysInPolicy,
  objectsOf,
  patternDefault,
  placeholders,
  withName,
} from '../s3/object-key.js'

// --- address ---

const address = arnAddress('bucket_arn', {
  service: 's3',
  resource: /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/,
  example: 'arn:aws:s3:::name',
  isGlobal: true,
})

// --- options ---

const kibibyte = 1024
const mebibyte = 1024 * kibibyte
const defaults = { size: 8 * mebibyte, ageSeconds: 60 }

const kmsKeyForm = /^[A-Za-z0-9:/_-]+$/

const sse = objectOf(
  {
    type: oneOf(['AES256', 'aws:kms'], 'With keys of S3, or with a key of KMS.'),
    kms_key_id: optional(
      ruled(
        Type.String({
          minLength: 1,
          maxLength: 2048,
          description: 'Id, ARN or alias of the KMS key. Default: the key that AWS manages for S3.',
          ...documented({ pattern: kmsKeyForm.source }),
        }),
        (id) => (kmsKeyForm.test(id) ? undefined : 'the id, ARN or alias of a KMS key is allowed'),
      ),
    ),
  },
  { description: 'Encryption by S3. Default: as the bucket says.' },
)

const members = {
  region: Type.String({
    maxLength: 64,
    description: 'The region of the bucket, which its ARN does not name.',
  }),
  key: optional(
    ruled(
      Type.String({
        minLength: 1,
        maxLength: 512,
        description: `The key of an object, with the placeholders ${placeholders.join(', ')}. Times are those of events, in UTC; {name} is required. Default: ${patternDefault}`,
      }),
      brokenPattern,
    ),
  ),
  size: optional(
    Type.Integer({
      minimum: 512 * kibibyte,
      maximum: 32 * mebibyte,
      description:
        'Events are written when they have so many bytes before compression. Default: 8388608 (8 MiB).',
    }),
  ),
  age_seconds: optional(
    Type.Integer({
      minimum: 1,
      maximum: 900,
      description: 'Events are written when the first of them has waited so long. Default: 60.',
    }),
  ),
  sse: optional(sse),
}

const options = targetOptions(members, {
  broken(arn, { region, sse: encryption }) {
    if (encryption?.type === 'AES256' && (encryption.kms_key_id ?? null) !== null)
      return 'has "kms_key_id" in "sse", which only the type aws:kms has'
    return checkRegion(region, arn)
  },
})

type S3Options = OptionsOf<typeof options>

// --- limits ---

const limits: KindLimits = {
  eventsMax: 50_000,
  eventBytesMax: 32 * mebibyte,
  sizeOf: ({ dataBytes }) => dataBytes,
  lingerMs: defaults.ageSeconds * 1000,
  wholePacks: true,
}

const limitsOf = (shared: BatchLimits, { size, age_seconds }: S3Options): BatchLimits => ({
  ...shared,
  requestBytesMax: Math.min(shared.requestBytesMax, size ?? defaults.size),
  lingerMs: (age_seconds ?? defaults.ageSeconds) * 1000,
})

// --- client ---

const sdk = loadedOnce(() => import('@aws-sdk/client-s3'))

const putObject = async (client: S3Client, input: PutObjectCommandInput, abortSignal: AbortSignal) => {
  const { PutObjectCommand } = await sdk()
  return client.send(new PutObjectCommand(input), { abortSignal })
}

/** Unlike HeadBucket, its refusals say why. */
const listObjects = async (client: S3Client, Bucket: string, abortSignal: AbortSignal) => {
  const { ListObjectsV2Command } = await sdk()
  return client.send(new ListObjectsV2Command({ Bucket, MaxKeys: 1 }), { abortSignal })
}

/** The header has no time, so equal events make equal bytes. */
const compressed = promisify(gzip)

// --- sender ---

/** Objects of a request that are written at once. With the requests at once of a lane, these are as many as its sockets. */
const objectsAtOnce = 2

/** A server that answers any request with 200 stores nothing. */
const notS3 = fault(
  'configuration',
  'NoETag',
  'The answer has no ETag, which S3 gives to every object that it stores: does another server answer?',
)

class S3Sender extends AwsSender<S3Client> implements Sender {
  readonly #id: string
  readonly #bucket: string
  readonly #options: S3Options
  readonly #limits: BatchLimits

  constructor(config: AwsDestination<S3Options>, deps: AwsDeps) {
    // Servers other than AWS's seldom have a host name for each bucket.
    super(
      config,
      deps,
      async (clientOptions) =>
        new (await sdk()).S3Client({
          ...clientOptions,
          forcePathStyle: clientOptions.endpoint !== undefined,
        }),
    )
    this.#id = config.id
    this.#bucket = parseArn(config.address)!.resource
    this.#options = config.options
    this.#limits = limitsOf(deps.limits, this.#options)
  }

  override limits(): BatchLimits {
    return this.#limits
  }

  async send(events: readonly PackedEvent[], signal: AbortSignal): Promise<SendOutcome> {
    const objects = [...objectsOf(events, this.#options.key ?? patternDefault, this.#id)]
    const puts: Result<Receipt, Fault>[] = []
    for (let begin = 0; begin < objects.length; begin += objectsAtOnce) {
      const some = objects.slice(begin, begin + objectsAtOnce)
      const ended = some.map(([prefix, { indices, lines }]) => {
        const own = indices.map((index) => events[index]!)
        return this.#put(withName(prefix, own), lines, signal)
      })
      puts.push(...(await Promise.all(ended)))
    }
    const failed = puts.flatMap((put, place) =>
      put.ok ? [] : [{ indices: objects[place]![1].indices, fault: put.problem }],
    )
    const [first] = puts.flatMap((put) => (put.ok ? [put.value] : []))
    return outcomeOfGroups(events.length, failed, first)
  }

  async #put(Key: string, lines: readonly Buffer[], signal: AbortSignal): Promise<Result<Receipt, Fault>> {
    const { sse: encryption } = this.#options
    const Body = await compressed(Buffer.concat(lines))
    const input: PutObjectCommandInput = {
      Bucket: this.#bucket,
      Key,
      Body,
      ContentType: 'application/gzip',
      ...(encryption && { ServerSideEncryption: encryption.type }),
      ...(encryption?.kms_key_id && { SSEKMSKeyId: encryption.kms_key_id }),
    }
    const put = await this.call(signal, (client, abort) => putObject(client, input, abort))
    if (!put.ok) return put
    const { ETag, $metadata } = put.value
    if (!ETag) return fail(notS3)
    const { requestId } = $metadata
    return ok({ receipt: Key, ...(requestId !== undefined && { requestId }) })
  }

  async check(_event: PackedEvent, signal: AbortSignal): Promise<Result<Finding, Fault>> {
    const listed = await this.call(signal, (client, abort) => listObjects(client, this.#bucket, abort))
    const writing =
      'The right to write (s3:PutObject), and to use the KMS key if there is one, which S3 checks in no other request.'
    if (!listed.ok) return unlessDenied(listed.problem, 's3:ListBucket', writing)
    const exists = 'The bucket exists, in this region.'
    return ok({ mayWrite: false, proved: [endpointAnswers, exists], notProved: [writing] })
  }
}

// --- rights ---

function rights({
  id,
  address: arn,
  options: { key, region, sse: encryption },
}: Pick<AwsDestination<S3Options>, 'id' | 'address' | 'options'>): AwsRights {
  const kmsKey = encryption?.kms_key_id
  const encrypts = kmsKey
    ? [mayUseKey(['kms:GenerateDataKey'], kmsKey, parseArn(arn)!.partition, region)]
    : []
  return {
    statements: [
      mayDeliver(['s3:PutObject'], `${arn}/${keysInPolicy(key ?? patternDefault, id)}`),
      ...encrypts,
      mayCheck(['s3:ListBucket'], arn),
    ],
    notes: kmsKey
      ? []
      : [
          'If the bucket encrypts with a KMS key of yours by default, allow kms:GenerateDataKey on the key, too.',
        ],
  }
}

// --- declaration ---

export const s3 = defineAwsKind({
  name: 's3',
  title: 'S3 bucket',
  about:
    'PutObject: a gzip file of NDJSON for each kind and date, written when the events have a size or an age. A repeated request replaces its objects.',
  address,
  aws: {
    rights,
  },
  options,
  endpointSetting: 'AWS_ENDPOINT_URL_S3',
  setup: { words: s3Words, forms: [s3Form] },
  advice: awsAdvice({
    thing: 'bucket',
    more: 'write larger objects (size), or spread them over more prefixes (key)',
  }),
  limits,
  requestBytes: { max: 32 * mebibyte, default: 32 * mebibyte },
  keepsLineBreak: true,
  open: (config, deps) => new S3Sender(config, deps),
})
