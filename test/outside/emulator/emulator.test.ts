import {
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
  PutRecordBatchCommand,
} from '@aws-sdk/client-firehose'
import {
  CreateStreamCommand,
  DeleteStreamCommand,
  DescribeStreamSummaryCommand,
  GetRecordsCommand,
  GetShardIteratorCommand,
  ListStreamsCommand,
  PutRecordsCommand,
} from '@aws-sdk/client-kinesis'
import { AssumeRoleCommand, GetCallerIdentityCommand } from '@aws-sdk/client-sts'
import t from 'tap'
import { emulatorClient } from '../../../src/outside/emulator/client.js'
import { clients, key, open, record, records, roleArn } from './sdk-clients.js'

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

t.test('a resource of a service that is not emulated, or without a name, is refused', async (t) => {
  const control = emulatorClient((await open(t)).url)
  const refused = /named by service \(.*kinesis.*\) and name/
  for (const service of ['undefinedb', '', undefined])
    await t.rejects(
      control.addResource({ service, name: 's' } as never),
      { message: refused },
      String(service),
    )
  await t.rejects(control.addResource({ service: 'kinesis' } as never), { message: refused })
  await t.rejects(control.counts({ service: 'undefinedb', name: 's' } as never), { message: refused })
})
