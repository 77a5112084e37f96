import {
  CloudWatchLogsClient,
  CreateLogGroupCommand,
  CreateLogStreamCommand,
  DeleteLogGroupCommand,
  DescribeLogStreamsCommand,
  FilterLogEventsCommand,
  GetLogEventsCommand,
  PutLogEventsCommand,
} from '@aws-sdk/client-cloudwatch-logs'
import {
  CreateDeliveryStreamCommand,
  DeleteDeliveryStreamCommand,
  DescribeDeliveryStreamCommand,
  FirehoseClient,
  PutRecordBatchCommand,
} from '@aws-sdk/client-firehose'
import {
  CreateStreamCommand,
  DeleteStreamCommand,
  DescribeStreamSummaryCommand,
  GetRecordsCommand,
  GetShardIteratorCommand,
  KinesisClient,
  ListStreamsCommand,
  PutRecordsCommand,
} from '@aws-sdk/client-kinesis'
import { AssumeRoleCommand, GetCallerIdentityCommand, STSClient } from '@aws-sdk/client-sts'
import { NodeHttpHandler } from '@smithy/node-http-handler'
import t, { type Test } from 'tap'
import { emulatorClient } from './client.js'
import { type Emulator, type EmulatorOptions, openEmulator } from './emulator.js'
import type { FaultSpec } from './wire.js'

const key = { accessKeyId: 'AKIATEST', secretAccessKey: 'the secret' }
const roleArn = 'arn:aws:iam::000000000000:role/delivery'
const kib = 1024
const dayMs = 86_400_000

interface Overrides {
  readonly region?: string
  readonly credentials?: { accessKeyId: string; secretAccessKey: string; sessionToken?: string }
}

/** The real SDK clients, pointed at the emulator. */
function clients(emulator: Emulator, { region = 'us-east-1', credentials = key }: Overrides = {}) {
  const options = {
    region,
    credentials,
    endpoint: emulator.url,
    maxAttempts: 1,
    requestHandler: new NodeHttpHandler({ requestTimeout: 200, throwOnRequestTimeout: true }),
  }
  return {
    kinesis: new KinesisClient(options),
    firehose: new FirehoseClient(options),
    logs: new CloudWatchLogsClient(options),
    sts: new STSClient(options),
  }
}

async function open(test: Test, options: EmulatorOptions = {}): Promise<Emulator> {
  const emulator = await openEmulator(options)
  test.teardown(() => emulator.close())
  emulator.world.addKey(key)
  return emulator
}

const record = (id: string, partitionKey = id) => ({
  Data: Buffer.from(`{"event_id":"${id}"}\n`),
  PartitionKey: partitionKey,
})
const records = (count: number) => Array.from({ length: count }, (_, at) => record(`ev_${at}`))
const bytes = (length: number) => ({ Data: new Uint8Array(length), PartitionKey: 'k' })

t.test('keeps what the real clients put, and shows it', async (t) => {
  const emulator = await open(t)
  const { kinesis, firehose, logs } = clients(emulator)
  const control = emulatorClient(emulator.url)
  await kinesis.send(new CreateStreamCommand({ StreamName: 's', ShardCount: 4 }))
  t.same((await kinesis.send(new ListStreamsCommand())).StreamNames, ['s'])
  const summary = await kinesis.send(new DescribeStreamSummaryCommand({ StreamName: 's' }))
  t.match(summary.StreamDescriptionSummary, { OpenShardCount: 4, MaxRecordSizeInKiB: 1024 })
  const StreamARN = summary.StreamDescriptionSummary!.StreamARN!
  const put = await kinesis.send(
    new PutRecordsCommand({ StreamARN, Records: [...records(20), record('ev_3')] }),
  )
  t.equal(put.FailedRecordCount, 0)
  t.equal(new Set(put.Records!.map(({ ShardId }) => ShardId)).size, 4)
  t.match(await control.counts({ service: 'kinesis', name: 's' }), { events: 21, unique: 20, duplicates: 1 })
  t.same(await control.ids({ service: 'kinesis', name: 's' }, true), { ev_3: 2 })
  const [first] = (await control.page({ service: 'kinesis', name: 's' }, 0, 1)).events
  t.match(first, {
    sequence: 1,
    eventId: 'ev_0',
    data: '{"event_id":"ev_0"}\n',
    partitionKey: 'ev_0',
    requestId: put.$metadata.requestId!,
  })
  const { ShardIterator } = await kinesis.send(
    new GetShardIteratorCommand({
      StreamName: 's',
      ShardId: put.Records![0]!.ShardId,
      ShardIteratorType: 'TRIM_HORIZON',
    }),
  )
  const read = await kinesis.send(new GetRecordsCommand({ ShardIterator }))
  t.equal(Buffer.from(read.Records![0]!.Data!).toString(), '{"event_id":"ev_0"}\n')
  await kinesis.send(new DeleteStreamCommand({ StreamName: 's' }))
  await t.rejects(kinesis.send(new PutRecordsCommand({ StreamARN, Records: records(1) })), {
    name: 'ResourceNotFoundException',
  })

  await firehose.send(new CreateDeliveryStreamCommand({ DeliveryStreamName: 'f' }))
  const { DeliveryStreamDescription } = await firehose.send(
    new DescribeDeliveryStreamCommand({ DeliveryStreamName: 'f' }),
  )
  t.match(DeliveryStreamDescription, { DeliveryStreamStatus: 'ACTIVE' })
  await firehose.send(
    new PutRecordBatchCommand({ DeliveryStreamName: 'f', Records: [{ Data: record('ev_1').Data }] }),
  )
  t.match(await control.counts({ service: 'firehose', name: 'f' }), { events: 1, unique: 1 })
  await firehose.send(new DeleteDeliveryStreamCommand({ DeliveryStreamName: 'f' }))

  await logs.send(new CreateLogGroupCommand({ logGroupName: '/g' }))
  const stream = { logGroupName: '/g', logStreamName: 'one' }
  await logs.send(new CreateLogStreamCommand(stream))
  const logEvents = [{ message: '{"event_id":"ev_1"}', timestamp: Date.now() }]
  await logs.send(new PutLogEventsCommand({ ...stream, logEvents }))
  t.match((await logs.send(new GetLogEventsCommand(stream))).events, logEvents)
  const found = await logs.send(new FilterLogEventsCommand({ logGroupName: '/g', filterPattern: '"ev_1"' }))
  t.equal(found.events!.length, 1)
  const described = await logs.send(new DescribeLogStreamsCommand({ logGroupName: '/g' }))
  t.match(described.logStreams, [{ logStreamName: 'one' }])
  await logs.send(new DeleteLogGroupCommand({ logGroupName: '/g' }))
  await t.rejects(logs.send(new GetLogEventsCommand(stream)), { name: 'ResourceNotFoundException' })
})

t.test('refuses a request that is not signed as it must be', async (t) => {
  const emulator = await open(t)
  emulator.world.addResource({ service: 'kinesis', name: 's' })
  const cases = [
    {
      name: 'a wrong secret',
      credentials: { ...key, secretAccessKey: 'another' },
      want: 'InvalidSignatureException',
    },
    {
      name: 'an unknown key',
      credentials: { ...key, accessKeyId: 'AKIAX' },
      want: 'UnrecognizedClientException',
    },
    {
      name: 'a token nobody issued',
      credentials: { ...key, sessionToken: 'x' },
      want: 'UnrecognizedClientException',
    },
    { name: 'another region', region: 'eu-west-1', want: 'ResourceNotFoundException' },
  ]
  for (const { name, want, ...overrides } of cases) {
    const { kinesis } = clients(emulator, overrides)
    const put = kinesis.send(new PutRecordsCommand({ StreamName: 's', Records: records(1) }))
    await t.rejects(put, { name: want, $metadata: { httpStatusCode: 400, requestId: String } }, name)
  }
  const unsigned = await fetch(emulator.url, {
    method: 'POST',
    headers: { 'x-amz-target': 'Kinesis_20131202.X' },
  })
  t.match(await unsigned.json(), { __type: 'MissingAuthenticationTokenException' })
  t.equal(emulator.world.findResource({ service: 'kinesis', name: 's' })!.ledger.counts().events, 0)
})

t.test('refuses a body, a date or a header other than what was signed', async (t) => {
  let skewMs = 0
  const emulator = await open(t, { now: () => Date.now() + skewMs })
  emulator.world.addResource({ service: 'kinesis', name: 's' })
  const captured: { headers: Record<string, string>; body: Uint8Array }[] = []
  const { kinesis } = clients(emulator)
  kinesis.middlewareStack.add(
    (next) => async (args) => {
      captured.push(structuredClone({ ...(args.request as (typeof captured)[0]) }))
      return next(args)
    },
    { step: 'finalizeRequest', priority: 'low' },
  )
  await kinesis.send(new PutRecordsCommand({ StreamName: 's', Records: records(1) }))
  const { headers, body } = captured[0]!
  const replay = async (changed: Record<string, string>, content: string) => {
    const { host: _, 'content-length': __, ...sent } = headers
    const response = await fetch(emulator.url, {
      method: 'POST',
      headers: { ...sent, ...changed },
      body: content,
    })
    return (await response.json()) as { __type?: string; message?: string }
  }
  const text = Buffer.from(body).toString()
  t.match(await replay({}, text), { FailedRecordCount: 0 }, 'unchanged it passes')
  const refused = { __type: 'InvalidSignatureException' }
  t.match(await replay({}, text.replace('ev_0', 'ev_1').replace('}', ' }')), refused, 'another body')
  t.match(await replay({ 'x-amz-added': '1' }, text), refused, 'an amz header that is not signed')
  t.match(
    await replay({ 'x-amz-target': 'Kinesis_20131202.ListStreams' }, text),
    refused,
    'another operation',
  )
  t.match(await replay({ 'x-amz-target': 'Logs_20140328.PutLogEvents' }, text), refused, 'another service')
  skewMs = 301_000
  t.match(await replay({}, text), { ...refused, message: /Signature expired/ }, 'too old')
  skewMs = -301_000
  t.match(await replay({}, text), { ...refused, message: /not yet current/ }, 'from the future')
})

t.test('keeps the limits of the services', async (t) => {
  const emulator = await open(t)
  const { world } = emulator
  const { kinesis, firehose, logs } = clients(emulator)
  world.addResource({ service: 'kinesis', name: 's', bytesPerSecond: null })
  world.addResource({ service: 'kinesis', name: 'big', recordBytesMax: 10_240 * kib, bytesPerSecond: null })
  world.addResource({ service: 'firehose', name: 'f', bytesPerSecond: null })
  world.addResource({ service: 'logs', name: 'g' }).logStreams.set('l', 0)
  const toKinesis = (StreamName: string, Records: object[], more = {}) =>
    kinesis.send(
      new PutRecordsCommand({ StreamName, Records: Records as ReturnType<typeof records>, ...more }),
    )
  const toFirehose = (...sizes: number[]) =>
    firehose.send(
      new PutRecordBatchCommand({
        DeliveryStreamName: 'f',
        Records: sizes.map((size) => ({ Data: new Uint8Array(size) })),
      }),
    )
  const toLogs = (...events: [message: string, timestamp: number][]) =>
    logs.send(
      new PutLogEventsCommand({
        logGroupName: 'g',
        logStreamName: 'l',
        logEvents: events.map(([message, timestamp]) => ({ message, timestamp })),
      }),
    )
  const now = Date.now()
  const fill = (size: number): number[] => Array(4).fill(size)
  const cases = [
    { name: 'Kinesis: 501 records', call: () => toKinesis('s', records(501)), want: 'ValidationException' },
    { name: 'Kinesis: none', call: () => toKinesis('s', []), want: 'ValidationException' },
    {
      name: 'Kinesis: a record above 1 MiB',
      call: () => toKinesis('s', [bytes(1024 * kib)]),
      want: 'InvalidArgumentException',
    },
    {
      name: 'Kinesis: above 10 MiB in all',
      call: () => toKinesis('big', Array(11).fill(bytes(1000 * kib))),
      want: 'InvalidArgumentException',
    },
    {
      name: 'Kinesis: a long partition key',
      call: () => toKinesis('s', [record('ev_1', 'k'.repeat(257))]),
      want: 'ValidationException',
    },
    {
      name: 'Kinesis: a dry run',
      call: () => toKinesis('s', records(1), { DryRun: true }),
      want: 'DryRunOperationException',
    },
    {
      name: 'Firehose: a record above 1,000 KiB',
      call: () => toFirehose(1000 * kib + 1),
      want: 'ValidationException',
    },
    {
      name: 'Firehose: above 4 MiB in all',
      call: () => toFirehose(...fill(1000 * kib), 100 * kib),
      want: 'InvalidArgumentException',
    },
    {
      name: 'Firehose: 501 records',
      call: () => toFirehose(...Array(501).fill(1)),
      want: 'ValidationException',
    },
    {
      name: 'Logs: out of order',
      call: () => toLogs(['a', now], ['b', now - 1]),
      want: 'InvalidParameterException',
    },
    {
      name: 'Logs: more than a day',
      call: () => toLogs(['a', now - dayMs - 1], ['b', now]),
      want: 'InvalidParameterException',
    },
    {
      name: 'Logs: above 1 MiB with the overhead',
      call: () => toLogs(['x'.repeat(1_048_576 - 51), now], ['', now]),
      want: 'InvalidParameterException',
    },
    {
      name: 'Logs: an event above 1 MiB',
      call: () => toLogs(['x'.repeat(1_048_576 - 25), now]),
      want: 'InvalidParameterException',
    },
    {
      name: 'Logs: 10,001 events',
      call: () => toLogs(...Array<[string, number]>(10_001).fill(['a', now])),
      want: 'InvalidParameterException',
    },
  ]
  for (const { name, call, want } of cases) await t.rejects(call() as Promise<unknown>, { name: want }, name)

  await t.resolves(toKinesis('s', [bytes(1024 * kib - 1)]), 'Kinesis: exactly 1 MiB')
  await t.resolves(toFirehose(...fill(1000 * kib), 96 * kib), 'Firehose: exactly 4 MiB')
  await t.resolves(toLogs(['x'.repeat(1_048_576 - 26), now]), 'Logs: exactly 1 MiB')
  const mixed = await toLogs(['old', now - 14 * dayMs - 60_000])
  t.same(mixed.rejectedLogEventsInfo, { tooOldLogEventEndIndex: 1 })
  const ahead = await toLogs(['now', now], ['new', now + 3 * 3_600_000])
  t.same(ahead.rejectedLogEventsInfo, { tooNewLogEventStartIndex: 1 })
  t.equal(world.findResource({ service: 'logs', name: 'g' })!.ledger.counts().events, 2)
})

t.test('a shard takes what its quota allows within a second', async (t) => {
  const nowMs = 1_800_000_000_000
  const emulator = await open(t, { now: () => nowMs })
  emulator.world.addResource({ service: 'kinesis', name: 's', recordsPerSecond: 3 })
  const { kinesis } = clients(emulator)
  kinesis.config.systemClockOffset = nowMs - Date.now()
  const put = await kinesis.send(new PutRecordsCommand({ StreamName: 's', Records: records(5) }))
  t.equal(put.FailedRecordCount, 2)
  t.match(put.Records![4], {
    ErrorCode: 'ProvisionedThroughputExceededException',
    ErrorMessage: /^Rate exceeded for shard/,
  })
})

t.test('roles are assumed with their external id only, and their sessions end', async (t) => {
  const emulator = await open(t)
  emulator.world.addRole({ roleArn, externalId: 'ac_1' })
  emulator.world.addResource({ service: 'kinesis', name: 's' })
  const { sts } = clients(emulator)
  const assume = (ExternalId?: string) =>
    sts.send(new AssumeRoleCommand({ RoleArn: roleArn, RoleSessionName: 'weir-ed_1', ExternalId }))
  await t.rejects(assume('ac_2'), { name: 'AccessDenied', $metadata: { httpStatusCode: 403 } })
  await t.rejects(assume(), { name: 'AccessDenied' })
  const { Credentials } = await assume('ac_1')
  const credentials = {
    accessKeyId: Credentials!.AccessKeyId!,
    secretAccessKey: Credentials!.SecretAccessKey!,
    sessionToken: Credentials!.SessionToken!,
  }
  const session = clients(emulator, { credentials })
  t.match(await session.sts.send(new GetCallerIdentityCommand()), {
    Arn: 'arn:aws:sts::000000000000:assumed-role/delivery/weir-ed_1',
  })
  const put = () => session.kinesis.send(new PutRecordsCommand({ StreamName: 's', Records: records(1) }))
  await t.resolves(put())
  t.match(await emulatorClient(emulator.url).sessions(), [
    { roleArn, externalId: 'ac_1', sessionName: 'weir-ed_1' },
  ])
  emulator.world.expireSessions()
  await t.rejects(put(), { name: 'ExpiredTokenException' })
  const wrong = clients(emulator, { credentials: { ...key, secretAccessKey: 'x' } })
  await t.rejects(wrong.sts.send(new GetCallerIdentityCommand()), { name: 'SignatureDoesNotMatch' })
})

t.test('faults strike as they were ordered', async (t) => {
  const emulator = await open(t)
  const { world } = emulator
  world.addResource({ service: 'kinesis', name: 's', shards: 2 })
  const { kinesis } = clients(emulator)
  const control = emulatorClient(emulator.url)
  const put = (count = 10) =>
    kinesis.send(new PutRecordsCommand({ StreamName: 's', Records: records(count) }))
  const arrived = () => world.findResource({ service: 'kinesis', name: 's' })!.ledger.counts().events
  const cases: { name: string; effect: FaultSpec['effect']; want: object; arrives?: number }[] = [
    {
      name: 'throttle',
      effect: { type: 'throttle' },
      want: { name: 'ProvisionedThroughputExceededException' },
    },
    {
      name: 'error',
      effect: { type: 'error', code: 'InternalFailure', status: 500 },
      want: { name: 'InternalFailure', $metadata: { httpStatusCode: 500 } },
    },
    { name: 'expired token', effect: { type: 'expired_token' }, want: { name: 'ExpiredTokenException' } },
    { name: 'access denied', effect: { type: 'access_denied' }, want: { name: 'AccessDeniedException' } },
    { name: 'hang', effect: { type: 'hang' }, want: { name: 'TimeoutError' } },
    { name: 'drop', effect: { type: 'drop' }, want: { code: 'ECONNRESET' } },
    {
      name: 'commit, then hang',
      effect: { type: 'commit_then_hang' },
      want: { name: 'TimeoutError' },
      arrives: 10,
    },
    {
      name: 'commit, then drop',
      effect: { type: 'commit_then_drop' },
      want: { code: 'ECONNRESET' },
      arrives: 10,
    },
    {
      name: 'latency beyond the timeout',
      effect: { type: 'latency', ms: 400 },
      want: { name: 'TimeoutError' },
    },
    {
      name: 'poison',
      effect: { type: 'poison', containing: '"ev_7"' },
      want: { name: 'ValidationException' },
    },
  ]
  for (const { name, effect, want, arrives = 0 } of cases) {
    world.clear()
    await control.addFault({ effect, service: 'kinesis', operation: 'PutRecords', resource: 's', count: 1 })
    await t.rejects(put(), want as Error, name)
    if (effect.type !== 'latency') t.equal(arrived(), arrives, `${name}: what took effect`)
    t.match(await control.faults(), [{ hits: 1 }])
    t.equal((await put()).FailedRecordCount, 0, `${name}: once only`)
  }

  world.clear()
  world.faults.add({ effect: { type: 'fail_records', every: 5 } })
  t.same(
    (await put()).Records!.flatMap(({ ErrorCode }, at) => (ErrorCode ? [at] : [])),
    [4, 9],
  )
  world.clear()
  world.faults.add({ effect: { type: 'fail_records', shard: 1, code: 'InternalFailure' } })
  const shards = (await put()).Records!.map(({ ErrorCode, ShardId }) => ErrorCode ?? ShardId)
  t.same([...new Set(shards)].sort(), ['InternalFailure', 'shardId-000000000000'])
  world.clear()
  world.faults.add({ effect: { type: 'throttle' }, resource: 'another' })
  await t.resolves(put(), 'a fault of another resource')
  t.match((await control.stats())['kinesis.PutRecords'], { requests: 1, recordsAccepted: 10 })
})

t.test('the same seed strikes the same records', async (t) => {
  const failures = async () => {
    const emulator = await open(t, { seed: 42 })
    emulator.world.addResource({ service: 'firehose', name: 'f' })
    emulator.world.faults.add({ effect: { type: 'fail_records' }, probability: 0.3 })
    const Records = records(300).map(({ Data }) => ({ Data }))
    const put = await clients(emulator).firehose.send(
      new PutRecordBatchCommand({ DeliveryStreamName: 'f', Records }),
    )
    return put.RequestResponses!.flatMap(({ ErrorCode }, at) => (ErrorCode ? [at] : []))
  }
  const [first, second] = [await failures(), await failures()]
  t.same(first, second)
  t.ok(first.length > 60 && first.length < 120, 'about three in ten')
})

t.test('where only counts are kept, the rest is forgotten', async (t) => {
  const emulator = await open(t, { keep: 'counts' })
  emulator.world.addResource({ service: 'firehose', name: 'f', keep: 'ids' })
  emulator.world.addResource({ service: 'kinesis', name: 's' })
  const { kinesis, firehose } = clients(emulator)
  await kinesis.send(new PutRecordsCommand({ StreamName: 's', Records: [record('ev_1'), record('ev_1')] }))
  await firehose.send(
    new PutRecordBatchCommand({ DeliveryStreamName: 'f', Records: [{ Data: record('ev_1').Data }] }),
  )
  const control = emulatorClient(emulator.url)
  t.match(await control.counts({ service: 'kinesis', name: 's' }), { events: 2, unique: 0, duplicates: 0 })
  t.match(await control.counts({ service: 'firehose', name: 'f' }), { events: 1, unique: 1 })
  t.same((await control.page({ service: 'firehose', name: 'f' }, 0, 10)).events, [])
  await t.rejects(control.counts({ service: 'kinesis', name: 'none' }), /There is no kinesis none/)
})
