import { PutLogEventsCommand } from '@aws-sdk/client-cloudwatch-logs'
import {
  CreateEventBusCommand,
  PutEventsCommand,
  type PutEventsRequestEntry,
} from '@aws-sdk/client-eventbridge'
import { PutRecordBatchCommand } from '@aws-sdk/client-firehose'
import { PutRecordsCommand } from '@aws-sdk/client-kinesis'
import {
  CreateQueueCommand,
  SendMessageBatchCommand,
  type SendMessageBatchRequestEntry,
} from '@aws-sdk/client-sqs'
import t from 'tap'
import { bytes, clients, dayMs, kib, open, record, records } from './sdk-clients.js'

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

t.test('keeps the limits of SQS, for requests and for entries', async (t) => {
  const emulator = await open(t)
  const { sqs } = clients(emulator)
  const create = async (QueueName: string) => (await sqs.send(new CreateQueueCommand({ QueueName }))).QueueUrl
  const [standard, fifo] = [await create('q'), await create('q.fifo')]
  const send = (QueueUrl: string | undefined, Entries: SendMessageBatchRequestEntry[]) =>
    sqs.send(new SendMessageBatchCommand({ QueueUrl, Entries }))
  const entry = (Id: string, MessageBody = 'x', more = {}) => ({ Id, MessageBody, ...more })
  const half = 'x'.repeat(512 * kib)
  const requests = [
    { name: 'none', entries: [], want: 'EmptyBatchRequest' },
    {
      name: 'eleven',
      entries: Array.from({ length: 11 }, (_, n) => entry(`${n}`)),
      want: 'TooManyEntriesInBatchRequest',
    },
    { name: 'one id twice', entries: [entry('a'), entry('a')], want: 'BatchEntryIdsNotDistinct' },
    { name: 'a wrong id', entries: [entry('a b')], want: 'InvalidBatchEntryId' },
    {
      name: 'above 1 MiB',
      entries: [entry('a', half), entry('b', `${half}x`)],
      want: 'BatchRequestTooLong',
    },
  ]
  for (const { name, entries, want } of requests)
    await t.rejects(send(standard, entries), { name: want }, name)
  const other = standard?.replace('000000000000', '123456789012')
  await t.rejects(send(other, [entry('a')]), { name: 'QueueDoesNotExist' }, 'of another account')
  const full = await send(standard, [entry('a', half), entry('b', half)])
  t.match(full, { Successful: [{ Id: 'a' }, { Id: 'b' }] }, 'exactly 1 MiB')

  const ids = { MessageGroupId: 'g', MessageDeduplicationId: 'd' }
  const [ok, forbidden, wrong] = await Promise.all([
    send(fifo, [
      entry('a', '1', ids),
      entry('b', '1', ids),
      entry('c'),
      entry('d', 'x', { MessageGroupId: 'g' }),
    ]),
    send(standard, [entry('a', '\uffff'), entry('b', '')]),
    send(standard, [entry('a', 'x', ids)]),
  ])
  t.match(ok, {
    Successful: [{ Id: 'a' }, { Id: 'b' }],
    Failed: [{ Id: 'c', SenderFault: true }, { Id: 'd' }],
  })
  t.equal(emulator.world.findResource({ service: 'sqs', name: 'q.fifo' })!.ledger.counts().records, 1)
  t.match(forbidden.Failed, [{ Code: 'InvalidMessageContents' }, { Code: 'MissingParameter' }])
  t.match(wrong.Failed, [{ Code: 'InvalidParameterValue', Message: /not valid for this queue type/ }])
})

t.test('keeps the limits of EventBridge, for requests and for entries', async (t) => {
  const emulator = await open(t)
  const { events } = clients(emulator)
  const { EventBusArn } = await events.send(new CreateEventBusCommand({ Name: 'b' }))
  const put = (...Entries: PutEventsRequestEntry[]) => events.send(new PutEventsCommand({ Entries }))
  const entry = (more: PutEventsRequestEntry = {}) => ({
    EventBusName: EventBusArn,
    Source: 's',
    DetailType: 't',
    Detail: '{}',
    ...more,
  })
  const sized = (bytes: number) => entry({ Detail: JSON.stringify({ x: 'x'.repeat(bytes - 10) }) })
  await t.rejects(put(...Array(11).fill(entry())), { name: 'ValidationException' }, 'eleven entries')
  await t.rejects(put(sized(1024 * kib)), { name: 'ValidationException' }, '1 MiB')
  await t.rejects(put(entry({ EventBusName: 'c' })), { name: 'ResourceNotFoundException' })
  t.match(await put(sized(1023 * kib)), { FailedEntryCount: 0 })
  const { Entries } = await put(
    entry(),
    entry({ Detail: '[]' }),
    entry({ Detail: '{' }),
    entry({ Source: 'aws.ec2' }),
    entry({ DetailType: '' }),
  )
  t.match(
    Entries?.map(({ ErrorCode }) => ErrorCode),
    [undefined, 'MalformedDetail', 'MalformedDetail', 'NotAuthorizedForSourceException', 'InvalidArgument'],
  )
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
