/**
 * `weir listen`: a web server on loopback that accepts what destinations of the kind `http` post, and prints each event,
 * until it is interrupted. With `--create`, it makes a destination and a subscription for itself, and deletes both at the
 * end.
 *
 * Any web page that is open on the machine can post to loopback too, so only requests that are signed with a secret of
 * this run are accepted.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { isSigned, recentSignature, webhookSecretOf } from '../../delivery/deliver/http/standard-webhooks.js'
import { privateNetworksSetting } from '../../delivery/outgoing/private-networks.js'
import { randomToken } from '../../ground/core/clock.js'
import { messageOf, StartFault } from '../../ground/core/errors.js'
import { type ListeningServer, listenFault, listenHttp, readBody } from '../../ground/core/http-listen.js'
import { forTerminal, jsonForTerminal } from '../../ground/core/text/terminal.js'
import { stopSignal } from '../../management/process/child.js'
import type { Settings } from '../../management/process/settings.js'
import type { Client } from '../../words/client/client.js'
import { trafficEvents } from '../../words/event/catalog.js'
import { clientOf } from './connection/api-client.js'
import { UsageFault } from './guide/exit-codes.js'

export interface ListenOptions {
  readonly port: string
  /** Make a destination and a subscription. */
  readonly create?: true
  /** Lines of JSON. */
  readonly json?: true
}

const host = '127.0.0.1'
/** More than any request of Weir. */
const bodyBytesMax = 32 * 1024 * 1024
/** At the end, requests may take so long. */
const patienceMs = 1_000

const unpacked = promisify(gunzip)

const note = (text: string): void => void process.stderr.write(`${forTerminal(text)}\n`)

export async function listen(settings: Settings, { port, create, json }: ListenOptions): Promise<void> {
  // A terminal that is closed ends it, too, so that nothing is left behind.
  const hungUp = new Promise<void>((resolve) => process.once('SIGHUP', () => resolve()))
  const stop = Promise.race([stopSignal(), hungUp])
  const client = create ? clientOf(settings) : undefined
  const secret = webhookSecretOf(randomToken(32))
  const textOf = json ? jsonForTerminal : (event: Event) => forTerminal(eventText(event))
  const server = await open(
    portOf(port),
    (request, response) => void answer(request, response, secret, textOf),
  )
  try {
    const target = { http: { url: `${server.url}/`, signing: { secret } } }
    // Another program that reads the events may end first.
    const ended = new Promise<void>((resolve) => process.stdout.once('error', () => resolve()))
    note(`Listening on ${server.url}/; Ctrl-C ends it.`)
    if (client !== undefined) return await whileSubscribed(client, target, Promise.race([stop, ended]))
    note(`The target of a destination: ${JSON.stringify(target)}`)
    note(`Weir must run with ${privateNetworksSetting}=127.0.0.0/8, because it is on loopback.`)
    await Promise.race([stop, ended])
  } finally {
    await server.close(patienceMs)
  }
}

function portOf(text: string): number {
  const port = Number(text)
  if (/^\d+$/.test(text) && port <= 65_535) return port
  throw new UsageFault(`--port is "${text}"; it must be a port from 1 to 65535, or 0 for any free one.`)
}

async function open(
  port: number,
  handler: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<ListeningServer> {
  try {
    return await listenHttp(host, port, handler)
  } catch (error) {
    throw listenFault(error, host, port, '--port')
  }
}

// --- what is sent ---

/** An event as far as it is printed. */
interface Event {
  readonly event_id: string
  readonly event_type?: unknown
  readonly event_timestamp?: unknown
  readonly object?: unknown
}

class Refusal extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

const notSigned = () => new Refusal(401, 'The signature is missing or wrong.')

/** Answers when the events are printed, so that whoever reads slowly is not sent more. */
async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  secret: string,
  textOf: (event: Event) => string,
): Promise<void> {
  try {
    const events = await eventsOf(request, secret)
    await printed(events.map((event) => `${textOf(event)}\n`).join(''))
    response.writeHead(200).end()
  } catch (error) {
    const status = error instanceof Refusal ? error.status : 400
    response.writeHead(status, { 'content-type': 'text/plain', ...(status === 405 && { allow: 'POST' }) })
    response.end(`${messageOf(error)}\n`)
  }
}

async function eventsOf(request: IncomingMessage, secret: string): Promise<readonly Event[]> {
  const { method, headers } = request
  if (method !== 'POST') throw new Refusal(405, 'Only POST is allowed.')
  if ('origin' in headers || 'sec-fetch-site' in headers) throw new Refusal(403, 'No web page may post here.')
  const signature = recentSignature(headers)
  if (signature === undefined) throw notSigned()
  const tooLong = `A body may have at most ${bodyBytesMax} bytes.`
  const sent = await readBody(request, bodyBytesMax, tooLong).catch(() => {
    throw new Refusal(413, tooLong)
  })
  const isPacked = headers['content-encoding'] === 'gzip'
  const body = isPacked ? await unpacked(sent, { maxOutputLength: bodyBytesMax }) : sent
  if (!isSigned(secret, signature, body)) throw notSigned()
  return parsedEvents(body.toString())
}

/** A JSON array, or a line of JSON per event. */
function parsedEvents(text: string): readonly Event[] {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  const events = text.startsWith('[')
    ? (JSON.parse(text) as unknown[])
    : lines.map((line) => JSON.parse(line))
  const isEvent = (value: unknown): value is Event =>
    typeof value === 'object' && value !== null && typeof (value as Event).event_id === 'string'
  if (!events.every(isEvent)) throw new Refusal(400, 'The body holds something that is not an event of Weir.')
  return events
}

const printed = (text: string): Promise<void> =>
  new Promise((resolve, reject) =>
    process.stdout.write(text, (error) =>
      error ? reject(new Refusal(503, 'No one reads any more.')) : resolve(),
    ),
  )

/** `10:00:00.911  tcp_connection_closed.v0  ev_…  conn.client_ip=192.0.2.1 conn.bytes_in=3437`, without what is null. */
function eventText({ event_id, event_type, event_timestamp, object }: Event): string {
  const time = typeof event_timestamp === 'string' ? event_timestamp.slice(11, 23) : ''
  return [time, event_type, event_id, members(object).join(' ')].filter(Boolean).join('  ')
}

function members(value: unknown, name = ''): string[] {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return Object.entries(value).flatMap(([key, each]) => members(each, name === '' ? key : `${name}.${key}`))
  const isPlain = typeof value === 'string' && /^[^\s"=]+$/.test(value)
  return (value ?? null) === null ? [] : [`${name}=${isPlain ? value : JSON.stringify(value)}`]
}

// --- the destination ---

type Target = NonNullable<Parameters<Client['eventDestination']['create']>[0]>['target']

const description = 'weir listen'
/** Fields in addition to those that every event has: what the questions of docs/analysing.md need. */
const shownFields = [
  'decision',
  ...['decided_by.type', 'decided_by.id', 'decided_by.name', 'decided_by.rule_id'],
  ...['conn.asn', 'conn.as_org', 'conn.geo.country_code'],
  ...['configuration_revision', 'edge.id', 'route.id', 'record_id'],
]

/** A source for each kind of traffic event. */
export const sources = () =>
  trafficEvents.map(({ name, fields }) => ({
    type: name,
    fields: [...fields]
      .filter(([field, { optIn }]) => !optIn || shownFields.includes(field))
      .map(([field]) => field),
  }))

/** Makes the destination and its subscription, and deletes them when it ends. */
async function whileSubscribed(client: Client, target: Target, ended: Promise<void>): Promise<void> {
  const destination = await client.eventDestination.create({ description, target })
  try {
    const subscription = await client.eventSubscription.create({
      description,
      sources: sources(),
      destination_ids: [destination.id],
    })
    try {
      note(`The destination ${destination.id} gets the events of the subscription ${subscription.id}.`)
      note('Both are deleted at the end. A test event is sent first.')
      await test(client, destination.id)
      await ended
    } finally {
      await client.eventSubscription.delete(subscription.id)
    }
  } finally {
    await client.eventDestination.delete(destination.id)
  }
}

async function test(client: Client, id: string): Promise<void> {
  try {
    await client.sendTestEvent(id)
  } catch (error) {
    if (!messageOf(error).includes(privateNetworksSetting)) throw error
    throw new StartFault(
      `Weir does not connect to ${host}: start it with ${privateNetworksSetting}=127.0.0.0/8, and then this command again.`,
      { cause: error },
    )
  }
}
