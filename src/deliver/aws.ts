/**
 * How AWS is reached: ARNs, credentials, endpoints, connections and deadlines. The clients of the services are
 * in the files of their kinds; everything they have in common is here.
 *
 * - Retries are the lane's: `maxAttempts` is 1.
 * - HTTP/1.1 with kept connections for every service; the Kinesis client would speak HTTP/2 by itself.
 * - Each destination has sockets of its own, few of them: one that hangs can't use up another's.
 * - A call ends at its deadline whatever hangs: name resolution, STS, the connection, the answer's body.
 */
import { AssumeRoleCommand, STSClient } from '@aws-sdk/client-sts'
import { NodeHttpHandler } from '@smithy/node-http-handler'
import { after } from '../core/clock.js'
import { fail, ok, type Problem, type Result, shown } from '../core/errors.js'
import type { DestinationConfig, Fault } from './destination.js'
import { faultOf } from './faults.js'

export interface AwsCredentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
  readonly expiration?: Date
}

/** Addresses that stand in for AWS's own: the SDK's variables `AWS_ENDPOINT_URL` and `AWS_ENDPOINT_URL_…`. */
export interface AwsEndpoints {
  readonly endpointUrl?: string | undefined
  readonly kinesisEndpointUrl?: string | undefined
  readonly firehoseEndpointUrl?: string | undefined
  readonly cloudwatchLogsEndpointUrl?: string | undefined
  readonly stsEndpointUrl?: string | undefined
}

export interface AwsDeps {
  readonly endpoints: AwsEndpoints
  /** With what roles are assumed. Default: the SDK's own chain (environment, profile, instance role …). */
  readonly ambientCredentials?: AwsCredentials
  /** From call to answer, fetching credentials included. */
  readonly requestTimeoutMs: number
  /** Ends the names of log streams, so that no two processes write to the same one. */
  readonly workerSuffix: string
}

export const requestTimeoutMsDefault = 15_000

/** More than the requests of one destination that may be under way, so that none waits for a socket. */
const socketsMax = 8
const connectTimeoutMs = 5_000
/** Below the time after which the services' front ends close an idle connection. */
const idleSocketMs = 15_000
/** The longest name STS takes. */
const sessionNameCharsMax = 64

// --- ARNs ---

export interface Arn {
  readonly partition: string
  readonly service: string
  readonly region: string
  readonly awsAccountId: string
  /** What follows the fifth colon. */
  readonly resource: string
}

export function parseArn(text: string): Arn | undefined {
  const form = /^arn:([^:]+):([^:]+):([^:]*):([^:]*):(.+)$/.exec(text)
  if (form === null) return undefined
  const [, partition, service, region, awsAccountId, resource] = form as unknown as string[]
  return {
    partition: partition!,
    service: service!,
    region: region!,
    awsAccountId: awsAccountId!,
    resource: resource!,
  }
}

/** What the ARN of a kind of target looks like. */
export interface ArnForm {
  readonly service: string
  readonly resource: RegExp
  readonly example: string
}

const partitions = ['aws', 'aws-cn', 'aws-us-gov']
const regionForm = /^[a-z]{2,}(-[a-z]+)+-\d{1,2}$/
const awsAccountForm = /^\d{12}$/

/** https://docs.aws.amazon.com/IAM/latest/UserGuide/reference-arns.html */
export function partitionOf(region: string): string {
  if (region.startsWith('cn-')) return 'aws-cn'
  return region.startsWith('us-gov-') ? 'aws-us-gov' : 'aws'
}

/** What is wrong with an ARN, if anything; the sentence goes on from the field's name. */
export function checkArn(text: string, { service, resource, example }: ArnForm): Problem | undefined {
  const wrong = (what: string): Problem => ({
    msg: `is ${shown(text, 200)}, ${what}; an example is ${example}`,
  })
  const arn = parseArn(text)
  if (arn === undefined) return wrong('which is no ARN')
  if (!partitions.includes(arn.partition)) {
    return wrong(`whose partition ${shown(arn.partition)} is none of ${partitions.join(', ')}`)
  }
  if (arn.service !== service)
    return wrong(`whose service is ${shown(arn.service)} where ${service} is expected`)
  if (!regionForm.test(arn.region)) return wrong(`whose region ${shown(arn.region)} is none`)
  if (partitionOf(arn.region) !== arn.partition) {
    return wrong(`whose region ${arn.region} does not lie in the partition ${arn.partition}`)
  }
  if (!awsAccountForm.test(arn.awsAccountId)) return wrong('whose account is not twelve digits')
  return resource.test(arn.resource) ? undefined : wrong(`which names no resource of the kind expected`)
}

const roleForm = /^role\/[\w+=,.@/-]{1,576}$/

/** What is wrong with the ARN of a role, which unlike others has no region. */
export function checkRoleArn(text: string): Problem | undefined {
  const arn = parseArn(text)
  const valid =
    arn !== undefined &&
    partitions.includes(arn.partition) &&
    arn.service === 'iam' &&
    arn.region === '' &&
    awsAccountForm.test(arn.awsAccountId) &&
    roleForm.test(arn.resource)
  if (valid) return undefined
  return {
    msg: `is ${shown(text, 200)}, which is no role's ARN; an example is arn:aws:iam::123456789012:role/name`,
  }
}

// --- clients ---

/** What every client is made with. */
export interface ClientOptions {
  readonly region: string
  readonly endpoint?: string
  readonly credentials?: AwsCredentials | (() => Promise<AwsCredentials>)
  readonly maxAttempts: number
  readonly requestHandler: NodeHttpHandler
}

interface Client {
  destroy(): void
}

type EndpointName = Exclude<keyof AwsEndpoints, 'endpointUrl'>

/** One destination's way to one service: its client, made when first needed, and its credentials. */
export class Connection<C extends Client> {
  readonly #config: DestinationConfig
  readonly #deps: AwsDeps
  readonly #endpoint: EndpointName
  readonly #create: (options: ClientOptions) => C
  #client: C | undefined
  /** The client before, on which requests may still be under way. */
  #retired: C | undefined

  constructor(
    config: DestinationConfig,
    deps: AwsDeps,
    endpoint: EndpointName,
    create: (options: ClientOptions) => C,
  ) {
    this.#config = config
    this.#deps = deps
    this.#endpoint = endpoint
    this.#create = create
  }

  /** Runs one request; what it throws, or that it took too long, is a fault. */
  async call<T>(
    signal: AbortSignal,
    request: (client: C, abortSignal: AbortSignal) => Promise<T>,
  ): Promise<Result<T, Fault>> {
    this.#client ??= this.#create(this.#options())
    const client = this.#client
    try {
      return ok(await withDeadline(this.#deps.requestTimeoutMs, signal, (abort) => request(client, abort)))
    } catch (error) {
      return fail(faultOf(error))
    }
  }

  /** The SDK keeps credentials with the client, so a new client is what forgets them. */
  dropCredentials(): void {
    if (this.#client === undefined) return
    this.#retired?.destroy()
    this.#retired = this.#client
    this.#client = undefined
  }

  close(): void {
    this.#client?.destroy()
    this.#client = undefined
    this.#retired?.destroy()
    this.#retired = undefined
  }

  #options(): ClientOptions {
    const { region } = parseArn(this.#config.arn)!
    return clientOptions(region, this.#endpoint, this.#deps, this.#credentials(region))
  }

  #credentials(region: string): AwsCredentials | (() => Promise<AwsCredentials>) {
    const { auth } = this.#config
    if ('role' in auth) return roleCredentials(auth.role.role_arn, region, this.#config, this.#deps)
    return { accessKeyId: auth.creds.aws_access_key_id, secretAccessKey: auth.creds.aws_secret_access_key }
  }
}

function clientOptions(
  region: string,
  name: EndpointName,
  { endpoints, requestTimeoutMs }: AwsDeps,
  credentials: ClientOptions['credentials'],
): ClientOptions {
  const endpoint = endpoints[name] ?? endpoints.endpointUrl
  const agent = { keepAlive: true, maxSockets: socketsMax, timeout: idleSocketMs }
  return {
    region,
    maxAttempts: 1,
    requestHandler: new NodeHttpHandler({
      httpAgent: agent,
      httpsAgent: agent,
      connectionTimeout: connectTimeoutMs,
      requestTimeout: requestTimeoutMs,
      throwOnRequestTimeout: true,
    }),
    ...(endpoint !== undefined && { endpoint }),
    ...(credentials !== undefined && { credentials }),
  }
}

/** A provider the SDK calls when it has no credentials yet, and again five minutes before they expire. */
function roleCredentials(
  roleArn: string,
  region: string,
  { id, accountId }: DestinationConfig,
  deps: AwsDeps,
): () => Promise<AwsCredentials> {
  const assumeRole = new AssumeRoleCommand({
    RoleArn: roleArn,
    RoleSessionName: `weir-${id}`.slice(0, sessionNameCharsMax),
    ExternalId: accountId,
  })
  return async () => {
    const client = new STSClient(clientOptions(region, 'stsEndpointUrl', deps, deps.ambientCredentials))
    try {
      const { Credentials: issued } = await client.send(assumeRole)
      return {
        accessKeyId: issued!.AccessKeyId!,
        secretAccessKey: issued!.SecretAccessKey!,
        sessionToken: issued!.SessionToken!,
        expiration: issued!.Expiration!,
      }
    } finally {
      client.destroy()
    }
  }
}

/** Aborts `work` at the deadline or when `signal` is aborted, and waits for it no longer than that. */
async function withDeadline<T>(
  timeoutMs: number,
  signal: AbortSignal,
  work: (abort: AbortSignal) => Promise<T>,
): Promise<T> {
  const abort = new AbortController()
  return new Promise<T>((resolve, reject) => {
    const giveUp = (name: string): void => {
      reject(Object.assign(new Error('The request was given up.'), { name }))
      abort.abort()
    }
    const stopped = (): void => giveUp('AbortError')
    const deadline = after(timeoutMs, () => giveUp('TimeoutError'))
    if (signal.aborted) stopped()
    else signal.addEventListener('abort', stopped, { once: true })
    work(abort.signal)
      .then(resolve, reject)
      .finally(() => {
        deadline.stop()
        signal.removeEventListener('abort', stopped)
      })
  })
}
