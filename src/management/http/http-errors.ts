/** Answers to requests that never reach a route: refused by the HTTP parser, or with a path that can't be decoded. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type ErrorCode, WeirError } from '../../ground/core/errors.js'
import { newId } from '../../ground/core/ids.js'
import { getOrMake } from '../../ground/core/maps.js'
import { requestHeadBytesMax } from '../exchange/connection-limits.js'
import { problemBody, problemHeaders } from '../exchange/problem.js'
import { nothingThere } from './guard.js'

interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/**
 * Answers on a connection whose input is not valid HTTP.
 *
 * Node reports such input immediately. Earlier requests of the connection may still be in progress then, and the request
 * that it belongs to may have been answered already (refused before its body was read). Clients match answers to requests
 * by their order, so an error waits for earlier answers, and no request is answered twice.
 */
export class Connections {
  /** Per connection: the requests that are not answered yet, and always the latest one. */
  readonly #exchanges = new WeakMap<Socket, Set<Exchange>>()
  readonly #broken = new WeakSet<Socket>()

  /** Records the requests of a server before anything else handles them. */
  watch(server: Server): void {
    server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
      const exchanges = getOrMake(this.#exchanges, request.socket, () => new Set<Exchange>())
      for (const earlier of exchanges) if (earlier.response.writableFinished) exchanges.delete(earlier)
      exchanges.add({ request, response })
    })
  }

  /** Calls `answer` after earlier requests are answered, or closes the connection if this request has its answer. */
  async unreadable(socket: Socket, answer: () => void): Promise<void> {
    // After an error, Node also reports every further chunk of the connection.
    if (this.#broken.has(socket)) return
    this.#broken.add(socket)
    const exchanges = [...(this.#exchanges.get(socket) ?? [])]
    const latest = exchanges.at(-1)
    const isOfLatest = latest !== undefined && !latest.request.complete
    const earlier = isOfLatest ? exchanges.slice(0, -1) : exchanges
    await Promise.all(earlier.map(({ response }) => finished(response)))
    if (!socket.writable) socket.destroy()
    else if (isOfLatest && latest.response.headersSent) socket.end(() => socket.destroy())
    else answer()
  }
}

/** Resolves when the response is sent, or can no longer be sent. */
const finished = (response: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    if (response.writableFinished || response.destroyed) resolve()
    else response.once('close', resolve)
  })

/** Node's error codes for connections without a readable request. */
const parserErrors: Readonly<Record<string, readonly [ErrorCode, string, string]>> = {
  HPE_HEADER_OVERFLOW: [
    'ERR_HEADERS_TOO_LARGE',
    'Request Header Fields Too Large',
    `The request line and headers are too large: at most ${requestHeadBytesMax} bytes are allowed.`,
  ],
  ERR_HTTP_REQUEST_TIMEOUT: ['ERR_REQUEST_TIMEOUT', 'Request Timeout', 'The request did not arrive in time.'],
}
const unreadable = ['ERR_INVALID_REQUEST', 'Bad Request', 'The request is not valid HTTP.'] as const

/** Writes the answer to the socket, because there is no request object, and closes the connection. */
export function answerUnreadable(error: Error & { code?: string }, socket: Socket): void {
  const [code, phrase, message] = parserErrors[error.code ?? ''] ?? unreadable
  const problem = new WeirError(code, message)
  const operationId = newId('op_')
  const body = problemBody(problem, operationId)
  socket.end(
    [
      `HTTP/1.1 ${problem.status} ${phrase}`,
      ...Object.entries(problemHeaders).map(([name, value]) => `${name}: ${value}`),
      `Content-Length: ${Buffer.byteLength(body)}`,
      `Operation-Id: ${operationId}`,
      'Connection: close',
      '',
      body,
    ].join('\r\n'),
  )
}

/** Answers 404 for a path that is not percent-encoded UTF-8, after the caller has been authenticated. */
export const undecodablePath =
  (
    checkCaller: (request: FastifyRequest) => Promise<unknown>,
    answer: (error: WeirError, request: FastifyRequest, reply: FastifyReply) => void,
  ) =>
  (_error: Error, request: FastifyRequest, reply: FastifyReply): void => {
    reply.header('Operation-Id', request.id)
    checkCaller(request).then(
      () => answer(nothingThere(request), request, reply),
      (refused: WeirError) => answer(refused, request, reply),
    )
  }
