/** Amazon Data Firehose: https://docs.aws.amazon.com/firehose/latest/APIReference/ */
import { randomBytes } from 'node:crypto'
import { AwsError, constraintBroken, resourceNotFound } from './aws-error.js'
import { throttled } from './fault-book.js'
import { textOf } from './ledger.js'
import { base64Bytes, type Call, type Input, parseRecords, type Service, text } from './operation.js'
import { awsAccountId, type Resource } from './world.js'

const requestBytesMax = 4 * 1024 * 1024
const recordBytesMax = 1000 * 1024

interface PutRecord {
  readonly data: string
  readonly bytes: number
}

function putRecordBatch(input: Input, call: Call): object {
  const stream = findStream(input, call)
  const records = parseRecords(input, requestBytesMax, parseRecord)
  call.world.faults.checkPoison(call.target, () => records.map(decoded))
  const bytes = records.reduce((sum, record) => sum + record.bytes, 0)
  if (!stream.windows[0]!.take(stream.spec, call.nowMs, 1, records.length, bytes)) throw throttled('firehose')
  const results = records.map((record) => putRecord(record, stream, call))
  const failed = results.filter((result) => 'ErrorCode' in result).length
  call.world.countRecords('firehose.PutRecordBatch', records.length - failed, failed)
  return { FailedPutCount: failed, Encrypted: false, RequestResponses: results }
}

function parseRecord(record: Input, path: string): PutRecord {
  const data = text(record, 'Data')
  if (data === undefined) throw constraintBroken(`${path}.data`, 'not be null')
  const bytes = base64Bytes(data)
  if (bytes > recordBytesMax)
    throw constraintBroken(`${path}.data`, `have length less than or equal to ${recordBytesMax}`)
  return { data, bytes }
}

function putRecord(record: PutRecord, stream: Resource, call: Call): object {
  const fault = call.world.faults.forRecord(call.target, 0, () => decoded(record))
  if (fault !== undefined) return { ErrorCode: fault.code, ErrorMessage: fault.message }
  const { requestId, nowMs } = call
  stream.ledger.add({ data: record.data, encoding: 'base64', bytes: record.bytes, requestId, atMs: nowMs })
  return { RecordId: randomBytes(110).toString('base64') }
}

const decoded = ({ data }: PutRecord): string => textOf({ data, encoding: 'base64' })

function createDeliveryStream(input: Input, call: Call): object {
  const name = streamName(input)
  const { region, world } = call
  if (!/^[a-zA-Z0-9_.-]{1,64}$/.test(name)) {
    throw constraintBroken('deliveryStreamName', 'satisfy regular expression pattern: [a-zA-Z0-9_.-]+')
  }
  if (world.findResource({ service: 'firehose', name, region }) !== undefined) {
    throw new AwsError(
      'ResourceInUseException',
      `Firehose ${name} under accountId ${awsAccountId} already exists`,
    )
  }
  return { DeliveryStreamARN: world.addResource({ service: 'firehose', name, region }).arn }
}

function describeDeliveryStream(input: Input, call: Call): object {
  const { spec, arn, createdAtMs } = findStream(input, call)
  return {
    DeliveryStreamDescription: {
      DeliveryStreamName: spec.name,
      DeliveryStreamARN: arn,
      DeliveryStreamStatus: 'ACTIVE',
      DeliveryStreamType: 'DirectPut',
      VersionId: '1',
      CreateTimestamp: createdAtMs / 1000,
      Destinations: [],
      HasMoreDestinations: false,
    },
  }
}

const streamName = (input: Input): string => text(input, 'DeliveryStreamName') ?? ''

function findStream(input: Input, { world, region }: Call): Resource {
  const name = streamName(input)
  const stream = world.findResource({ service: 'firehose', name, region })
  if (stream !== undefined) return stream
  throw resourceNotFound(`Firehose ${name} under account ${awsAccountId} not found.`)
}

export const firehose: Service = {
  name: 'firehose',
  targetPrefix: 'Firehose_20150804',
  resourceOf: streamName,
  operations: {
    PutRecordBatch: putRecordBatch,
    CreateDeliveryStream: createDeliveryStream,
    DeleteDeliveryStream: (input, call) => void call.world.removeResource(findStream(input, call).spec),
    DescribeDeliveryStream: describeDeliveryStream,
  },
}
