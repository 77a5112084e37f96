/**
 * How AWS is reached: credentials, endpoints, connections and deadlines. The clients of the services are
 * in the files of their kinds; everything they have in common is here.
 *
 * - Retries are the lane's: `maxAttempts` is 1.
 * - HTTP/1.1 with kept connections for every service; the Kinesis client would speak HTTP/2 by itself.
 * - Each destination has sockets of its own, few of them: one that hangs can't use up another's.
 * - A call ends at its deadline whatever hangs: name resolution, STS, the connection, the answer's body.
 * - The SDK is large, and every role knows what a destination is: it is loaded with the first request.
 */
import type { AssumeRoleCommandInput, AssumeRoleCommandOutput } from '@aws-sdk/client-sts'
import type { NodeHttpHandler } from '@smithy/node-http-handler'
import { after } from '../core/clock.js'
import { fail, ok, type Result } from '../core/errors.js'
import { version } from '../core/version.js'
import { parseArn } from './arn.js'
import type { AwsCredentials, DestinationConfig, Fault, SenderDeps } from './destination.js'
import { faultOf } from './faults.js'

/** What STS needs. */
type StsDeps = Pick<SenderDeps, 'aws' | 'requestTimeoutMs'>

export const requestTimeoutMsDefault = 15_000

/** More than the requests of one destination that may be under way, so that none waits for a socket. */
const socketsMax = 8
const connectTimeoutMs = 5_000
/** Below the time after which the services' front ends close an idle connection. */
const idleSocketMs = 15_000
/** The longest name STS takes. */
const sessionNameCharsMax = 64

/** What every client is made with. */
export interface ClientOptions {
  readonly region: string
  readonly endpoint?: string
  readonly credentials?: AwsCredentials | (() => Promise<AwsCredentials>)
  readonly maxAttempts: number
  readonly requestHandler: NodeHttpHandler
  /** How AWS's logs name us. */
  readonly customUserAgent: [name: string, version: string][]
}

interface Client {
  destroy(): void
}

/** One that could not be made has nothing to destroy. */
const destroy = (client: Promise<Client> | undefined): void => {
  void client?.then(
    (made) => made.destroy(),
    () => {},
  )
}

/** A command, as far as its body is replaced. */
interface Command {
  readonly middlewareStack: {
    add(
      middleware: <A extends object, R>(next: (args: A) => Promise<R>) => (args: A) => Promise<R>,
      options: { readonly step: 'build'; readonly priority: 'high' },
    ): void
  }
}

/**
 * Gives the command a body of our own making, and hands it back. The SDK's serializer walks every record by the
 * service's schema and encodes base64 byte by byte: it takes longer than all the rest of a request.
 */
export function withBody<C extends Command>(command: C, body: Buffer): C {
  command.middlewareStack.add(
    (next) => (args) => {
      if ('request' in args) Object.assign(args.request as object, { body })
      return next(args)
    },
    { step: 'build', priority: 'high' },
  )
  return command
}

/** One destination's way to one service: its client, made when first needed, and its credentials. */
export class Connection<C extends Client> {
  readonly #config: DestinationConfig
  readonly #deps: SenderDeps
  readonly #create: (options: ClientOptions) => Promise<C>
  #client: Promise<C> | undefined
  /** The client before, on which requests may still be under way. */
  #retired: Promise<C> | undefined

  constructor(config: DestinationConfig, deps: SenderDeps, create: (options: ClientOptions) => Promise<C>) {
    this.#config = config
    this.#deps = deps
    this.#create = create
  }

  /** Runs one request; what it throws, or that it took too long, is a fault. */
  async call<T>(
    signal: AbortSignal,
    request: (client: C, abortSignal: AbortSignal) => Promise<T>,
  ): Promise<Result<T, Fault>> {
    const work = async (abort: AbortSignal) => request(await this.#open(), abort)
    try {
      return ok(await withDeadline(this.#deps.requestTimeoutMs, signal, work))
    } catch (error) {
      return fail(faultOf(error))
    }
  }

  /** The client; one that could not be made is made by the next request. */
  #open(): Promise<C> {
    if (this.#client !== undefined) return this.#client
    const client = this.#options().then(this.#create)
    this.#client = client
    client.catch(() => {
      if (this.#client === client) this.#client = undefined
    })
    return client
  }

  /** The SDK keeps credentials with the client, so a new client is what forgets them. */
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
    const { region } = parseArn(this.#config.address)!
    return clientOptions(region, this.#deps.endpointUrl, this.#deps, this.#credentials(region))
  }

  #credentials(region: string): AwsCredentials | (() => Promise<AwsCredentials>) {
    const { auth } = this.#config
    if (auth === undefined) throw new Error('A destination at AWS has a role or a pair of keys.')
    if ('role' in auth) return roleCredentials(auth.role.role_arn, region, this.#config, this.#deps)
    return { accessKeyId: auth.creds.aws_access_key_id, secretAccessKey: auth.creds.aws_secret_access_key }
  }
}

async function clientOptions(
  region: string,
  ownEndpoint: string | undefined,
  { aws, requestTimeoutMs }: StsDeps,
  credentials: ClientOptions['credentials'],
): Promise<ClientOptions> {
  const { NodeHttpHandler } = await import('@smithy/node-http-handler')
  const endpoint = ownEndpoint ?? aws.endpointUrl
  const agent = { keepAlive: true, maxSockets: socketsMax, timeout: idleSocketMs }
  return {
    region,
    maxAttempts: 1,
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

/** A provider the SDK calls when it has no credentials yet, and again five minutes before they expire. */
function roleCredentials(
  roleArn: string,
  region: string,
  { id, accountId }: DestinationConfig,
  deps: StsDeps,
): () => Promise<AwsCredentials> {
  const role = { RoleArn: roleArn, RoleSessionName: sessionName(id), ExternalId: accountId }
  return async () => {
    const { Credentials: issued } = await assumeRole(role, region, deps)
    return {
      accessKeyId: issued!.AccessKeyId!,
      secretAccessKey: issued!.SecretAccessKey!,
      sessionToken: issued!.SessionToken!,
      expiration: issued!.Expiration!,
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
    return await client.send(new AssumeRoleCommand(role), options)
  } finally {
    client.destroy()
  }
}

/**
 * Asks for the role without the external id. Whoever gets it so would get it for every other account, too, by naming
 * its ARN: the confused deputy, https://docs.aws.amazon.com/IAM/latest/UserGuide/confused-deputy.html. Fine are a pair
 * of keys, and a role that AWS refuses then; where AWS says something else, that is the fault.
 */
export async function checkRole(
  { id, accountId, address, auth }: DestinationConfig,
  deps: StsDeps,
  signal: AbortSignal,
): Promise<Result<undefined, Fault>> {
  if (auth === undefined || !('role' in auth)) return ok(undefined)
  const { role_arn } = auth.role
  const role = { RoleArn: role_arn, RoleSessionName: sessionName(id) }
  try {
    await withDeadline(deps.requestTimeoutMs, signal, (abortSignal) =>
      assumeRole(role, parseArn(address)!.region, deps, { abortSignal }),
    )
  } catch (error) {
    const fault = faultOf(error)
    return fault.code === 'AccessDenied' ? ok(undefined) : fail(fault)
  }
  return fail({
    class: 'configuration',
    code: 'ExternalIdNotRequired',
    msg: `The role ${role_arn} can be assumed without an external id; its trust policy must have the condition "sts:ExternalId": "${accountId}".`,
  })
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
