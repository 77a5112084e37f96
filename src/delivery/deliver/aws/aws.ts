/**
 * The common parts of the destination kinds at AWS: credentials, endpoints, connections and deadlines. The service's own
 * client is in the file of its kind.
 *
 * - The lane retries, so `maxAttempts` is 1.
 * - HTTP/1.1 with keep-alive for every service; by default, the Kinesis client speaks HTTP/2.
 * - Each destination has its own few sockets, so that one that hangs can't use up those of others.
 * - A call ends at its deadline, whatever hangs: name resolution, STS, the connection or the response body.
 * - The SDK is large, and every role imports this file: it is loaded with the first request.
 */
import type { AssumeRoleCommandInput, AssumeRoleCommandOutput } from '@aws-sdk/client-sts'
import type { NodeHttpHandler } from '@smithy/node-http-handler'
import { fail, ok, type Result } from '../../../ground/core/errors.js'
import { version } from '../../../ground/core/package.js'
import { withDeadline } from '../../outgoing/deadline.js'
import type { Fault } from '../../outgoing/fault-class.js'
import type { BatchLimits } from '../kind/sender.js'
import { regionOf } from './arn.js'
import type { ClockedClient } from './aws-clock.js'
import type { AwsCredentials, AwsDeps, AwsDestination } from './aws-kind.js'
import { asStsError, faultOf } from './faults.js'

/** The part that STS needs. */
type StsDeps = Pick<AwsDeps, 'aws' | 'clock' | 'requestTimeoutMs'>

/** More than the requests of one destination at once, so that none waits for a socket. */
const socketsMax = 8
const connectTimeoutMs = 5_000
/** Shorter than the idle timeout of the services' front ends. */
const idleSocketMs = 15_000
/** STS's own limit. */
const sessionNameCharsMax = 64

/** Options of every client. */
export interface ClientOptions {
  readonly region: string
  readonly endpoint?: string
  readonly credentials?: AwsCredentials | (() => Promise<AwsCredentials>)
  readonly maxAttempts: number
  readonly systemClockOffset: number
  readonly cacheMiddleware: boolean
  readonly requestHandler: NodeHttpHandler
  /** Our name in AWS's logs. */
  readonly customUserAgent: [name: string, version: string][]
}

interface Client extends ClockedClient {
  destroy(): void
}

/** A client that could not be created has nothing to destroy. */
const destroy = (client: Promise<Client> | undefined): void => {
  void client?.then(
    (made) => made.destroy(),
    () => {},
  )
}

/** All of a sender but `send`: one destination's client of a service, created when first needed, and its credentials. */
export class AwsSender<C extends Client> {
  readonly #config: AwsDestination
  readonly #deps: AwsDeps
  readonly #create: (options: ClientOptions) => Promise<C>
  #client: Promise<C> | undefined
  /** The previous client, which may still have requests under way. */
  #retired: Promise<C> | undefined

  constructor(config: AwsDestination, deps: AwsDeps, create: (options: ClientOptions) => Promise<C>) {
    this.#config = config
    this.#deps = deps
    this.#create = create
  }

  limits(): BatchLimits {
    return this.#deps.limits
  }

  /** Runs one request. An exception or a timeout becomes a fault. */
  protected async call<T>(
    signal: AbortSignal,
    request: (client: C, abortSignal: AbortSignal) => Promise<T>,
  ): Promise<Result<T, Fault>> {
    const { clock, requestTimeoutMs } = this.#deps
    const work = async (abort: AbortSignal) => {
      const client = await this.#open()
      return clock.send(client, () => request(client, abort))
    }
    try {
      return ok(await withDeadline(requestTimeoutMs, signal, work))
    } catch (error) {
      return fail(faultOf(error, clock.offsetMs))
    }
  }

  /** The client. If it could not be created, the next request tries again. */
  #open(): Promise<C> {
    if (this.#client !== undefined) return this.#client
    const client = this.#options().then(this.#create)
    this.#client = client
    client.catch(() => {
      if (this.#client === client) this.#client = undefined
    })
    return client
  }

  async checkBorrowed(signal: AbortSignal): Promise<Result<readonly string[], Fault>> {
    const { auth } = this.#config
    if (!('role' in auth)) return ok([])
    const checked = await checkRole(this.#config, this.#deps, signal)
    const proved = 'The role can be assumed, and only with the external id of this account.'
    return checked.ok ? ok([proved]) : checked
  }

  /** The SDK keeps credentials in the client, so a new client forgets them. */
  dropCredentials(): void {
    if (this.#client === undefined) return
    destroy(this.#retired)
    this.#retired = this.#client
    this.#client = undefined
  }

  close(): void {
    destroy(this.#client)
    this.#client = undefined
    destroy(this.#retired)
    this.#retired = undefined
  }

  #options(): Promise<ClientOptions> {
    const region = regionOf(this.#config)
    return clientOptions(region, this.#deps.endpointUrl, this.#deps, this.#credentials(region))
  }

  #credentials(region: string): AwsCredentials | (() => Promise<AwsCredentials>) {
    const { auth } = this.#config
    if ('role' in auth) return roleCredentials(auth.role.role_arn, region, this.#config, this.#deps)
    return { accessKeyId: auth.creds.aws_access_key_id, secretAccessKey: auth.creds.aws_secret_access_key }
  }
}

async function clientOptions(
  region: string,
  ownEndpoint: string | undefined,
  { aws, clock, requestTimeoutMs }: StsDeps,
  credentials: ClientOptions['credentials'],
): Promise<ClientOptions> {
  const { NodeHttpHandler } = await import('@smithy/node-http-handler')
  const endpoint = ownEndpoint ?? aws.endpointUrl
  const agent = { keepAlive: true, maxSockets: socketsMax, timeout: idleSocketMs }
  return {
    region,
    maxAttempts: 1,
    systemClockOffset: clock.offsetMs,
    cacheMiddleware: true,
    customUserAgent: [['weir', version]],
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

/** The SDK calls this provider when it has no credentials yet, and again five minutes before they expire. */
function roleCredentials(
  roleArn: string,
  region: string,
  { id, accountId }: AwsDestination,
  deps: StsDeps,
): () => Promise<AwsCredentials> {
  const role = { RoleArn: roleArn, RoleSessionName: sessionName(id), ExternalId: accountId }
  return async () => {
    const { Credentials: issued } = await assumeRole(role, region, deps)
    return {
      accessKeyId: issued!.AccessKeyId!,
      secretAccessKey: issued!.SecretAccessKey!,
      sessionToken: issued!.SessionToken!,
      // The SDK compares it with this machine's clock.
      expiration: deps.clock.onThisMachine(issued!.Expiration!),
    }
  }
}

const sessionName = (destinationId: string): string => `weir-${destinationId}`.slice(0, sessionNameCharsMax)

async function assumeRole(
  role: AssumeRoleCommandInput,
  region: string,
  deps: StsDeps,
  options: { readonly abortSignal?: AbortSignal } = {},
): Promise<AssumeRoleCommandOutput> {
  const { AssumeRoleCommand, STSClient } = await import('@aws-sdk/client-sts')
  const { stsEndpointUrl, ambientCredentials } = deps.aws
  const client = new STSClient(await clientOptions(region, stsEndpointUrl, deps, ambientCredentials))
  try {
    return await deps.clock.send(client, () => client.send(new AssumeRoleCommand(role), options))
  } catch (error) {
    throw asStsError(error)
  } finally {
    client.destroy()
  }
}

/**
 * Tries to assume the role without the external id. If that works, every other Weir account could use the role by
 * naming its ARN: https://docs.aws.amazon.com/IAM/latest/UserGuide/confused-deputy.html. The check passes for a pair of
 * keys, and if AWS denies access; any other error of AWS is the fault.
 */
export async function checkRole(
  config: AwsDestination,
  deps: StsDeps,
  signal: AbortSignal,
): Promise<Result<undefined, Fault>> {
  const { id, accountId, auth } = config
  if (!('role' in auth)) return ok(undefined)
  const { role_arn } = auth.role
  const role = { RoleArn: role_arn, RoleSessionName: sessionName(id) }
  try {
    await withDeadline(deps.requestTimeoutMs, signal, (abortSignal) =>
      assumeRole(role, regionOf(config), deps, { abortSignal }),
    )
  } catch (error) {
    const fault = faultOf(error, deps.clock.offsetMs)
    return fault.code === 'AccessDenied' ? ok(undefined) : fail(fault)
  }
  return fail({
    class: 'configuration',
    code: 'ExternalIdNotRequired',
    msg: `The role ${role_arn} can be assumed without an external id; its trust policy must have the condition "sts:ExternalId": "${accountId}".`,
  })
}

/** Who this process is at AWS, by the credentials of its environment. Never rejects. */
export async function callerIdentity(
  region: string,
  deps: StsDeps,
): Promise<Result<{ readonly account: string; readonly arn: string }, Fault>> {
  const { GetCallerIdentityCommand, STSClient } = await import('@aws-sdk/client-sts')
  const { stsEndpointUrl, ambientCredentials } = deps.aws
  const client = new STSClient(await clientOptions(region, stsEndpointUrl, deps, ambientCredentials))
  try {
    const { Account: account = '', Arn: arn = '' } = await withDeadline(
      deps.requestTimeoutMs,
      new AbortController().signal,
      (abortSignal) =>
        deps.clock.send(client, () => client.send(new GetCallerIdentityCommand({}), { abortSignal })),
    )
    return ok({ account, arn })
  } catch (error) {
    return fail(faultOf(asStsError(error), deps.clock.offsetMs))
  } finally {
    client.destroy()
  }
}
