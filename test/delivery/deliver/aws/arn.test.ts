import t from 'tap'
import { checkRoleArn } from '../../../../src/delivery/deliver/aws/arn.js'
import { kindNamed } from '../../../../src/delivery/deliver/kinds.js'

const roleArn = 'arn:aws:iam::000000000000:role/delivery'
const stream = 'arn:aws:kinesis:us-east-1:000000000000:stream/weir'
const firehose = 'arn:aws:firehose:us-east-1:000000000000:deliverystream/weir'
const group = 'arn:aws:logs:us-east-1:000000000000:log-group:weir'

t.test('ARNs are checked', (t) => {
  const good = [
    ['kinesis', stream],
    ['kinesis', 'arn:aws-cn:kinesis:cn-north-1:123456789012:stream/a.b-c_d'],
    ['firehose', firehose],
    ['firehose', 'arn:aws-us-gov:firehose:us-gov-west-1:123456789012:deliverystream/x'],
    ['cloudwatch_logs', group],
    ['cloudwatch_logs', 'arn:aws:logs:eu-central-1:123456789012:log-group:/aws/x#1:*'],
    ['s3', 'arn:aws:s3:::weir-events.2'],
    ['s3', 'arn:aws-cn:s3:::weir'],
    ['sqs', 'arn:aws:sqs:us-east-1:000000000000:weir'],
    ['sqs', 'arn:aws:sqs:eu-west-1:123456789012:a_b-c.fifo'],
    ['eventbridge', 'arn:aws:events:us-east-1:000000000000:event-bus/default'],
  ] as const
  for (const [kind, arn] of good) t.equal(kindNamed(kind).address.check(arn), undefined, arn)
  const bad = [
    { kind: 'kinesis', arn: 'stream/x', want: /not an ARN/ },
    { kind: 'kinesis', arn: firehose, want: /service is "firehose", but kinesis is expected/ },
    { kind: 'kinesis', arn: 'arn:aws-eu:kinesis:us-east-1:123456789012:stream/x', want: /partition/ },
    {
      kind: 'kinesis',
      arn: 'arn:aws:kinesis:cn-north-1:123456789012:stream/x',
      want: /does not lie in the partition aws;/,
    },
    { kind: 'kinesis', arn: 'arn:aws-us-gov:kinesis:us-east-1:123456789012:stream/x', want: /does not lie/ },
    { kind: 'kinesis', arn: 'arn:aws:kinesis:here:123456789012:stream/x', want: /region/ },
    { kind: 'kinesis', arn: 'arn:aws:kinesis::123456789012:stream/x', want: /region/ },
    { kind: 'kinesis', arn: 'arn:aws:kinesis:us-east-1:12345:stream/x', want: /twelve digits/ },
    {
      kind: 'kinesis',
      arn: 'arn:aws:kinesis:us-east-1:123456789012:stream/x/consumer/y',
      want: /no resource of the kind/,
    },
    {
      kind: 'firehose',
      arn: 'arn:aws:firehose:us-east-1:123456789012:stream/x',
      want: /no resource of the kind/,
    },
    { kind: 'cloudwatch_logs', arn: `${group}:log-stream:x`, want: /no resource of the kind/ },
    { kind: 's3', arn: 'arn:aws:s3:us-east-1:000000000000:weir', want: /names a region or an account/ },
    { kind: 's3', arn: 'arn:aws:s3:::weir/x', want: /no resource of the kind/ },
    { kind: 's3', arn: 'arn:aws:s3:::Weir', want: /no resource of the kind/ },
    { kind: 'sqs', arn: 'arn:aws:sqs:us-east-1:000000000000:a.b', want: /no resource of the kind/ },
    { kind: 'sqs', arn: 'arn:aws:sqs:us-east-1:000000000000:a/b', want: /no resource of the kind/ },
    { kind: 'eventbridge', arn: 'arn:aws:events:us-east-1:000000000000:rule/x', want: /no resource/ },
  ] as const
  for (const { kind, arn, want } of bad) t.match(kindNamed(kind).address.check(arn)?.msg, want, arn)
  for (const arn of [roleArn, 'arn:aws-cn:iam::123456789012:role/path/to/name'])
    t.equal(checkRoleArn(arn), undefined, arn)
  for (const arn of [
    'role/x',
    stream,
    'arn:aws:iam::123456789012:user/x',
    'arn:aws:iam::1:role/x',
    'arn:aws:iam::123456789012:role/',
  ]) {
    t.match(checkRoleArn(arn)?.msg, /not the ARN of a role/, arn)
  }
  t.end()
})
