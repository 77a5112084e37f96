/**
 * How a command line finds the service on the same data directory: the service writes its addresses and a token to a file
 * there, readable only by its owner, and removes it when it stops; and how it makes the service run a command.
 */
import { timingSafeEqual } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { writeWhole } from '../../delivery/nats-server/files.js'
import { processStart } from '../../delivery/nats-server/process-start.mjs'
import { randomToken } from '../../ground/core/clock.js'
import { messageOf, StartFault } from '../../ground/core/errors.js'
import { type ListeningServer, listenHttp, readBody } from '../../ground/core/http-listen.js'
import { requestBodyBytesMax } from '../../ground/core/limits.js'

export interface Runtime {
  /** Address of the management API: `http://127.0.0.1:8080`. */
  readonly apiUrl: string
  /** NATS address for ingress nodes. */
  readonly natsUrl: string
  /** The file of the same, which has a new one when its login is replaced. */
  readonly natsUrlFile?: string
  /** Address for commands of the command line. */
  readonly adminUrl: string
  /** Authenticates the command line; new at each start. */
  readonly adminToken: string
}

interface StoredRuntime extends Runtime {
  readonly pid: number
  readonly start: string
}

const path = (dir: string): string => join(dir, 'runtime.json')

/** Written atomically: a reader never sees half of it. */
export function writeRuntime(dir: string, runtime: Runtime): void {
  const stored = { pid: process.pid, start: processStart(process.pid), ...runtime }
  // With external NATS and ClickHouse, nothing else has created the directory.
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  writeWhole(path(dir), `${JSON.stringify(stored, null, 2)}\n`)
}

/** Undefined if no service runs on this directory, also if one was killed and left its file. */
export function readRuntime(dir: string): Runtime | undefined {
  try {
    const { pid, start, ...runtime } = JSON.parse(readFileSync(path(dir), 'utf8')) as StoredRuntime
    return start !== undefined && processStart(pid) === start ? runtime : undefined
  } catch {
    return undefined
  }
}

export const removeRuntime = (dir: string): void => rmSync(path(dir), { force: true })

/** No service runs where one is needed, or it does not answer. */
export class NoAnswer extends StartFault {}

/** A command and its arguments, as sent over HTTP. */
export interface AdminCommand {
  readonly command: string
  readonly [argument: string]: string
}

interface AdminServer extends ListeningServer {
  readonly token: string
}

/** Runs a command. Throws an error whose message is for the operator. */
export type RunCommand = (command: AdminCommand) => Promise<string>

/** Listens on loopback only, and takes commands only with the token. */
export async function openAdminServer(run: RunCommand): Promise<AdminServer> {
  const token = randomToken(32)
  const server = await listenHttp('127.0.0.1', 0, (request, response) => {
    void answer(run, token, request, response)
  })
  return { ...server, token }
}

async function answer(
  run: RunCommand,
  token: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const say = (status: number, text: string): void => {
    response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' })
    response.end(text)
  }
  if (request.method !== 'POST' || !holdsToken(request, token))
    return say(403, 'The admin token is missing or wrong.')
  try {
    const body = await readBody(request, requestBodyBytesMax, 'The command is too long.')
    say(200, await run(JSON.parse(body.toString()) as AdminCommand))
  } catch (error) {
    say(400, messageOf(error))
  }
}

function holdsToken(request: IncomingMessage, token: string): boolean {
  const given = Buffer.from(request.headers.authorization ?? '')
  const wanted = Buffer.from(`Bearer ${token}`)
  return given.length === wanted.length && timingSafeEqual(given, wanted)
}

/** Sends a command to the running service. Throws an error with the service's message. */
export async function sendAdminCommand(url: string, token: string, command: AdminCommand): Promise<string> {
  const sent = fetch(url, {
    method: 'POST',
    // A connection kept from an earlier command may be closed by the service just as this one is sent.
    headers: { authorization: `Bearer ${token}`, connection: 'close' },
    body: JSON.stringify(command),
  })
  const { reply, text } = await sent
    .then(async (reply) => ({ reply, text: await reply.text() }))
    .catch((error: unknown) => {
      const message = isRefusedConnection(error)
        ? 'The service does not answer: the command was not run.'
        : 'The service ended before it answered. Whether the command was run is unknown.'
      throw new NoAnswer(message, { cause: error })
    })
  if (!reply.ok) throw new Error(text)
  return text
}

const isRefusedConnection = (error: unknown): boolean =>
  ((error as Error).cause as { readonly code?: unknown } | undefined)?.code === 'ECONNREFUSED'
