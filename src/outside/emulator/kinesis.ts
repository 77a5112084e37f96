/** Kinesis Data Streams: https://docs.aws.amazon.com/kinesis/latest/APIReference/ */
import { createHash } from 'node:crypto'
import { AwsError, constraintBroken, resourceNotFound } from './aws-error.js'
import { textOf } from './ledger.js'
import { base64Bytes, type Call, type Input, number, parseRecords, type Service, text } from './operation.js'
import { arnOf, awsAccountId, type Resource } from './world.js'

const requestBytesMax = 10 * 1024 * 1024
/** The highest limit that a stream can be set to. */
const recordBytesCeiling = 10 * 1024 * 1024
const partitionKeyCharsMax = 256

interface PutRecord {
  readonly data: string
  readonly partitionKey: string
  readonly bytes: number
}

function putRecords(input: Input, call: Call): object {
  const stream = findStream(input, call)
  const parse = (record: Input, path: string) => parseRecord(record, path, stream.spec.recordBytesMax)
  const records = parseRecords(input, requestBytesMax, parse)
  call.world.faults.checkPoison(call.target, () => records.map(decoded))
  if (input['DryRun'] === true) {
    throw new AwsError('DryRunOperationException', 'Request would have succeeded, but DryRun flag is set.')
  }
  const results = records.map((record) => putRecord(record, stream, call))
  const failed = results.filter((result) => 'ErrorCode' in result).length
  call.world.countRecords('kinesis.PutRecords', records.length - failed, failed)
  return { FailedRecordCount: failed, Records: results, EncryptionType: 'NONE' }
}

function parseRecord(record: Input, path: string, recordBytesMax: number): PutRecord {
  const data = text(record, 'Data')
  const partitionKey = text(record, 'PartitionKey')
  if (data === undefined) throw constraintBroken(`${path}.data`, 'not be null')
  if (partitionKey === undefined) throw constraintBroken(`${path}.partitionKey`, 'not be null')
  if (partitionKey === '' || partitionKey.length > partitionKeyCharsMax) {
    throw constraintBroken(`${path}.partitionKey`, `have length between 1 and ${partitionKeyCharsMax}`)
  }
  const bytes = base64Bytes(data) + Buffer.byteLength(partitionKey)
  if (bytes > recordBytesCeiling) {
    throw constraintBroken(`${path}.data`, `have length less than or equal to ${recordBytesCeiling}`)
  }
  if (bytes > recordBytesMax) {
    throw new AwsError(
      'InvalidArgumentException',
      `Record size exceeds the stream's limit of ${recordBytesMax} bytes`,
    )
  }
  return { data, partitionKey, bytes }
}

function putRecord(record: PutRecord, stream: Resource, call: Call): object {
  const { spec, ledger, windows } = stream
  const shard = shardOf(record.partitionKey, spec.shards)
  const shardId = shardIdOf(shard)
  const fault = call.world.faults.forRecord(call.target, shard, () => decoded(record))
  if (fault !== undefined || !windows[shard]!.take(spec, call.nowMs, 0, 1, record.bytes)) {
    const rate = `Rate exceeded for shard ${shardId} in stream ${spec.name} under account ${awsAccountId}.`
    const code = fault?.code ?? 'ProvisionedThroughputExceededException'
    const internal = code === 'InternalFailure'
    return { ErrorCode: code, ErrorMessage: internal ? 'Internal Service Failure' : rate }
  }
  ledger.add({
    data: record.data,
    encoding: 'base64',
    bytes: record.bytes,
    requestId: call.requestId,
    atMs: call.nowMs,
    partitionKey: record.partitionKey,
    shard,
  })
  return { SequenceNumber: sequenceNumber(ledger.counts().records), ShardId: shardId }
}

const decoded = ({ data }: PutRecord): string => textOf({ data, encoding: 'base64' })

/** Shards share the space of MD5 hashes evenly. */
function shardOf(partitionKey: string, shards: number): number {
  if (shards === 1) return 0
  const top = createHash('md5').update(partitionKey).digest().readUInt32BE(0)
  return Math.floor((top * shards) / 2 ** 32)
}

const shardIdOf = (shard: number): string => `shardId-${String(shard).padStart(12, '0')}`
const sequenceNumber = (position: number): string => `4966${String(position).padStart(52, '0')}`

function describeStreamSummary(input: Input, call: Call): object {
  const { spec, arn, createdAtMs } = findStream(input, call)
  return {
    StreamDescriptionSummary: {
      StreamName: spec.name,
      StreamARN: arn,
      StreamStatus: 'ACTIVE',
      StreamModeDetails: { StreamMode: 'PROVISIONED' },
      RetentionPeriodHours: 24,
      StreamCreationTimestamp: createdAtMs / 1000,
      EnhancedMonitoring: [{ ShardLevelMetrics: [] }],
      EncryptionType: 'NONE',
      OpenShardCount: spec.shards,
      ConsumerCount: 0,
      MaxRecordSizeInKiB: spec.recordBytesMax / 1024,
    },
  }
}

function createStream(input: Input, call: Call): undefined {
  const name = text(input, 'StreamName') ?? ''
  if (!/^[a-zA-Z0-9_.-]{1,128}$/.test(name)) {
    throw constraintBroken('streamName', 'satisfy regular expression pattern: [a-zA-Z0-9_.-]+')
  }
  const { region, world } = call
  if (world.findResource({ service: 'kinesis', name, region }) !== undefined) {
    throw new AwsError(
      'ResourceInUseException',
      `Stream ${name} under account ${awsAccountId} already exists.`,
    )
  }
  const recordKiB = number(input, 'MaxRecordSizeInKiB') ?? 1024
  const shards = number(input, 'ShardCount') ?? 1
  world.addResource({ service: 'kinesis', name, region, shards, recordBytesMax: recordKiB * 1024 })
}

function listStreams(_input: Input, call: Call): object {
  const names = call.world.resources('kinesis', call.region).map(({ spec }) => spec.name)
  return { StreamNames: names.sort(), HasMoreStreams: false }
}

/** An iterator is the position to continue from: `<stream> <shard> <arrivals read>`. */
function getShardIterator(input: Input, call: Call): object {
  const { spec, ledger } = findStream(input, call)
  const shard = Number((text(input, 'ShardId') ?? '').replace('shardId-', ''))
  if (!(shard < spec.shards)) throw resourceNotFound(`Shard ${text(input, 'ShardId')} does not exist.`)
  const kind = text(input, 'ShardIteratorType')
  if (kind !== 'TRIM_HORIZON' && kind !== 'LATEST') {
    throw new AwsError('InvalidArgumentException', `The emulator knows no iterators of type ${kind}.`)
  }
  const position = kind === 'LATEST' ? ledger.arrivals().length : 0
  return { ShardIterator: Buffer.from(`${spec.name} ${shard} ${position}`).toString('base64') }
}

function getRecords(input: Input, call: Call): object {
  const iterator = Buffer.from(text(input, 'ShardIterator') ?? '', 'base64').toString()
  const [name = '', shard, position] = iterator.split(' ')
  const { ledger } = findStream({ StreamName: name }, call)
  const limit = number(input, 'Limit') ?? 10_000
  const arrivals = ledger.arrivals()
  const records: object[] = []
  let index = Number(position)
  for (; index < arrivals.length && records.length < limit; index += 1) {
    const { data, partitionKey, atMs, ...arrival } = arrivals[index]!
    if (arrival.shard !== Number(shard)) continue
    records.push({
      SequenceNumber: sequenceNumber(index + 1),
      ApproximateArrivalTimestamp: atMs / 1000,
      Data: data,
      PartitionKey: partitionKey,
    })
  }
  const next = Buffer.from(`${name} ${shard} ${index}`).toString('base64')
  return { Records: records, NextShardIterator: next, MillisBehindLatest: 0 }
}

const streamName = (input: Input): string =>
  text(input, 'StreamName') ?? /:stream\/(.+)$/.exec(text(input, 'StreamARN') ?? '')?.[1] ?? ''

function findStream(input: Input, { world, region }: Call): Resource {
  const name = streamName(input)
  const arn = text(input, 'StreamARN') ?? arnOf({ service: 'kinesis', name, region })
  const stream = world.findResource({ service: 'kinesis', name, region })
  if (stream !== undefined && stream.arn === arn) return stream
  throw resourceNotFound(`Stream ${name} under account ${arn.split(':')[4]} not found.`)
}

export const kinesis: Service = {
  name: 'kinesis',
  targetPrefix: 'Kinesis_20131202',
  resourceOf: streamName,
  operations: {
    PutRecords: putRecords,
    DescribeStreamSummary: describeStreamSummary,
    CreateStream: createStream,
    DeleteStream: (input, call) => void call.world.removeResource(findStream(input, call).spec),
    ListStreams: listStreams,
    GetShardIterator: getShardIterator,
    GetRecords: getRecords,
  },
}
