/** The tiles and words of the kinds at AWS. Rights and the trust policy are added by who knows the account. */
import {
  type Drafted,
  type FieldWords,
  type KindForm,
  type SetupStep,
  textIn,
  type Words,
} from '../kind/form.js'

const awsAuthWords: Words = {
  auth: { label: 'How Weir signs in at AWS', help: 'A role needs no secret here.' },
  'auth.role': { label: 'A role that Weir assumes (recommended)' },
  'auth.role.role_arn': {
    label: 'ARN of the role',
    help: 'You create it with the trust policy at the side, which names this account as its external id.',
  },
  'auth.creds': { label: 'Access key of a user' },
  'auth.creds.aws_access_key_id': { label: 'Access key id' },
  'auth.creds.aws_secret_access_key': { label: 'Secret access key', help: 'Stored encrypted, never shown.' },
}

const packingWords: FieldWords = {
  label: 'Events in one record',
  help: 'Several events in a record cost less. Readers must then split records at line breaks.',
  choices: { none: 'one event', ndjson: 'several, a line each' },
  unset: 'default: one event',
  isRare: true,
}

/** The first step: the target itself. */
const created = (text: string, command: string): SetupStep => ({
  text,
  copy: { what: 'the command', text: command },
})

/** The last part of an ARN or a URL: the name of what it leads to. */
const nameIn = (address: string): string => /([^:/]+)(?::\*)?$/.exec(address)?.[1] ?? address

const regionIn = (arn: string): string => arn.split(':')[3] || 'eu-west-1'

const inRegion = ({ address }: Drafted): string => ` --region ${regionIn(address)}`
const needs = 'an AWS account in which you may create a role'

export const kinesisWords: Words = {
  stream_arn: { label: 'ARN of the stream' },
  ...awsAuthWords,
  packing: packingWords,
}

export const kinesisForm: KindForm = {
  id: 'kinesis',
  name: 'Amazon Kinesis Data Streams',
  purpose: 'A stream that programs of yours read in seconds.',
  needs,
  mark: 'M3 7c4-4 7 4 11 0s5-1 7 0M3 12c4-4 7 4 11 0s5-1 7 0M3 17c4-4 7 4 11 0s5-1 7 0',
  steps: (drafted) => [
    created(
      'Create a stream, unless there is one. Its ARN is on its page in the AWS console.',
      `aws kinesis create-stream --stream-name ${nameIn(drafted.address)} --stream-mode-details StreamMode=ON_DEMAND${inRegion(drafted)}`,
    ),
  ],
}

export const firehoseWords: Words = {
  delivery_stream_arn: { label: 'ARN of the Firehose stream' },
  ...awsAuthWords,
  packing: packingWords,
}

export const firehoseForm: KindForm = {
  id: 'firehose',
  name: 'Amazon Data Firehose',
  purpose: 'Gathers events and writes them to S3, Redshift, OpenSearch or Splunk.',
  needs,
  mark: 'M3 8h7l4 4 4-4h3M3 16h7l4-4M14 12v8m-3-3 3 3 3-3',
  steps: () => [
    {
      text: 'Create a Firehose stream with the source “Direct PUT” and the destination of your choice. Its ARN is on its page in the AWS console.',
      link: { text: 'Firehose in the AWS console', url: 'https://console.aws.amazon.com/firehose/home' },
    },
  ],
}

export const cloudwatchLogsWords: Words = {
  log_group_arn: { label: 'ARN of the log group' },
  ...awsAuthWords,
}

export const cloudwatchLogsForm: KindForm = {
  id: 'cloudwatch_logs',
  name: 'Amazon CloudWatch Logs',
  purpose: 'Look at events, search them and raise alarms beside the logs of your services.',
  needs,
  mark: 'M4 5h16v14H4zM7 9h6M7 12h10M7 15h8',
  steps: (drafted) => [
    created(
      'Create a log group, unless there is one.',
      `aws logs create-log-group --log-group-name ${/log-group:(.+?)(?::\*)?$/.exec(drafted.address)?.[1] ?? 'weir'}${inRegion(drafted)}`,
    ),
  ],
}

export const s3Words: Words = {
  bucket_arn: { label: 'ARN of the bucket', help: 'The name of a bucket behind “arn:aws:s3:::”.' },
  region: { label: 'Region of the bucket', help: 'Such as eu-west-1. The ARN of a bucket does not name it.' },
  ...awsAuthWords,
  key: { label: 'Names of the objects', isRare: true },
  size: {
    label: 'Size of an object, in bytes',
    help: 'Events are written when they have so many bytes before compression; 8388608 (8 MiB) unless another is given.',
    isRare: true,
  },
  age_seconds: {
    label: 'Longest wait, in seconds',
    help: 'Events are written when the first of them has waited so long; 60 unless another is given.',
    isRare: true,
  },
  sse: { label: 'Encryption by S3', help: 'Unless you choose one, as the bucket says.', isRare: true },
  'sse.type': {
    label: 'Keys',
    choices: { AES256: 'keys of S3', 'aws:kms': 'a key of AWS KMS' },
  },
  'sse.kms_key_id': {
    label: 'KMS key',
    help: 'Id, ARN or alias; the key that AWS manages for S3 without it.',
  },
}

export const s3Form: KindForm = {
  id: 's3',
  name: 'Amazon S3',
  purpose: 'Keeps events for years at a low price, for Athena, DuckDB or an audit.',
  needs,
  mark: 'M5 6c0-3 14-3 14 0s-14 3-14 0l2 13c0 2 10 2 10 0l2-13',
  steps: (drafted) => {
    const region = textIn(drafted.options['region']) || 'eu-west-1'
    return [
      created(
        'Create a bucket, unless there is one.',
        `aws s3 mb s3://${nameIn(drafted.address)} --region ${region}`,
      ),
    ]
  },
}

export const sqsWords: Words = {
  queue_arn: { label: 'ARN of the queue', help: 'A name that ends in .fifo is a FIFO queue.' },
  ...awsAuthWords,
}

export const sqsForm: KindForm = {
  id: 'sqs',
  name: 'Amazon SQS',
  purpose: 'A queue: each event is worked on once, by one of your programs.',
  needs,
  mark: 'M3 8h5v8H3zM10 8h5v8h-5zM17 8h4v8h-4z',
  steps: (drafted) => [
    created(
      'Create a queue, unless there is one.',
      `aws sqs create-queue --queue-name ${nameIn(drafted.address)}${/\.fifo$/.test(drafted.address) ? ' --attributes FifoQueue=true' : ''}${inRegion(drafted)}`,
    ),
  ],
}

export const eventbridgeWords: Words = {
  event_bus_arn: { label: 'ARN of the event bus' },
  ...awsAuthWords,
}

export const eventbridgeForm: KindForm = {
  id: 'eventbridge',
  name: 'Amazon EventBridge',
  purpose: 'Rules decide which events start a Lambda function or another service.',
  needs,
  mark: 'M12 4v6M12 10 5 19M12 10l7 9M12 10v9M10 4h4v3h-4zM3 18h4v3H3zM10 18h4v3h-4zM17 18h4v3h-4z',
  steps: (drafted) => [
    created(
      'Create an event bus, unless there is one.',
      `aws events create-event-bus --name ${nameIn(drafted.address)}${inRegion(drafted)}`,
    ),
    {
      text: 'Add a rule with the event pattern {"source": ["weir"]}: EventBridge drops events that no rule takes.',
    },
  ],
}
