/** Targets of Outpost's destinations, by their types. Its API masks secrets, and some members that are none to Weir. */
import { isSecretHeader } from '../../delivery/deliver/http/request-headers.js'
import { brokenWebhookSecret } from '../../delivery/deliver/http/standard-webhooks.js'
import { isObject, type JsonObject } from '../../ground/core/json-object.js'
import type { HiddenMember } from './draft/draft-account.js'
import type { Item } from './draft/item.js'

interface Target {
  readonly target: JsonObject
  readonly changes: readonly string[]
  readonly hidden: readonly HiddenMember[]
}

type Found = Target | { readonly reason: string }

interface Given {
  readonly config: JsonObject
  readonly credentials: JsonObject
  readonly awsAccount: string | undefined
}

type Read = (given: Given) => Found

/** In place of the id of a key, which is masked. */
const someKeyId = 'AKIAIOSFODNN7EXAMPLE'

const types: Readonly<Record<string, Read>> = {
  webhook: webhookTarget,
  aws_sqs: sqsTarget,
  aws_kinesis: kinesisTarget,
  aws_s3: s3Target,
  kafka: kafkaTarget,
}

const foreign: Readonly<Record<string, string>> = {
  rabbitmq: 'Weir does not speak AMQP.',
  hookdeck: 'Weir has no target for it: a source of Hookdeck takes requests of a target http.',
  gcp_pubsub: 'Weir does not publish to Google Cloud.',
  azure_servicebus: 'Weir does not publish to Azure.',
}

export function targetOf(item: Item, awsAccount: string | undefined): Found {
  const type = item.text('type') ?? ''
  const [config, credentials] = ['config', 'credentials'].map((member) => {
    const value = item.get(member)
    return isObject(value) ? value : {}
  })
  const read = Object.hasOwn(types, type) ? types[type] : undefined
  if (read === undefined)
    return { reason: Object.hasOwn(foreign, type) ? foreign[type]! : 'Weir has no target of this type.' }
  return read({ config: config!, credentials: credentials!, awsAccount })
}

/** A sentence for each member that is set and not known. */
const leftOut = (given: JsonObject, known: readonly string[], path: string): string[] =>
  Object.entries(given)
    .filter(([name, value]) => !known.includes(name) && value !== '' && value !== null)
    .map(([name]) => `"${path}.${name}" is left out.`)

function webhookTarget({ config, credentials }: Given): Found {
  const { url, custom_headers } = config
  const headers = headersIn(custom_headers)
  const named = Object.entries(headers ?? {})
  const [secret, plain] = [true, false].map((isSecret) =>
    named.filter(([name]) => isSecretHeader(name) === isSecret),
  )
  const signs = typeof credentials['secret'] === 'string'
  const isStandard = signs && brokenWebhookSecret(String(credentials['secret'])) === undefined
  return {
    target: {
      http: {
        url,
        body: 'single',
        ...(plain!.length > 0 && { headers: Object.fromEntries(plain!) }),
        ...(secret!.length > 0 && {
          secret_headers: Object.fromEntries(secret!.map(([name]) => [name, null])),
        }),
        ...(signs && { signing: { secret: null } }),
      },
    },
    hidden: [],
    changes: [
      'Weir sends its own events, one in a request.',
      ...(signs
        ? [
            'Requests are signed as Standard Webhooks say: receivers that check another signature must change.',
          ]
        : []),
      ...(signs && !isStandard ? ['Its secret is not one of Standard Webhooks: set a new one.'] : []),
      ...(headers === undefined
        ? ['"config.custom_headers" is not a map of texts in JSON, and is left out.']
        : []),
      ...leftOut(config, ['url', 'custom_headers'], 'config'),
      ...leftOut(credentials, ['secret'], 'credentials'),
    ],
  }
}

/** Undefined if they can't be read. */
function headersIn(text: unknown): Readonly<Record<string, string>> | undefined {
  if (text === undefined || text === null || text === '') return {}
  try {
    const headers: unknown = JSON.parse(String(text))
    return isObject(headers) && Object.values(headers).every((value) => typeof value === 'string')
      ? (headers as Record<string, string>)
      : undefined
  } catch {
    return undefined
  }
}

function awsTarget(
  kind: string,
  target: JsonObject,
  { config, credentials }: Given,
  known: readonly string[],
): Target {
  return {
    target: {
      [kind]: { ...target, auth: { creds: { aws_access_key_id: someKeyId, aws_secret_access_key: null } } },
    },
    hidden: [['target', kind, 'auth', 'creds', 'aws_access_key_id']],
    changes: [
      'The id of its key is masked, too: weir plan needs it.',
      ...leftOut(config, known, 'config'),
      ...leftOut(credentials, ['key', 'secret'], 'credentials'),
    ],
  }
}

const queueUrl =
  /^https:\/\/sqs\.(?<region>[a-z0-9-]+)\.amazonaws\.com(?:\.cn)?\/(?<account>\d{12})\/(?<name>[\w.-]+)$/

function sqsTarget(given: Given): Found {
  const { region, account, name } = queueUrl.exec(String(given.config['queue_url']))?.groups ?? {}
  if (region === undefined) return { reason: 'Its "config.queue_url" is not the address of a queue at AWS.' }
  const queue_arn = `arn:${partitionOf(region)}:sqs:${region}:${account}:${name}`
  return awsTarget('sqs', { queue_arn }, given, ['queue_url'])
}

function kinesisTarget(given: Given): Found {
  const { region, stream_name } = given.config
  if (given.awsAccount === undefined)
    return { reason: 'Weir names streams with the account at AWS: say which it is with --aws-account.' }
  const stream_arn = `arn:${partitionOf(String(region))}:kinesis:${String(region)}:${given.awsAccount}:stream/${String(stream_name)}`
  return awsTarget('kinesis', { stream_arn }, given, ['region', 'stream_name'])
}

function s3Target(given: Given): Found {
  const { region, bucket } = given.config
  const bucket_arn = `arn:${partitionOf(String(region))}:s3:::${String(bucket)}`
  const target = awsTarget('s3', { bucket_arn, region }, given, ['region', 'bucket'])
  return {
    ...target,
    changes: ['Weir writes many events to an object, as lines of JSON.', ...target.changes],
  }
}

function partitionOf(region: string): string {
  if (region.startsWith('cn-')) return 'aws-cn'
  return region.startsWith('us-gov-') ? 'aws-us-gov' : 'aws'
}

function kafkaTarget({ config, credentials }: Given): Found {
  const { brokers, topic, sasl_mechanism, tls } = config
  return {
    target: {
      kafka: {
        topic,
        brokers: String(brokers)
          .split(',')
          .map((broker) => broker.trim()),
        ...(tls !== 'false' && tls !== false && { tls: {} }),
        sasl: { mechanism: sasl_mechanism, username: credentials['username'], password: null },
      },
    },
    hidden: [],
    changes: [
      ...leftOut(config, ['brokers', 'topic', 'sasl_mechanism', 'tls'], 'config'),
      ...leftOut(credentials, ['username', 'password'], 'credentials'),
    ],
  }
}
