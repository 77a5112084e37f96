import t from 'tap'
import { kindNamed } from '../../../../src/delivery/deliver/kinds.js'

const statement = (Sid: string, Action: string[], ...Resource: string[]) => ({
  Sid,
  Effect: 'Allow',
  Action,
  Resource,
})

t.test('rights, by kind', (t) => {
  const arn = (rest: string) => `arn:aws:${rest}`
  const region = 'eu-west-1'
  const kmsKey = (kms_key_id: string) => ({ region, sse: { type: 'aws:kms', kms_key_id } })
  const encrypts = (resource: string) => statement('WeirEncrypts', ['kms:GenerateDataKey'], resource)
  const cases: { kind: string; address: string; options?: object; want: object[]; notes?: RegExp[] }[] = [
    {
      kind: 'kinesis',
      address: arn('kinesis:eu-west-1:123456789012:stream/x'),
      want: [{ Sid: 'WeirDelivers', Action: ['kinesis:PutRecords', 'kinesis:DescribeStreamSummary'] }],
      notes: [/kms:GenerateDataKey on the key/],
    },
    {
      kind: 'firehose',
      address: arn('firehose:eu-west-1:123456789012:deliverystream/x'),
      want: [{ Action: ['firehose:PutRecordBatch'] }, { Sid: 'WeirChecks' }],
      notes: [],
    },
    {
      kind: 'cloudwatch_logs',
      address: arn('logs:eu-west-1:123456789012:log-group:x:*'),
      want: [
        statement(
          'WeirDelivers',
          ['logs:PutLogEvents', 'logs:CreateLogStream'],
          arn('logs:eu-west-1:123456789012:log-group:x:*'),
        ),
        statement(
          'WeirChecks',
          ['logs:DescribeLogStreams'],
          arn('logs:eu-west-1:123456789012:log-group:x:*'),
        ),
      ],
    },
    {
      kind: 'sqs',
      address: arn('sqs:eu-west-1:123456789012:x'),
      want: [{ Action: ['sqs:SendMessage'] }, { Action: ['sqs:GetQueueAttributes'] }],
      notes: [/kms:GenerateDataKey and kms:Decrypt/],
    },
    {
      kind: 'eventbridge',
      address: arn('events:eu-west-1:123456789012:event-bus/x'),
      want: [{ Action: ['events:PutEvents'] }, { Action: ['events:DescribeEventBus'] }],
    },
    {
      kind: 's3',
      address: arn('s3:::b'),
      options: { region },
      want: [
        statement('WeirDelivers', ['s3:PutObject'], arn('s3:::b/weir/*/*/*/*/*.ndjson.gz')),
        statement('WeirChecks', ['s3:ListBucket'], arn('s3:::b')),
      ],
      notes: [/kms:GenerateDataKey/],
    },
    {
      kind: 's3',
      address: arn('s3:::b'),
      options: { ...kmsKey(arn('kms:eu-west-1:123456789012:key/1-2')), key: 'a/{destination}/{name}' },
      want: [
        { Resource: [arn('s3:::b/a/ed_1/*')] },
        encrypts(arn('kms:eu-west-1:123456789012:key/1-2')),
        { Sid: 'WeirChecks' },
      ],
      notes: [],
    },
    {
      kind: 's3',
      address: 'arn:aws-cn:s3:::b',
      options: kmsKey('1-2'),
      want: [{}, encrypts('arn:aws-cn:kms:eu-west-1:*:key/1-2'), {}],
    },
    ...['alias/weir', arn('kms:eu-west-1:123456789012:alias/weir')].map((key) => ({
      kind: 's3',
      address: arn('s3:::b'),
      options: kmsKey(key),
      want: [
        {},
        {
          ...encrypts(arn(`kms:eu-west-1:${key.startsWith('arn') ? '123456789012' : '*'}:key/*`)),
          Condition: { 'ForAnyValue:StringEquals': { 'kms:ResourceAliases': 'alias/weir' } },
        },
        {},
      ],
    })),
  ]
  for (const { kind, address, options = {}, want, notes } of cases) {
    const rights = kindNamed(kind).aws?.rights({ id: 'ed_1', address, options: options as never })
    t.match(rights?.statements, want, kind)
    t.equal(rights?.statements.length, want.length)
    if (notes !== undefined) t.match(rights?.notes, notes)
    if (notes !== undefined) t.equal(rights?.notes.length, notes.length)
  }
  t.equal(kindNamed('http').aws, undefined)
  t.end()
})
