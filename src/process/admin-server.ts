/** How the command line reaches the service that owns the store. */
import { timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { randomToken } from '../core/clock.js'
import { messageOf } from '../core/errors.js'
import { type ListeningServer, listenHttp, readBody } from '../core/http-listen.js'
import { requestBodyBytesMax } from '../core/limits.js'

/** A command and its arguments, as sent over HTTP. */
export interface AdminCommand {
  readonly command: string
  readonly [argument: string]: string
}

interface AdminServer extends ListeningServer {
  readonly token: string
}

/** Runs a command. Throws an error whose message is for the operator. */
type RunCommand = (command: AdminCommand) => Promise<string>

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
  const reply = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
    body: JSON.stringify(command),
  })
  const text = await reply.text()
  if (!reply.ok) throw new Error(text)
  return text
}
