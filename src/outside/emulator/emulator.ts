/**
 * Start here: an emulated AWS for tests and the demo: Kinesis, Firehose, CloudWatch Logs, SQS, EventBridge and STS on
 * one port. It checks signatures and limits like AWS, injects faults on demand, and keeps everything it receives for
 * reading. It must never know Weir.
 *
 * A request is dispatched by `X-Amz-Target` (JSON), or as a form with `Action` (STS): signature ▸ latency, hang, drop
 * and request errors from the fault book ▸ the operation ▸ the answer, unless a fault suppresses it.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { after, uuid } from '../../ground/core/clock.js'
import { listenHttp, readBody } from '../../ground/core/http-listen.js'
import { AwsError } from './aws-error.js'
import { eventBridge } from './event-bridge.js'
import { firehose } from './firehose.js'
import { kinesis } from './kinesis.js'
import { logs } from './logs.js'
import { type Call, contentTypeOf, type Input, type Service } from './operation.js'
import { verifySignature } from './sigv4.js'
import { sqs } from './sqs.js'
import { errorXml, sts, successXml } from './sts.js'
import {
  eventServices,
  type FaultSpec,
  type KeyPair,
  type ResourceName,
  type ResourceSpec,
  type RoleSpec,
} from './wire.js'
import { type Resource, World, type WorldOptions } from './world.js'

export interface EmulatorOptions extends WorldOptions {
  /** Default: loopback. */
  readonly host?: string
  /** Default: any free port. */
  readonly port?: number
}

export interface Emulator {
  /** `http://<host>:<port>`, for `AWS_ENDPOINT_URL` and for the control client. */
  readonly url: string
  /** The state behind the control interface, for tests in the same process. */
  readonly world: World
  close(): Promise<void>
}

export async function openEmulator({
  host = '127.0.0.1',
  port = 0,
  ...options
}: EmulatorOptions = {}): Promise<Emulator> {
  const world = new World(options)
  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    answer(world, request, response).catch((error) => response.destroy(error))
  }
  const { url, close } = await listenHttp(host, port, handle, { http: { keepAliveTimeout: 30_000 } })
  return { url, world, close }
}

const bodyBytesMax = 32 * 1024 * 1024

async function answer(world: World, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await readBody(request, bodyBytesMax, 'The body is larger than any service takes.')
  const url = new URL(request.url ?? '/', 'http://emulator')
  if (url.pathname.startsWith('/_emulator/')) answerControl(world, request.method ?? '', url, body, response)
  else await answerAws(world, request, body, response)
}

function answerControl(world: World, method: string, url: URL, body: Buffer, response: ServerResponse): void {
  const respond = (status: number, content: unknown): void => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(content))
  }
  try {
    respond(200, control(world, method, url, body))
  } catch (error) {
    if (!(error instanceof ControlError || error instanceof SyntaxError)) throw error
    respond(400, { error: error.message })
  }
}

/** The service and operation that a request names, before anything is verified. */
interface Request {
  readonly operation: string
  readonly input: Input
}

async function answerAws(
  world: World,
  request: IncomingMessage,
  body: Buffer,
  response: ServerResponse,
): Promise<void> {
  const requestId = uuid()
  const service = serviceOf(request)
  const isSts = service === sts
  let operation = 'Unknown'
  try {
    const nowMs = world.now()
    const signed = { method: request.method ?? '', url: request.url ?? '/', headers: request.headers, body }
    const verified = verifySignature(signed, service.name, nowMs, (id) => world.findIdentity(id))
    const asked = parseRequest(service, request, body)
    operation = asked.operation
    const target = { service: service.name, operation, resource: service.resourceOf(asked.input) }
    const faults = world.faults.forRequest(target)
    if (faults.latencyMs > 0) await delay(faults.latencyMs)
    if (faults.connection !== undefined) return withhold(faults.connection, response)
    if (faults.error !== undefined) throw faults.error
    const call: Call = { world, target, requestId, nowMs, ...verified }
    const result = service.operations[operation]!(asked.input, call) ?? {}
    world.countRequest(`${service.name}.${operation}`)
    if (faults.afterCommit !== undefined) return withhold(faults.afterCommit, response)
    const content = isSts ? successXml(operation, result, requestId) : JSON.stringify(result)
    send(world, response, service, 200, requestId, content)
  } catch (error) {
    if (!(error instanceof AwsError)) throw error
    world.countRequest(`${service.name}.${operation}`, error)
    const content = isSts ? errorXml(error, requestId) : errorJson(error)
    const headers = service.errorHeaders?.(error)
    send(world, response, service, error.status, requestId, content, headers)
  }
}

const jsonServices = [kinesis, firehose, logs, sqs, eventBridge]

/** An unknown target is treated as one of Kinesis, which refuses it as an unknown operation. */
function serviceOf(request: IncomingMessage): Service {
  const target = request.headers['x-amz-target']
  if (target === undefined) return sts
  const prefix = String(target).split('.')[0]
  return jsonServices.find(({ targetPrefix }) => targetPrefix === prefix) ?? kinesis
}

function parseRequest(service: Service, request: IncomingMessage, body: Buffer): Request {
  const asked = service === sts ? parseForm(body) : parseJson(service, request, body)
  if (Object.hasOwn(service.operations, asked.operation)) return asked
  const code = service === sts ? 'InvalidAction' : 'UnknownOperationException'
  throw new AwsError(code, `The emulator knows no operation ${asked.operation} of ${service.name}.`)
}

function parseForm(body: Buffer): Request {
  const input = Object.fromEntries(new URLSearchParams(body.toString()))
  return { operation: input['Action'] ?? '', input }
}

function parseJson(service: Service, request: IncomingMessage, body: Buffer): Request {
  const contentType = contentTypeOf(service)
  if (request.headers['content-type'] !== contentType) {
    throw new AwsError('SerializationException', `The content type must be ${contentType}.`)
  }
  const operation = String(request.headers['x-amz-target']).split('.')[1] ?? ''
  try {
    return { operation, input: JSON.parse(body.toString()) as Input }
  } catch {
    throw new AwsError('SerializationException', 'The body is no JSON.')
  }
}

const errorJson = ({ code, message }: AwsError): string => JSON.stringify({ __type: code, message })

function send(
  world: World,
  response: ServerResponse,
  service: Service,
  status: number,
  requestId: string,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  const content = Buffer.from(text)
  response.writeHead(status, {
    ...headers,
    'content-type': contentTypeOf(service),
    'content-length': content.length,
    'x-amzn-requestid': requestId,
    date: new Date(world.now()).toUTCString(),
  })
  response.end(content)
}

/** A hung request stays open until the client gives up or the emulator closes. */
function withhold(how: 'hang' | 'drop', response: ServerResponse): void {
  if (how === 'drop') response.destroy()
}

const delay = (ms: number): Promise<void> => new Promise((resolve) => void after(ms, resolve))

/** A request of the control interface that can't be answered; becomes a 400. */
class ControlError extends Error {}

type Route = (world: World, body: unknown, query: URLSearchParams) => unknown

const routes: Readonly<Record<string, Route>> = {
  'POST keys': (world, body) => world.addKey(body as KeyPair),
  'DELETE keys': ({ keys }, _, query) => void keys.delete(query.get('accessKeyId') ?? ''),
  'POST roles': (world, body) => world.addRole(body as RoleSpec),
  'DELETE roles': ({ roles }, _, query) => void roles.delete(query.get('roleArn') ?? ''),
  'POST resources': (world, body) => ({ arn: world.addResource(resourceSpecFrom(body)).arn }),
  'DELETE resources': (world, _, query) => ({ removed: world.removeResource(nameFrom(query)) }),
  'GET sessions': (world) =>
    [...world.sessions.values()].map(({ secretAccessKey: _, sessionToken: __, ...rest }) => rest),
  'POST sessions/expire': (world) => world.expireSessions(),
  'GET received': (world, _, query) =>
    resourceFrom(world, query).ledger.page(numberFrom(query, 'after', 0), numberFrom(query, 'limit', 1000)),
  'GET counts': (world, _, query) => resourceFrom(world, query).ledger.counts(),
  'GET ids': (world, _, query) => resourceFrom(world, query).ledger.ids(query.get('repeated') === 'true'),
  'POST faults': (world, body) => ({ id: world.faults.add(body as FaultSpec) }),
  'GET faults': (world) => world.faults.list(),
  'DELETE faults': (world, _, query) =>
    world.faults.clear(query.has('id') ? numberFrom(query, 'id', 0) : undefined),
  'POST clock': (world, body) => void setClock(world, body),
  'GET stats': (world) => world.stats(),
  'POST clear': (world) => world.clear(),
  'POST reset': (world) => world.reset(),
}

/**
 * The control interface under `/_emulator/`: unsigned JSON, for tests and the demo on the same machine. Answers a
 * request on `/_emulator/…`; throws a `ControlError` if it is invalid.
 */
function control(world: World, method: string, url: URL, body: Buffer): unknown {
  const route = routes[`${method} ${url.pathname.replace('/_emulator/', '')}`]
  if (route === undefined)
    throw new ControlError(`No such route. There are: ${Object.keys(routes).join(', ')}.`)
  return route(world, body.length === 0 ? undefined : JSON.parse(body.toString()), url.searchParams) ?? {}
}

/** The clock is set ahead by `offsetMs`, or back if that is negative. */
function setClock(world: World, body: unknown): void {
  const { offsetMs } = (body ?? {}) as { offsetMs?: unknown }
  if (typeof offsetMs !== 'number') throw new ControlError('offsetMs must be a number.')
  world.clockOffsetMs = offsetMs
}

function resourceSpecFrom(body: unknown): ResourceSpec {
  const given = (body ?? {}) as ResourceSpec
  checkNamed(given)
  return given
}

function checkNamed({ service, name }: { readonly service?: unknown; readonly name?: unknown }): void {
  if (typeof name === 'string' && name !== '' && eventServices.some((each) => each === service)) return
  throw new ControlError(`A resource is named by service (${eventServices.join(', ')}) and name.`)
}

function nameFrom(query: URLSearchParams): ResourceName {
  const service = query.get('service') as ResourceName['service']
  const name = query.get('name') ?? ''
  checkNamed({ service, name })
  const region = query.get('region')
  return region === null ? { service, name } : { service, name, region }
}

function resourceFrom(world: World, query: URLSearchParams): Resource {
  const resource = world.findResource(nameFrom(query))
  if (resource === undefined)
    throw new ControlError(`There is no ${query.get('service')} ${query.get('name')}.`)
  return resource
}

function numberFrom(query: URLSearchParams, name: string, otherwise: number): number {
  const value = Number(query.get(name) ?? otherwise)
  if (!Number.isSafeInteger(value) || value < 0) throw new ControlError(`${name} must be a whole number.`)
  return value
}
